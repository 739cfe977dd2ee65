import { listNames } from '../../disk/list.ts';
import type { UndoStep } from '../../journal/undo-steps.ts';
import { unifiedDiff } from '../../text/unified.ts';
import type { World } from '../world.ts';
import { presentBytes } from './check.ts';
import type { Found } from './found.ts';

/** What an undo will do to texts: a bounded diff under each file's name. */
export async function previewDiff(world: World, found: readonly Found[]): Promise<string> {
  const present = presentBytes(found);
  const diffs: string[] = [];
  for (const each of found) diffs.push(...(await diffOf(world, each, present)));
  return diffs.join('\n');
}

async function diffOf(
  world: World,
  { step, snapshot }: Found,
  present: ReadonlyMap<string, Uint8Array>,
): Promise<string[]> {
  const { restore } = step;
  if (snapshot === undefined && restore.kind !== 'file') return [];
  const now = snapshot?.bytes ?? Buffer.alloc(0);
  const then =
    restore.kind === 'file'
      ? (present.get(restore.fingerprint.sha256) ?? (await world.images.read(restore.fingerprint)))
      : Buffer.alloc(0);
  const { text } = unifiedDiff<Uint8Array>(now, then, { maxLines: world.policy.maxDiffLines });
  return text === '' ? [] : [`${step.relative}\n${text}`];
}

/** The folders among those that are to go in which there is more than the steps take away. */
export function foldersInUse(world: World, steps: readonly UndoStep[]): ReadonlySet<string> {
  const going = new Set(steps.flatMap(leavingOf));
  const inUse = new Set<string>();
  // From the inside out, as they will go.
  for (const step of steps) {
    if (!isFolderToGo(step) || step.lookAt !== step.key) continue;
    const names = namesAt(world, step.key);
    if (names.some((name) => !going.has(`${step.key}/${name}`) || inUse.has(`${step.key}/${name}`)))
      inUse.add(step.key);
  }
  return inUse;
}

/** The key at which nothing is left after a step. */
function leavingOf({ key, restore, from }: UndoStep): readonly string[] {
  if (restore.kind === 'absent') return [key];
  return from === undefined ? [] : [from.key];
}

function namesAt(world: World, key: string): readonly string[] {
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok) return [];
  const { located } = outcome;
  try {
    if (!located.exists || !located.stats.isDirectory()) return [];
    const folder = located.place.dir.enter(located.place.name);
    const names = listNames(folder).map(({ name }) => name);
    folder.close();
    return names;
  } finally {
    located.place.dir.close();
  }
}

export function isFolderToGo({ expect, restore }: UndoStep): boolean {
  return expect.kind === 'directory' && restore.kind === 'absent';
}
