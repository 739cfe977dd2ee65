import { type LayerDelta, parentKey } from './write-set.ts';

/**
 * The writes that an answer names. A folder is named if nothing in it is named. A deleted folder is
 * named unless its parent is deleted too: the deleted files in it do not say that it is gone.
 */
export function namedWrites(written: readonly LayerDelta[]): readonly LayerDelta[] {
  const folders = new Set(written.map(({ path }) => parentKey(path)));
  const isGone = ({ before, after }: LayerDelta): boolean =>
    before.kind === 'directory' && after.kind === 'absent';
  const gone = new Set(written.filter(isGone).map(({ path }) => path.key));
  return written.filter((each) => {
    const { path, before, after } = each;
    const isFolder = [before.kind, after.kind].every((kind) => kind === 'directory' || kind === 'absent');
    if (!isFolder || !folders.has(path.key)) return true;
    return isGone(each) && !gone.has(parentKey(path));
  });
}
