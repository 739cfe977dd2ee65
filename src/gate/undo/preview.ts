import type { State } from '../../model/delta.ts';
import { LIMITS } from '../../model/limits.ts';
import { byteSize } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { apartFromGit, GITS_OWN_FILES } from '../../report/git-files.ts';
import { hasNoLines } from '../../text/decode.ts';
import { maskedDiff } from '../../text/unified.ts';
import type { PlannedDelta } from '../plan.ts';
import type { World } from '../world.ts';
import type { UndoPlan } from './plan.ts';

/** Diffs of at most this many files are shown, the rest is counted: an answer with more would not be read. */
const MAX_DIFFS = 100;

/** A bounded diff of an undo, under each file's name. A file that only moves back gets one line. */
export async function previewDiff(world: World, { deltas, bytes }: UndoPlan): Promise<string> {
  const diffs: string[] = [];
  let more = 0;
  const { shown, gits } = apartFromGit(deltas, ({ relative }) => relative);
  for (const delta of shown) {
    const { after, movedFrom } = delta;
    if (diffs.length >= MAX_DIFFS) more += 1;
    else if (movedFrom !== undefined && after.kind === 'file')
      diffs.push(`${nameOf(world, delta)}\n(moved back from ${nameOf(world, movedFrom)}, same content)`);
    else diffs.push(...(await diffOf(world, delta, bytes)));
  }
  const rest = [
    ...(more === 0 ? [] : [`(and ${more} more files)`]),
    ...(gits.length === 0 ? [] : [`(and ${GITS_OWN_FILES})`]),
  ];
  return [...diffs, ...rest].join('\n');
}

/** The name of a file above its diff, always on one line. */
function nameOf({ workspace }: World, path: Pick<PlannedDelta, 'key' | 'relative'>): string {
  return pathText(workspace.shownAt(path));
}

async function diffOf(world: World, delta: PlannedDelta, bytes: UndoPlan['bytes']): Promise<string[]> {
  const { before, after, relative: path } = delta;
  const name = nameOf(world, delta);
  if (isTooLarge(before) || isTooLarge(after)) return [`${name}\n(too large to compare)`];
  if (before.kind !== 'file' && after.kind !== 'file') return [];
  const bytesOf = async (state: State, read: 'recall' | 'load'): Promise<Uint8Array | undefined> => {
    if (state.kind !== 'file') return Buffer.alloc(0);
    const { fingerprint } = state;
    const held = bytes.get(fingerprint.sha256);
    if (held !== undefined) return held;
    return read === 'load' ? world.images.read(fingerprint) : world.baselines.recall(fingerprint);
  };
  const now = await bytesOf(before, 'recall');
  if (now === undefined) return [`${name}\n(not shown: too many bytes)`];
  const then = (await bytesOf(after, 'load')) ?? Buffer.alloc(0);
  if (hasNoLines(now) || hasNoLines(then))
    return [`${name}\n(binary, ${byteSize(Math.max(now.byteLength, then.byteLength))})`];
  const { secrets } = world.policy;
  const { text } = maskedDiff<Uint8Array>(now, then, {
    maxLines: LIMITS.maxDiffLines,
    secrets,
    known: world.secretValues,
    path,
  });
  return text === '' ? [] : [`${name}\n${text}`];
}

function isTooLarge(state: State): boolean {
  return state.kind === 'file' && state.fingerprint.size > LIMITS.maxEditBytes;
}
