import type { LineStart } from '../disk/page.ts';
import type { Unreadable } from '../disk/read.ts';
import type { World } from '../gate/world.ts';
import type { Awaitable } from '../model/awaitable.ts';
import type { ClientCall } from '../model/call.ts';
import type { LineRange } from '../model/coverage.ts';
import type { NewEntry } from '../model/entry.ts';
import type { Stamp } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import type { FileKind } from '../model/path.ts';
import { defined } from '../model/record.ts';
import type { ReadResult } from '../model/results.ts';
import type { ReadOptions } from '../model/session.ts';
import { NO_FLAGS, type Sighting, shownAs } from '../model/sighting.ts';
import { invalidArgument, type Outcome, type Refusal, type RefusalOf } from '../model/verdict.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Found } from '../workspace/workspace.ts';

/**
 * For each huge file, the position after the last page that was shown. The next page then need not
 * count lines from the top.
 */
export type PageEnds = Map<string, PageEnd>;

export interface PageEnd {
  readonly stamp: Stamp;
  readonly next: LineStart;
}

/** One read in progress: the request, the located file, and what the session saw of it before. */
export interface OpenRead {
  readonly world: World;
  readonly knowledge: Knowledge;
  readonly path: string;
  readonly options: Omit<ReadOptions, keyof ReadControls>;
  readonly watching: ReadControls;
  /**
   * `disk`: the file is always read. `memory`: it is not read again while its size and times prove
   * that it is unchanged.
   */
  readonly from: 'disk' | 'memory';
  readonly located: Found;
  readonly earlier: Sighting | undefined;
  readonly pageEnds: PageEnds;
  /** Maximum number of bytes of lines in the answer. */
  readonly maxAnswerBytes: number;
}

/** Progress and cancellation of a long read. Set only by callers that need them. */
export type ReadControls = Pick<ReadOptions, 'signal' | 'onProgress'> & {
  /**
   * Times at which the call arrived and was answered. Lines in the answer count as seen only for
   * later calls. Absent if the client waits for each answer before its next call.
   */
  readonly times?: ClientCall | undefined;
};

/** The result of a read before it is recorded. `text` and values derived from it are computed on first use. */
export interface Shown {
  readonly result: Omit<ReadResult, 'path' | 'complete' | 'revision'>;
  readonly sighting: Sighting;
}

/** The requested lines, or a refusal. `totalLines` is undefined for a huge file with uncounted lines. */
export function rangeOf(reading: OpenRead, totalLines: number | undefined): LineRange | Refusal {
  const { last } = reading.options;
  if (last !== undefined && (reading.options.offset !== undefined || reading.options.limit !== undefined))
    return invalidArgument('read', reading.path, 'the last lines cannot be combined with offset and limit');
  if (last !== undefined && totalLines !== undefined) return lastLines(reading, last, totalLines);
  const { offset = 1, limit = LIMITS.maxReadLines } = reading.options;
  if (!Number.isInteger(offset) || offset < 1)
    return invalidArgument('read', reading.path, `offset must be a line number from 1 on, not ${offset}`);
  if (!Number.isInteger(limit) || limit < 1)
    return invalidArgument('read', reading.path, `limit must be a number of lines from 1 on, not ${limit}`);
  if (totalLines === undefined) return { from: offset, to: offset + limit - 1 };
  if (offset > Math.max(totalLines, 1)) {
    return invalidArgument(
      'read',
      reading.path,
      `offset ${offset} is past the end: the file has ${totalLines} ${totalLines === 1 ? 'line' : 'lines'}`,
    );
  }
  return { from: offset, to: Math.min(offset + limit - 1, totalLines) };
}

function lastLines(reading: OpenRead, last: number, totalLines: number): LineRange | Refusal {
  if (!Number.isInteger(last) || last < 1)
    return invalidArgument('read', reading.path, `the number of last lines must be 1 or more, not ${last}`);
  return { from: Math.max(1, totalLines - last + 1), to: totalLines };
}

/**
 * Completes the result of a read: adds whether the session has now seen the whole file and, if so,
 * the file's revision.
 */
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

/**
 * Adds a notice if other sessions work on the file. Otherwise, which is usual, returns the result
 * synchronously.
 */
export function withClaims(
  { world, knowledge, located }: OpenRead,
  { sighting }: Shown,
  result: { ok: true } & ReadResult,
): Awaitable<Outcome<ReadResult>> {
  const file = located.place.path;
  const claims = world.claims.untold(knowledge, file);
  if (claims.length === 0) return result;
  return world.claims
    .claimNotice(knowledge, { file, claims, live: sighting.fingerprint })
    .then(async (claimNotice) => {
      if (claimNotice === undefined) return result;
      claimNotice.confirm();
      await world.store.note({ views: [], entries: [claimNotice.entry] });
      // Extend the same object: copying it would compute its lazy text, which not every caller needs.
      return Object.assign(result, { notices: [...(result.notices ?? []), claimNotice.notice] });
    });
}

/** The journal entry of a read. Its keys are in sorted order, so that the journal need not sort them. */
export function entryOf({ knowledge, located }: OpenRead, { sighting, result }: Shown): NewEntry {
  const { path } = located.place;
  const entry: { -readonly [K in keyof NewEntry]: NewEntry[K] } = {
    action: 'read',
    atMs: sighting.atMs,
    kind: 'read',
    lines: sighting.coverage.kind === 'whole' ? 'whole' : `${result.from}-${result.to}`,
    path: path.relative,
    root: path.root,
    session: knowledge.session,
  };
  // Set optional fields here: spreading them into the entry would take as long as all the rest.
  if (sighting.fingerprint !== undefined) entry.sha256 = sighting.fingerprint.sha256;
  if (sighting.flags !== NO_FLAGS) Object.assign(entry, defined({ shown: shownAs(sighting.flags) }));
  if (sighting.totalLines !== undefined) entry.totalLines = sighting.totalLines;
  if (knowledge.turn !== undefined) entry.turn = knowledge.turn;
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

export function tooLarge(path: string, detail: NonNullable<RefusalOf<'TOO_LARGE'>['detail']>): Refusal {
  return { code: 'TOO_LARGE', action: 'read', path, next: 'read_range', detail };
}
