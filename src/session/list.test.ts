import { describe, expect, it } from 'vitest';
import { desk, ok } from '../../test/support/desk.ts';

describe('a listing cut short', () => {
  it('shows what is beside a large folder, and counts what it leaves out', async () => {
    const t = await desk();
    for (let n = 0; n < 10; n++) await t.put(`big/${n}`, '');
    await t.put('small/x', '');
    await t.put('z', '');
    const listed = await ok(t.session.list('.', { depth: 2, limit: 6 }));
    expect(listed.entries.map(({ path }) => path)).toEqual(['big', 'big/0', 'big/1', 'big/2', 'small', 'z']);
    expect(listed).toMatchObject({ complete: false, cut: 8 });
  });

  it('of one folder shows its beginning', async () => {
    const t = await desk();
    for (let n = 0; n < 5; n++) await t.put(`d${n}/x`, '');
    const listed = await ok(t.session.list('.', { depth: 2, limit: 3 }));
    expect(listed.entries.map(({ path }) => path)).toEqual(['d0', 'd1', 'd2']);
    expect(listed).toMatchObject({ complete: false, cut: 5 });
  });

  it('goes deep if asked to, and says where it does not go deeper', async () => {
    const t = await desk();
    await t.put(`${'d/'.repeat(100)}f`, '');
    const deep = await ok(t.session.list('.', { depth: 1000, as: 'names' }));
    expect(deep).toMatchObject({ complete: true, cut: 0 });
    expect(deep.entries.at(-1)?.path).toBe(`${'d/'.repeat(100)}f`);
    await t.put(`${'d/'.repeat(600)}f`, '');
    expect(await ok(t.session.list('.', { depth: 1000, as: 'names' }))).toMatchObject({ complete: false });
    expect(await ok(t.session.list('.', { depth: 2, as: 'names' }))).toMatchObject({ complete: true });
  });
});
