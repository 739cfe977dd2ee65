import { describe, expect, it } from 'vitest';
import { toolset } from '../../src/tools/toolset.ts';
import { desk } from '../support/desk.ts';

describe('the claim tools', () => {
  it('are offered only on request, and claim and release paths', async () => {
    const t = await desk({ session: 'one' });
    await t.put('a.txt', 'one\n');
    const names = toolset(t.session).tools.map(({ name }) => name);
    expect(names).not.toContain('claim_path');
    const { tools } = toolset(t.session, { claims: true });
    const call = (name: string, args: object) => tools.find((tool) => tool.name === name)?.call(args);
    expect(await call('claim_path', { path: 'src/**', reason: 'renaming', minutes: 5 })).toMatchObject({
      ok: true,
      text: 'claimed src/**',
    });
    expect(await t.session.claims()).toMatchObject([{ glob: 'src/**', reason: 'renaming', by: 'hand' }]);
    expect(await call('release_path', {})).toMatchObject({ ok: true, text: 'released 1 claim' });
    expect(await t.session.claims()).toEqual([]);
    expect(await call('claim_path', { path: '../out' })).toMatchObject({ ok: false });
  });
});
