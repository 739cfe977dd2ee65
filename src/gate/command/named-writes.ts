import type { Written } from './write-set.ts';

/** The writes that an answer names. A folder is named only if nothing in it is named. */
export function namedWrites(written: readonly Written[]): readonly Written[] {
  const folders = new Set(written.map(({ path }) => path.key.slice(0, path.key.lastIndexOf('/'))));
  return written.filter(({ path, before, after }) => {
    const isFolder = [before.kind, after.kind].every((kind) => kind === 'directory' || kind === 'absent');
    return !isFolder || !folders.has(path.key);
  });
}
