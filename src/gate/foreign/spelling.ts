import { listUnsorted } from '../../disk/list.ts';
import type { World } from '../world.ts';

/**
 * The path as its names are spelt on disk, for a server that takes a name that is not there for the one that is the same
 * but for its Unicode form. Where several are the same it takes none of them, and the path stays as it is.
 */
export function speltPath(world: World, path: string): string {
  let spelt = path;
  for (;;) {
    const next = nextSpelling(world, spelt);
    if (next === undefined) return spelt;
    spelt = next;
  }
}

/** The path with the first of its missing names as it is there; undefined: nothing is missing, or nothing is the same. */
function nextSpelling(world: World, path: string): string | undefined {
  const outcome = world.workspace.locate(path, 'read');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  try {
    if (located.exists) return undefined;
    const [wanted = '', ...rest] = located.missing;
    const same = listUnsorted(located.place.dir).filter(
      ({ name }) => name.normalize('NFC') === wanted.normalize('NFC'),
    );
    const [only] = same;
    // The very name came to be there meanwhile: it is looked at as it is.
    if (only === undefined || same.length > 1 || only.name === wanted) return undefined;
    const parts = located.place.path.absolute.split('/').slice(0, -located.missing.length);
    return [...parts, only.name, ...rest].join('/');
  } finally {
    located.place.dir.close();
  }
}
