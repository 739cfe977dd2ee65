import { listNames } from '../../disk/list.ts';
import type { UndoStep } from '../../journal/undo-steps.ts';
import type { Side } from '../../model/entry.ts';
import { byteSize } from '../../report/amounts.ts';
import { hasNoLines } from '../../text/decode.ts';
import { maskedDiff } from '../../text/unified.ts';
import type { World } from '../world.ts';
import { type FoundChange, fileMoves, presentBytes } from './found-changes.ts';

/** Diffs of at most this many files are shown, the rest is counted: an answer with more would not be read. */
const MAX_DIFFS = 100;

/** Matches what git stores as compressed objects. A commit makes many, and none of them can be read. */
const GIT_OBJECT = /(^|\/)\.git\/objects(\/|$)/;

/** A bounded diff of an undo, under each file's name. A file that only moves back gets one line. */
export async function previewDiff(world: World, found: readonly FoundChange[]): Promise<string> {
  const present = presentBytes(found);
  const moves = fileMoves(found);
  const left = new Set(moves.values());
  const diffs: string[] = [];
  let more = 0;
  const shown = found.filter((each) => !left.has(each) && !GIT_OBJECT.test(each.step.relative));
  for (const each of shown) {
    const from =
      each.step.restore.kind === 'file' ? (each.step.from ?? moves.get(each)?.step)?.relative : undefined;
    if (diffs.length >= MAX_DIFFS) more += 1;
    else if (from !== undefined) diffs.push(`${each.step.relative}\n(moved back from ${from}, same content)`);
    else diffs.push(...(await diffOf(world, each, present)));
  }
  return [...diffs, ...objectsOf(found), ...(more === 0 ? [] : [`(and ${more} more files)`])].join('\n');
}

/** The line for all objects of git together. */
function objectsOf(found: readonly FoundChange[]): string[] {
  const objects = found.filter(
    ({ step: { relative, expect, restore } }) =>
      GIT_OBJECT.test(relative) && (expect.kind === 'file' || restore.kind === 'file'),
  );
  return objects.length === 0 ? [] : [`.git/objects\n(${objects.length} objects of git)`];
}

async function diffOf(
  world: World,
  { step, snapshot }: FoundChange,
  present: ReadonlyMap<string, Uint8Array>,
): Promise<string[]> {
  const { expect, restore } = step;
  if (isTooLarge(world, expect) || isTooLarge(world, restore))
    return [`${step.relative}\n(too large to compare)`];
  if (snapshot === undefined && restore.kind !== 'file')
    return expect.kind === 'file' ? [`${step.relative}\n(not shown: too many bytes)`] : [];
  const now = snapshot?.bytes ?? Buffer.alloc(0);
  const then =
    restore.kind === 'file'
      ? (present.get(restore.fingerprint.sha256) ?? (await world.images.read(restore.fingerprint)))
      : Buffer.alloc(0);
  if (hasNoLines(now) || hasNoLines(then))
    return [`${step.relative}\n(binary, ${byteSize(Math.max(now.byteLength, then.byteLength))})`];
  const { maxDiffLines: maxLines, secrets } = world.policy;
  const { text } = maskedDiff<Uint8Array>(now, then, { maxLines, secrets, path: step.relative });
  return text === '' ? [] : [`${step.relative}\n${text}`];
}

function isTooLarge({ policy }: World, side: Side): boolean {
  return side.kind === 'file' && side.fingerprint.size > policy.maxEditBytes;
}

/** The folders to be removed that hold more than the steps remove. */
export function foldersInUse(world: World, steps: readonly UndoStep[]): ReadonlySet<string> {
  const going = new Set(steps.flatMap(leavingOf));
  const inUse = new Set<string>();
  // Steps come in the order of removal, innermost first.
  for (const step of steps) {
    if (!isFolderToGo(step) || step.lookAt !== step.key) continue;
    const names = namesAt(world, step.key);
    if (names.some((name) => !going.has(`${step.key}/${name}`) || inUse.has(`${step.key}/${name}`)))
      inUse.add(step.key);
  }
  return inUse;
}

/** The keys that a step leaves empty. */
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
