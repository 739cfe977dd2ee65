import type { FileIntent } from '../model/intent.ts';
import { type Outcome, type Refusal, refused } from '../model/verdict.ts';
import type { World } from './world.ts';

/**
 * The keys of every file that changes will touch, for locking. A path that cannot be resolved has none and is refused
 * later, with its reason. Two changes of one file in one batch are refused: the second would not know the first.
 */
export function keysOf(world: World, changes: readonly FileIntent[]): Outcome<{ keys: readonly string[] }> {
  const keys = new Set<string>();
  for (const change of changes) {
    for (const path of pathsOf(change)) {
      const key = keyOf(world, path, change);
      if (key === undefined) continue;
      if (keys.has(key) && changes.length > 1) return refused(twice(path));
      keys.add(key);
    }
  }
  return { ok: true, keys: [...keys] };
}

export function pathsOf(change: FileIntent): readonly string[] {
  return change.kind === 'move' ? [change.source, change.destination] : [change.path];
}

/** A link that is deleted or moved is locked under its own name, one that is written through under its target's. */
function keyOf(world: World, path: string, change: FileIntent): string | undefined {
  const links = change.kind === 'delete' || change.kind === 'move' ? 'parents' : 'all';
  const outcome = world.workspace.locate(path, 'status', links);
  if (!outcome.ok) return undefined;
  outcome.located.place.dir.close();
  return outcome.located.place.path.key;
}

function twice(path: string): Refusal {
  const detail = { reason: 'the batch changes this file twice; join the changes into one' };
  return { code: 'INVALID_ARGUMENT', action: 'overwrite', path, next: 'fix_argument', detail };
}
