import type { DiskContext } from '../../src/disk/context.ts';
import { move } from '../../src/disk/move.ts';
import { fingerprintOf } from '../../src/disk/read.ts';
import { remove, removeLink } from '../../src/disk/remove.ts';
import { create, replace } from '../../src/disk/replace.ts';
import type { Workspace } from '../../src/workspace/workspace.ts';

/** The tree from which every change below starts. */
export const BEFORE: readonly string[] = ['f: old', 'link => f', 'folder/inner: inner', 'other/'];

export const CHANGES = ['create', 'replace', 'remove', 'remove a link', 'move', 'move a folder'] as const;
export type ChangeName = (typeof CHANGES)[number];

/** The paths that the changes touch. */
export const PATHS: readonly string[] = ['f', 'new', 'link', 'folder', 'other/f', 'other/folder'];

/** For each change, the tree after it as `name: text` lines; see test/support/tree.ts. */
export const AFTER: Readonly<Record<ChangeName, readonly string[]>> = {
  create: [...BEFORE, 'new: new'],
  replace: ['f: new', 'link => f', 'folder/inner: inner', 'other/'],
  remove: ['link => f', 'folder/inner: inner', 'other/'],
  'remove a link': ['f: old', 'folder/inner: inner', 'other/'],
  move: ['link => f', 'folder/inner: inner', 'other/f: old'],
  'move a folder': ['f: old', 'link => f', 'other/folder/inner: inner'],
};

/** Makes one change; true if it was done. */
export async function change(workspace: Workspace, context: DiskContext, name: ChangeName): Promise<boolean> {
  const bytes = Buffer.from('new');
  const expected = { fingerprint: fingerprintOf(Buffer.from('old')) };
  const dirs: { close(): void }[] = [];
  const place = (path: string) => {
    const outcome = workspace.locate(path, 'status', 'parents');
    if (!outcome.ok) throw new Error(`${path}: ${outcome.refusal.code}`);
    dirs.push(outcome.located.place.dir);
    return outcome.located.place;
  };
  try {
    switch (name) {
      case 'create':
        return (await create(context, place('new'), { bytes })).ok;
      case 'replace':
        return (await replace(context, place('f'), { bytes, expected })).ok;
      case 'remove':
        return (await remove(context, place('f'), expected)).ok;
      case 'remove a link':
        return (await removeLink(context, place('link'), 'f')).ok;
      case 'move':
        return (await move(context, place('f'), place('other/f'))).ok;
      case 'move a folder':
        return (await move(context, place('folder'), place('other/folder'))).ok;
      default:
        return name satisfies never;
    }
  } finally {
    for (const dir of dirs) dir.close();
  }
}
