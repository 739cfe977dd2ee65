import { kindOf } from '../../disk/stats.ts';
import type { FileKind } from '../../model/path.ts';
import { type Action, type Outcome, refused } from '../../model/verdict.ts';
import type { World } from '../world.ts';

/** Kinds whose opening waits for somebody, or does something: a server that reads one may hang for good. */
const NOT_FOR_READING: ReadonlySet<FileKind> = new Set(['fifo', 'socket', 'device']);

/** Where a path leads, if it may be looked at to do this. Nothing is opened. */
export function foreignLocate(world: World, path: string, action: Action): Outcome<{ readonly key: string }> {
  const outcome = world.workspace.locate(path, action);
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  located.place.dir.close();
  const kind = located.exists ? kindOf(located.stats) : undefined;
  if (kind !== undefined && NOT_FOR_READING.has(kind))
    return refused({ code: 'NOT_A_FILE', action, path, next: 'other_path', detail: { kind } });
  return { ok: true, key: located.place.path.key };
}
