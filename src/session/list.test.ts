import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { desk, ok } from '../../test/support/desk.ts';
import { listingFingerprint } from '../gate/tree.ts';

describe('a listing cut short', () => {
  it('shows the siblings of a large folder, and counts the omitted entries', async () => {
    const t = await desk();
    for (let n = 0; n < 10; n++) await t.put(`big/${n}`, '');
    await t.put('small/x', '');
    await t.put('z', '');
    const listed = await ok(t.session.list('.', { depth: 2, limit: 6 }));
    expect(listed.entries.map(({ path }) => path)).toEqual(['big', 'big/0', 'big/1', 'big/2', 'small', 'z']);
    expect(listed).toMatchObject({ complete: false, cut: 8 });
  });

  it('of one folder shows the first entries', async () => {
    const t = await desk();
    for (let n = 0; n < 5; n++) await t.put(`d${n}/x`, '');
    const listed = await ok(t.session.list('.', { depth: 2, limit: 3 }));
    expect(listed.entries.map(({ path }) => path)).toEqual(['d0', 'd1', 'd2']);
    expect(listed).toMatchObject({ complete: false, cut: 5 });
  });

  it('is complete down to the requested depth, and marked as incomplete beyond the maximum depth', async () => {
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

describe('a listing in pages', () => {
  async function pages() {
    const t = await desk();
    for (const name of ['a', 'b', 'c', 'd', 'e']) await t.put(`dir/${name}`, '');
    const page = (after?: string) =>
      ok(t.session.list('dir', { limit: 2, ...(after === undefined ? {} : { after }) }));
    return { ...t, page };
  }

  it('adds up to a full listing, which licenses deleting the folder', async () => {
    const { page, session } = await pages();
    expect(await page()).toMatchObject({ complete: false, more: true, cut: 3 });
    expect(await session.delete('dir', { recursive: true })).toMatchObject({ refusal: { code: 'NOT_READ' } });
    expect(await page('b')).toMatchObject({
      entries: [{ path: 'c' }, { path: 'd' }],
      complete: false,
      cut: 1,
    });
    expect(await page('d')).toMatchObject({ entries: [{ path: 'e' }], complete: true, more: false, cut: 0 });
    expect(await session.delete('dir', { recursive: true })).toMatchObject({ ok: true });
  });

  it('does not add up if a page is missing, the folder changed in between, or a compaction happened', async () => {
    const { page, session, put } = await pages();
    await page();
    expect(await page('d')).toMatchObject({ complete: false, more: false });
    await put('dir/f', '');
    await page('b');
    expect(await page('d')).toMatchObject({ entries: [{ path: 'e' }, { path: 'f' }], complete: false });
    await page();
    await session.compacted();
    await page('b');
    expect(await page('d')).toMatchObject({ complete: false });
    expect(await session.delete('dir', { recursive: true })).toMatchObject({ ok: false });
    expect(await page()).toMatchObject({ complete: false });
    expect(await page('zzz')).toMatchObject({ entries: [], more: false });
  });

  it.each([[{ after: 'a', depth: 2 }], [{ after: 7 }], [{ after: 'a', as: 'names' }]])(
    'refuses %j',
    async (options) => {
      const { session } = await pages();
      const outcome = await session.list('dir', options as never);
      expect(outcome).toMatchObject({ ok: false, refusal: { code: 'INVALID_ARGUMENT' } });
    },
  );
});

describe('many files', () => {
  it('are read one by one, in order, and each counts as read', async () => {
    const t = await desk();
    await t.put('a.txt', 'a\n');
    await t.put('b.txt', 'b\n');
    const outcomes = await t.session.readMany(['a.txt', 'missing', 'b.txt']);
    expect(outcomes).toMatchObject([
      { ok: true, text: 'a' },
      { ok: false, refusal: { code: 'NOT_FOUND' } },
      { ok: true, text: 'b' },
    ]);
    expect(await t.session.write('b.txt', 'B\n')).toMatchObject({ ok: true });
  });
});

describe('the fingerprint of a listing', () => {
  it('is the hash of a line with kind and name for each entry', () => {
    const entries = [
      { name: 'a', kind: 'file' },
      { name: 'b', kind: 'file' },
      { name: 'c', kind: 'directory' },
      { name: 'd', kind: 'file' },
    ] as const;
    const lines = 'file\0a\nfile\0b\ndirectory\0c\nfile\0d\n';
    expect(listingFingerprint(entries)).toEqual({ sha256: hash('sha256', lines, 'hex'), size: 4 });
    expect(listingFingerprint([])).toEqual({ sha256: hash('sha256', '', 'hex'), size: 0 });
  });
});
