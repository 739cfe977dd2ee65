import { NOTHING } from '../model/coverage.ts';
import { type Fingerprint, sameFingerprint } from '../model/fingerprint.ts';
import type { Policy } from '../model/policy.ts';
import { type How, NO_FLAGS, type Sighting } from '../model/sighting.ts';
import { type Mark, NEVER_SEEN, type Seen, type View } from '../model/view.ts';
import { isStub } from './facts.ts';
import { joinViews, sameBytes, sawWhole } from './join-views.ts';

/** Maximum number of earlier states of a file that count if they come back. Older ones are forgotten. */
const MAX_SEEN_BEFORE = 8;

/**
 * A session's knowledge of a path in a call that arrived at `moment`: its newest view that counts,
 * the other views of the same bytes, and the states that it saw whole before. Undefined if it never
 * saw the file. The result may be a tombstone (deleted file) or a stub (forgotten sighting).
 */
export function knownOf(
  { views, marks }: Seen = NEVER_SEEN,
  moment: number = Number.POSITIVE_INFINITY,
): Sighting | undefined {
  const [newest] = views;
  // Fast path for nearly every read: one view, which counts.
  if (newest === undefined) return undefined;
  if (views.length === 1 && marks.length === 0) return countsAt(newest, moment) ? newest.sighting : undefined;
  return knownAmong({ views, marks }, moment);
}

function knownAmong({ views, marks }: Seen, moment: number): Sighting | undefined {
  const counted = new Counted();
  for (const view of views) {
    if (!countsAt(view, moment)) continue;
    const mark = lossOf(view, marks);
    if (mark === undefined) counted.add(view.sighting);
    // A rewind takes away some views only, so earlier ones may still count.
    else if (mark.lost === 'rewound') counted.addRewound(view.sighting);
    else counted.addLost(view.sighting, mark);
    if (counted.isComplete) break;
  }
  return counted.result();
}

/** Collects the views of one path, newest first. */
class Counted {
  isComplete = false;
  #newest: Sighting | undefined;
  #rewound: Sighting | undefined;
  /** Other views of the same bytes as the newest one, newest first. */
  readonly #same: Sighting[] = [];
  /** Other states that were seen whole, newest first. */
  readonly #before: Fingerprint[] = [];

  add(sighting: Sighting): void {
    const newest = this.#newest;
    // Nothing that was shown before a sighting was lost or forgotten counts.
    this.isComplete = sighting.lost !== undefined;
    if (newest === undefined) this.#newest = sighting;
    else if (!this.isComplete && sameBytes(sighting, newest)) this.#same.push(sighting);
    else if (sawWhole(sighting)) this.#addBefore(sighting.fingerprint);
  }

  addRewound(sighting: Sighting): void {
    if (sighting.tombstone === true) this.#newest ??= tombstoneOf(sighting.key, sighting.atMs);
    else this.#rewound ??= sighting;
  }

  addLost(sighting: Sighting, { lost, keeps }: Mark): void {
    this.isComplete = true;
    if (this.#newest !== undefined || this.#rewound !== undefined || lost === 'forgotten') return;
    if (sighting.tombstone === true) this.#newest = tombstoneOf(sighting.key, sighting.atMs);
    else this.#newest = keeps === 'nothing' ? stubOf(sighting, lost) : withoutContext(sighting, lost);
  }

  result(): Sighting | undefined {
    const newest = this.#newest;
    if (newest === undefined) return this.#rewound && stubOf(this.#rewound, 'rewound');
    const known = this.#same.reduceRight<Sighting | undefined>(joinViews, undefined);
    const sighting = known === undefined ? newest : joinViews(known, newest);
    if (this.#before.length === 0 || newest.lost !== undefined) return sighting;
    return { ...sighting, seenBefore: this.#before.slice(0, MAX_SEEN_BEFORE).reverse() };
  }

  #addBefore(fingerprint: Fingerprint | undefined): void {
    const newest = this.#newest?.fingerprint;
    if (fingerprint === undefined || (newest !== undefined && sameFingerprint(fingerprint, newest))) return;
    if (!this.#before.some((each) => sameFingerprint(each, fingerprint))) this.#before.push(fingerprint);
  }
}

/** The states of a file that a sighting has shown whole, oldest first; undefined if there are none. */
export function bytesSeenWhole(sighting: Sighting): readonly Fingerprint[] | undefined {
  const { fingerprint, seenBefore } = sighting;
  if (sighting.lost !== undefined || sighting.how === 'listing') return undefined;
  if (fingerprint === undefined || !sawWhole(sighting)) return seenBefore;
  return [...(seenBefore ?? []), fingerprint];
}

/** The newest view of these bytes that shows them whole and still counts. */
export function wholeViewOf(
  { views, marks }: Seen = NEVER_SEEN,
  isWanted: (sighting: Sighting) => boolean,
): Sighting | undefined {
  for (const view of views) {
    const { sighting } = view;
    if (isStub(sighting)) return undefined;
    if (lossOf(view, marks) !== undefined) continue;
    if (sighting.coverage.kind === 'whole' && sighting.fingerprint !== undefined && isWanted(sighting))
      return sighting;
  }
  return undefined;
}

function countsAt({ since }: View, moment: number): boolean {
  return since === undefined || since <= moment;
}

/** The loss that took a view away, or undefined if it still counts. */
function lossOf({ n, sighting: { atMs } }: View, marks: readonly Mark[]): Mark | undefined {
  return marks.find(
    (mark) =>
      (n === undefined ? false : n < mark.n) &&
      (mark.afterMs === undefined || atMs > mark.afterMs) &&
      (mark.untilMs === undefined || atMs <= mark.untilMs),
  );
}

/** Reduces a sighting to the reason why it was lost, which refusals report. */
export function stubOf(
  sighting: Pick<Sighting, 'key' | 'how' | 'atMs'>,
  lost: NonNullable<Sighting['lost']>,
): Sighting {
  return { ...EMPTY, key: sighting.key, how: sighting.how, atMs: sighting.atMs, lost };
}

/** Records that this session deleted the file. Creating it again then needs no read. */
export function tombstoneOf(key: string, atMs: number): Sighting {
  return { ...EMPTY, key, how: 'write', atMs, tombstone: true };
}

/**
 * Removes the shown lines, because they are no longer in the model's context. Keeps hash and stamp,
 * to detect whether the file changed.
 */
function withoutContext(sighting: Sighting, lost: NonNullable<Sighting['lost']>): Sighting {
  const { refusedContent: _refused, heldBack: _held, ...rest } = sighting;
  return { ...rest, coverage: NOTHING, lost };
}

const EMPTY: Omit<Sighting, 'key' | 'how' | 'atMs'> = {
  fingerprint: undefined,
  stamp: undefined,
  racy: false,
  coverage: NOTHING,
  totalLines: undefined,
  flags: NO_FLAGS,
};

/** The ways to learn a file that show it without being a read or a change of it. */
const MERE_VIEWS: ReadonlySet<How> = new Set(['output', 'cure']);

/**
 * True if a view may be recorded. If a read of any part allows an overwrite, only reads and the
 * session's own changes count. There, a search hit or a command's output never counts, and a diff
 * counts only for a file that the session has read already.
 */
export function countsAsView(
  next: Sighting,
  old: Sighting | undefined,
  { seen, overwrite }: Pick<Policy, 'seen' | 'overwrite'>,
): boolean {
  if (seen === 'optional' || overwrite === 'whole' || !MERE_VIEWS.has(next.how)) return true;
  return next.how === 'cure' && old !== undefined && isInContext(old);
}

/** True if the model still has what it was shown of the file. */
function isInContext({ coverage, flags, lost, tombstone }: Sighting): boolean {
  return lost === undefined && tombstone !== true && (coverage.kind !== 'none' || flags.notText);
}
