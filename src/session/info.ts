import { kindOf } from '../disk/stats.ts';
import type { World } from '../gate/world.ts';
import type { InfoResult } from '../model/results.ts';
import { type Outcome, refused } from '../model/verdict.ts';

const NS_PER_MS = 1_000_000n;

/** The file system's data about a path. No content is read, so nothing counts as seen. */
export function fileInfo(world: World, path: string): Outcome<InfoResult> {
  const outcome = world.workspace.locate(path, 'status');
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  located.place.dir.close();
  if (!located.exists) return refused({ code: 'NOT_FOUND', action: 'status', path, next: 'list' });
  const { stats, place } = located;
  return {
    ok: true,
    path,
    absolute: place.path.absolute,
    kind: kindOf(stats),
    sizeBytes: Number(stats.size),
    createdMs: Number(stats.birthtimeNs / NS_PER_MS),
    modifiedMs: Number(stats.mtimeNs / NS_PER_MS),
    accessedMs: Number(stats.atimeNs / NS_PER_MS),
    mode: Number(stats.mode & 0o777n),
  };
}
