import { hash } from 'node:crypto';
import type { ResolvedPath } from '../model/path.ts';
import type { DiskContext } from './context.ts';

/** The prefix of all our temporary names; the id of the change follows it. */
const TEMP_PREFIX = '.lookfirst-';

/**
 * What a temporary name is for. `new`: new bytes until they get the path's name, and then the old
 * file. `old`: an entry that was renamed away from its path for a moment. `back`: an old file that
 * is about to get its name back.
 */
export type TempUse = 'new' | 'old' | 'back';

/**
 * The temporary name beside a path in one change. It follows from the change and the path, so the
 * record of a change that was begun is also the list of its temporary names.
 */
export function tempName(
  { change }: Pick<DiskContext, 'change'>,
  { key }: Pick<ResolvedPath, 'key'>,
  use: TempUse,
): string {
  const place = hash('sha1', key, 'hex').slice(0, 12);
  return `${TEMP_PREFIX}${change}-${place}${use === 'new' ? '' : `-${use}`}`;
}
