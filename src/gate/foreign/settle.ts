import { sameSide } from '../../journal/side.ts';
import type { Effect } from '../../model/entry.ts';
import type { ForeignIntent } from '../../model/intent.ts';
import type { WitnessEvent } from '../../model/results.ts';
import { sideAt } from '../side-at.ts';
import { ABSENT } from '../sides.ts';
import { readTree, type TreeNode } from '../tree.ts';
import { witness } from '../witness.ts';
import type { World } from '../world.ts';
import type { OpenChange } from './change.ts';
import type { Ending } from './session.ts';
import type { Scene } from './shown.ts';

/** A folder with more in it than this is recorded alone: it can then be taken back only by hand. */
const MAX_MADE = 10_000;

/** Records what really became of the files, then what the session knows of them; frees them in any case. */
export async function settleForeign(scene: Scene, open: OpenChange, ending: Ending): Promise<void> {
  const { world, ledger } = scene;
  try {
    const effects = await effectsNow(scene, open.entry.effects ?? []);
    const entries = effects.length === 0 ? [] : [{ ...open.entry, atMs: world.now(), effects }];
    if (open.recorded)
      await world.store.record({ entries: [...entries, ...open.bypasses], settle: [open.change] });
    if (ending !== 'done') {
      for (const { key } of open.entry.effects ?? []) await ledger.forget(key);
      return;
    }
    if (open.credits.length > 0) await ledger.record(open.credits);
    for (const intent of open.intents) {
      const event = eventOf(intent);
      if (event !== undefined) await witness(world, ledger, event);
    }
  } finally {
    open.release();
  }
}

async function effectsNow({ world }: Scene, announced: readonly Effect[]): Promise<Effect[]> {
  const effects: Effect[] = [];
  // What came with a folder that was moved goes back with it.
  const moved = new Set(announced.flatMap(({ movedTo }) => movedTo ?? []));
  for (const { movedTo, ...effect } of announced) {
    const after = await sideAt(world, effect.key);
    if (sameSide(effect.before, after)) continue;
    effects.push({
      ...effect,
      after,
      ...(movedTo === undefined || after.kind !== 'absent' ? {} : { movedTo }),
    });
    if (effect.before.kind === 'absent' && after.kind === 'directory' && !moved.has(effect.key))
      effects.push(...(await effectsBelow(world, effect.key)));
  }
  return effects;
}

/**
 * What a server put into a folder that it made, such as a copy of another; without it the folder could not be taken back.
 * Where some of it cannot be looked at, or is protected, the folder is recorded alone.
 */
async function effectsBelow(world: World, key: string): Promise<Effect[]> {
  try {
    const effects: Effect[] = [];
    for (const { path } of nodesBelow(world, key)) {
      const after = await sideAt(world, path.key);
      effects.push({ key: path.key, relative: path.relative, before: ABSENT, after });
    }
    return effects;
  } catch {
    // The change itself has to be recorded whatever this says.
    return [];
  }
}

/** Everything in a folder, each folder before what is in it; nothing where there is too much. */
function nodesBelow(world: World, key: string): TreeNode[] {
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok) return [];
  const { place } = outcome.located;
  try {
    const dir = place.dir.enter(place.name);
    try {
      const [, ...inside] = readTree(world, dir, place.path).reverse();
      return inside.length > MAX_MADE ? [] : inside;
    } finally {
      dir.close();
    }
  } finally {
    place.dir.close();
  }
}

/** Bytes that are there as intended were written whole; of any other change the disk tells what it did. */
function eventOf(intent: ForeignIntent): WitnessEvent | undefined {
  switch (intent.kind) {
    case 'write':
      return { kind: 'write', path: intent.path, content: intent.content };
    case 'edit':
    case 'insert':
    case 'touch':
      return { kind: 'write', path: intent.path };
    case 'delete':
      return { kind: 'delete', path: intent.path };
    case 'move':
      return { kind: 'move', source: intent.source, destination: intent.destination };
    case 'mkdir':
      return undefined;
    default:
      return intent satisfies never;
  }
}
