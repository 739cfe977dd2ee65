import { describe, expect, it } from 'vitest';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { treeOf } from '../support/tree.ts';

async function withFolder(policy: object = {}): Promise<Desk> {
  const t = await desk({ session: 'ann', policy });
  await t.put('d/read.txt', 'one\n');
  await t.put('d/in/unread.txt', 'two\n');
  await ok(t.session.read('d/read.txt'));
  await ok(t.session.list('d', { depth: 3 }));
  return t;
}

describe('a folder that this session has listed in full', () => {
  it('is not deleted if a file in it that the session has read changed since, and the refusal names the file', async () => {
    const t = await withFolder();
    await t.put('d/read.txt', 'ONE\n');
    const before = treeOf(t.root);
    const { path, next } = await refusal(t.session.delete('d', { recursive: true }), 'STALE');
    expect([path, next]).toEqual(['d/read.txt', 'read_again']);
    const batch = t.session.apply([{ kind: 'delete', path: 'd', recursive: true }]);
    await refusal(batch, 'STALE');
    expect(treeOf(t.root)).toEqual(before);
    await ok(t.session.read('d/read.txt'));
    await ok(t.session.delete('d', { recursive: true }));
  });

  it('is deleted if only unread files changed', async () => {
    const t = await withFolder();
    await t.put('d/in/unread.txt', 'TWO\n');
    await ok(t.session.delete('d', { recursive: true }));
  });

  it('is deleted although a read file in it changed, if the policy does not check staleness', async () => {
    const t = await withFolder({ staleness: 'off' });
    await t.put('d/read.txt', 'ONE\n');
    await ok(t.session.delete('d', { recursive: true }));
  });
});
