import { expect, it, onTestFinished } from 'vitest';
import { type Desk, desk, ok } from '../support/desk.ts';
import { treeOf } from '../support/tree.ts';

/** A workspace whose keys ignore case, as on macOS. The file system itself distinguishes case. */
async function caseless(): Promise<Desk> {
  const { platform } = process;
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  onTestFinished(() => {
    Object.defineProperty(process, 'platform', { value: platform });
  });
  return desk({ session: 'ann', store: 'memory:' });
}

it('undo restores a deleted file under the name it had', async () => {
  const t = await caseless();
  await t.put('README.md', 'x\n');
  await ok(t.session.read('README.md'));
  await ok(t.session.delete('README.md'));
  await ok(t.session.undo({}));
  expect(treeOf(t.root)).toEqual(['README.md: x\n']);
});

it.each([2, 20])('a folder with %i upper-case names can be deleted and restored', async (count) => {
  const t = await caseless();
  for (let i = 0; i < count; i += 1) await t.put(`Docs/In/File${i}.TXT`, `${i}\n`);
  for (const path of ['Docs', 'Docs/In']) await ok(t.session.list(path));
  const before = treeOf(t.root);
  await ok(t.session.delete('Docs', { recursive: true }));
  expect(treeOf(t.root)).toEqual([]);
  await ok(t.session.undo({}));
  expect(treeOf(t.root)).toEqual(before);
});
