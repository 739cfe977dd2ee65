import { fingerprintOf } from '../../disk/read.ts';
import type { LineRange } from '../../model/coverage.ts';
import { type Delta, lastAt, type State } from '../../model/delta.ts';
import { type Fingerprint, sameFingerprint } from '../../model/fingerprint.ts';
import type { UndoResult } from '../../model/results.ts';
import { type Outcome, type Refusal, type RefusalOf, refused } from '../../model/verdict.ts';
import { decodeText } from '../../text/decode.ts';
import { diffLines, type Hunk } from '../../text/diff.ts';
import { splitLines } from '../../text/lines.ts';
import { merge3 } from '../../text/merge.ts';
import { maskedDiff } from '../../text/unified.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import { apply } from '../apply.ts';
import { foundAt } from '../found.ts';
import { lockKeys } from '../keys.ts';
import { diffOptions } from '../masking.ts';
import { keepBytesOf } from '../old-bytes.ts';
import type { PlannedDelta } from '../plan.ts';
import type { World } from '../world.ts';
import { changePlanOf } from './seen.ts';

/** Selects one hunk of a change to one file. */
interface PartRequest {
  readonly change: string;
  /** Canonical path of the file. */
  readonly key: string;
  /** The hunk's index in the line diff of the change, from 0. */
  readonly hunk: number;
  readonly preview?: boolean;
}

/**
 * Undoes one hunk of a change. Later changes elsewhere in the file stay, and so does the rest of
 * the change. If the lines of the hunk or their neighbours changed since, refuses with the diff.
 */
export async function undoPart(
  world: World,
  knowledge: Knowledge,
  request: PartRequest,
): Promise<Outcome<UndoResult>> {
  const { change, key } = request;
  const [entry] = await world.store.entries({ change, kinds: ['change'], limit: 1 });
  const made = lastAt(entry?.deltas, key);
  if (made === undefined) return refused(missing(key, `there is no change ${change} of this file`));
  if (world.workspace.isReadOnly(key))
    return refused({
      code: 'READ_ONLY',
      action: 'undo',
      path: made.relative,
      next: 'ask_human',
      detail: { cause: 'root' },
    });
  const locked = [key];
  const release = await lockKeys(world, locked);
  if (release === undefined)
    return refused({ code: 'BUSY', action: 'undo', path: made.relative, next: 'retry_later' });
  try {
    const planned = await plan(world, made, request);
    if (!planned.ok) return planned;
    const { delta, bytes, lines, diff } = planned;
    const told = { undid: [change], diff, files: [{ path: made.relative, did: 'restored' as const }] };
    if (request.preview === true) return { ok: true, ...told };
    await keepBytesOf(world, delta.relative, { bytes, fingerprint: fingerprintOf(bytes) });
    const plans = [await changePlanOf(world, knowledge, [delta])];
    const outcome = await apply(world, knowledge, { plans, locked, undoesPart: { change, lines } });
    if (!outcome.ok) return outcome;
    return { ok: true, ...(outcome.change === undefined ? {} : { change: outcome.change }), ...told };
  } finally {
    release();
  }
}

interface Planned {
  readonly delta: PlannedDelta;
  /** The bytes of the file without the hunk. */
  readonly bytes: Uint8Array;
  readonly lines: LineRange;
  readonly diff: string;
}

async function plan(
  world: World,
  { key, relative, before, after }: Delta,
  { hunk: number }: PartRequest,
): Promise<Outcome<Planned>> {
  if (before.kind !== 'file' || after.kind !== 'file')
    return refused(missing(relative, 'the change made or removed the file: undo the whole change'));
  const { side, snapshot, stamp } = await foundAt(world, key);
  if (side.kind !== 'file' || snapshot === undefined)
    return refused({
      code: 'DELETED',
      action: 'undo',
      path: relative,
      next: 'ask_human',
      detail: { reason: 'it is no longer a file' },
    });
  const then = await textOf(world, before.fingerprint);
  const left = sameFingerprint(after.fingerprint, snapshot.fingerprint)
    ? decodeText(snapshot.bytes)
    : await textOf(world, after.fingerprint);
  const now = decodeText(snapshot.bytes);
  if (then === undefined || left === undefined || now?.encoding !== 'utf-8')
    return refused(missing(relative, 'its earlier bytes are no longer kept, or are not UTF-8 text'));
  const hunk = diffLines(then.text, left.text).hunks[number];
  if (hunk === undefined)
    return refused(missing(relative, `the change has no part ${number + 1} in this file`));
  const merged = merge3(left.text, withoutHunk(then.text, left.text, hunk), now.text);
  if (!merged.clean) return refused(changedSince(world, relative, { left: left.text, now: now.text }));
  if (merged.text === now.text) return refused(missing(relative, 'this part was taken back already'));
  const bytes = Buffer.from(`${now.bom ? '\ufeff' : ''}${merged.text}`, 'utf8');
  const partly: State = { ...side, fingerprint: fingerprintOf(bytes), kept: true };
  const path = world.workspace.named(key, relative);
  const { text: diff } = maskedDiff(now.text, merged.text, diffOptions(world, relative));
  return {
    ok: true,
    delta: { key, relative, before: side, after: partly, path, stamp, bytes: () => bytes, mode: 'asBefore' },
    bytes,
    lines: { from: hunk.afterStart + 1, to: hunk.afterEnd },
    diff: `${relative}\n${diff}`,
  };
}

async function textOf(
  world: World,
  fingerprint: Fingerprint,
): Promise<ReturnType<typeof decodeText> | undefined> {
  const bytes = await world.baselines.recall(fingerprint);
  return bytes === undefined ? undefined : decodeText(bytes);
}

/** The text after a change, with one of its hunks reverted. */
function withoutHunk(before: string, after: string, hunk: Hunk): string {
  const lines = splitLines(after);
  const old = splitLines(before).slice(hunk.beforeStart, hunk.beforeEnd);
  return [...lines.slice(0, hunk.afterStart), ...old, ...lines.slice(hunk.afterEnd)].join('');
}

function missing(path: string, reason: string): RefusalOf<'NOT_FOUND'> {
  return { code: 'NOT_FOUND', action: 'undo', path, next: 'none', detail: { reason } };
}

function changedSince(
  world: World,
  path: string,
  { left, now }: { readonly left: string; readonly now: string },
): Refusal {
  const { text } = maskedDiff(left, now, diffOptions(world, path));
  const detail = { reason: 'these lines were changed since that change', diff: text };
  return { code: 'STALE', action: 'undo', path, next: 'ask_human', detail };
}
