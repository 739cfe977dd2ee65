import type { LineStart } from '../disk/page.ts';
import type { Unreadable } from '../disk/read.ts';
import type { World } from '../gate/world.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Awaitable } from '../model/awaitable.ts';
import type { LineRange } from '../model/coverage.ts';
import type { NewEntry } from '../model/entry.ts';
import type { Stamp } from '../model/fingerprint.ts';
import type { CallTimes } from '../model/foreign-session.ts';
import type { FileKind } from '../model/path.ts';
import type { ReadResult } from '../model/results.ts';
import type { ReadOptions } from '../model/session.ts';
import type { Sighting } from '../model/sighting.ts';
import { invalidArgument, type Outcome, type Refusal, type RefusalDetail } from '../model/verdict.ts';
import type { Found } from '../workspace/workspace.ts';

/** The end of the last page of each huge file, so that the next page need not count lines from the top. */
export type PageEnds = Map<string, { readonly stamp: Stamp; readonly next: LineStart }>;

/** One read in progress: the request, the located file, and the session's earlier sighting. */
export interface OpenRead {
  readonly world: World;
  readonly ledger: Ledger;
  readonly path: string;
  readonly options: Omit<ReadOptions, keyof ReadControls>;
  readonly watching: ReadControls;
  /** `memory`: a file with a trusted, unchanged stamp is not read again. */
  readonly from: 'disk' | 'memory';
  readonly located: Found;
  readonly earlier: Sighting | undefined;
  readonly pageEnds: PageEnds;
  /** Bytes of lines that the answer shows at most. */
  readonly maxAnswerBytes: number;
}

/** Progress and cancellation of a long read. Set only by callers that need them. */
export type ReadControls = Pick<ReadOptions, 'signal' | 'onProgress'> & {
  /** Times of the call whose answer shows the file. Absent if calls and answers alternate strictly. */
  readonly times?: CallTimes | undefined;
};

/** The result of a read before it is recorded. `text` and values derived from it are computed on first use. */
export interface Shown {
  readonly result: Omit<ReadResult, 'path' | 'complete' | 'revision'>;
  readonly sighting: Sighting;
}

/** The requested range of lines, or a refusal. `totalLines` is undefined if the file is huge and was not counted. */
export function rangeOf(reading: OpenRead, totalLines: number | undefined): LineRange | Refusal {
  const { last } = reading.options;
  if (last !== undefined && (reading.options.offset !== undefined || reading.options.limit !== undefined))
    return invalidArgument('read', reading.path, 'the last lines are asked for without offset and limit');
  if (last !== undefined && totalLines !== undefined) return lastLines(reading, last, totalLines);
  const { offset = 1, limit = reading.world.policy.maxReadLines } = reading.options;
  if (!Number.isInteger(offset) || offset < 1)
    return invalidArgument('read', reading.path, `offset must be a line number from 1 on, not ${offset}`);
  if (!Number.isInteger(limit) || limit < 1)
    return invalidArgument('read', reading.path, `limit must be a number of lines from 1 on, not ${limit}`);
  if (totalLines === undefined) return { from: offset, to: offset + limit - 1 };
  if (offset > Math.max(totalLines, 1)) {
    return invalidArgument(
      'read',
      reading.path,
      `offset ${offset} is past the end: the file has ${totalLines} lines`,
    );
  }
  return { from: offset, to: Math.min(offset + limit - 1, totalLines) };
}

function lastLines(reading: OpenRead, last: number, totalLines: number): LineRange | Refusal {
  if (!Number.isInteger(last) || last < 1)
    return invalidArgument('read', reading.path, `the number of last lines must be 1 or more, not ${last}`);
  return { from: Math.max(1, totalLines - last + 1), to: totalLines };
}

/** Completes the result of a read from the `known` sighting: whether the whole file was seen, and its revision. */
export function readResult(
  { path, world }: OpenRead,
  { result }: Shown,
  { coverage, fingerprint, flags }: Sighting,
): { ok: true } & ReadResult {
  const isAll = !flags.clamped && !flags.notText && !flags.redacted;
  const complete = coverage.kind === 'whole' && fingerprint !== undefined && isAll;
  // Extend the same object: copying it would compute its lazy text, which not every caller needs.
  return complete
    ? Object.assign(result, { ok: true as const, path, complete, revision: world.revisionOf(fingerprint) })
    : Object.assign(result, { ok: true as const, path, complete });
}

/** Adds a notice if other sessions work on the file. Usually there is none, and this does not wait. */
export function withClaims(
  { world, ledger, located }: OpenRead,
  { sighting }: Shown,
  result: { ok: true } & ReadResult,
): Awaitable<Outcome<ReadResult>> {
  const file = located.place.path;
  const claims = world.claims.untold(ledger, file);
  if (claims.length === 0) return result;
  return world.claims
    .claimNotice(ledger, { file, claims, live: sighting.fingerprint })
    .then(async (claimNotice) => {
      if (claimNotice === undefined) return result;
      claimNotice.confirm();
      await world.store.note({ sightings: [], entries: [claimNotice.entry] });
      // Extend the same object: copying it would compute its lazy text, which not every caller needs.
      return Object.assign(result, { notices: [...(result.notices ?? []), claimNotice.notice] });
    });
}

/** The journal entry of a read. Its keys are in sorted order, so that the journal need not sort them. */
export function entryOf({ ledger, located }: OpenRead, { sighting, result }: Shown): NewEntry {
  const { path } = located.place;
  const entry: { -readonly [K in keyof NewEntry]: NewEntry[K] } = {
    action: 'read',
    atMs: sighting.atMs,
    kind: 'read',
    lines: sighting.coverage.kind === 'whole' ? 'whole' : `${result.from}-${result.to}`,
    path: path.relative,
    root: path.root,
    session: ledger.session,
  };
  // Set afterwards: spreading one object into another takes as long as all the rest.
  if (sighting.fingerprint !== undefined) entry.sha256 = sighting.fingerprint.sha256;
  if (sighting.totalLines !== undefined) entry.totalLines = sighting.totalLines;
  if (ledger.turn !== undefined) entry.turn = ledger.turn;
  return entry;
}

/** The refusal for an existing file that could not be read. */
export function unreadableRefusal(path: string, problem: Unreadable): Refusal {
  const base = { action: 'read', path } as const;
  switch (problem.problem) {
    case 'missing':
      return { ...base, code: 'NOT_FOUND', next: 'other_path' };
    case 'kind':
      return notAFile(path, problem.kind);
    case 'swapped':
      return {
        ...base,
        code: 'UNVERIFIABLE',
        next: 'retry_later',
        detail: { reason: 'it was replaced by a link meanwhile' },
      };
    case 'too-large':
      return tooLarge(path, { sizeBytes: problem.size });
    case 'denied':
      return { ...base, code: 'UNVERIFIABLE', next: 'ask_human', detail: { errno: problem.errno } };
    default:
      return problem satisfies never;
  }
}

export function notAFile(path: string, kind: FileKind): Refusal {
  const next = kind === 'directory' ? 'list' : 'other_path';
  return { code: 'NOT_A_FILE', action: 'read', path, next, detail: { kind } };
}

export function tooLarge(path: string, detail: Pick<RefusalDetail, 'sizeBytes' | 'limitBytes'>): Refusal {
  return { code: 'TOO_LARGE', action: 'read', path, next: 'read_range', detail };
}
