import type { LineStart } from '../disk/page.ts';
import type { Unreadable } from '../disk/read.ts';
import type { World } from '../gate/world.ts';
import type { ClientCall } from '../model/call.ts';
import type { LineRange } from '../model/coverage.ts';
import type { Stamp } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import type { FileKind } from '../model/path.ts';
import type { ReadResult } from '../model/results.ts';
import type { ReadOptions } from '../model/session.ts';
import type { Sighting } from '../model/sighting.ts';
import { invalidArgument, type Refusal, type RefusalOf } from '../model/verdict.ts';
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

/** The path and the lines that a read asks for. */
export interface RequestedLines {
  readonly path: string;
  readonly options: Omit<ReadOptions, keyof ReadControls>;
}

/** The request of a read. */
export interface ReadRequest extends RequestedLines {
  readonly watching: ReadControls;
  /**
   * `disk`: the file is always read. `memory`: it is not read again while its size and times prove
   * that it is unchanged.
   */
  readonly from: 'disk' | 'memory';
  readonly pageEnds: PageEnds;
  /** Maximum number of bytes of lines in the answer. */
  readonly maxAnswerBytes: number;
}

/** One read in progress: the request, the located file, and what the session saw of it before. */
export interface OpenRead extends ReadRequest {
  readonly world: World;
  readonly knowledge: Knowledge;
  readonly located: Found;
  readonly earlier: Sighting | undefined;
}

/** Progress and cancellation of a long read. Set only by callers that need them. */
export type ReadControls = Pick<ReadOptions, 'signal' | 'onProgress'> & {
  /**
   * Times at which the call arrived and was answered. Lines in the answer count as seen only for
   * later calls. Absent if the client waits for each answer before its next call.
   */
  readonly times?: ClientCall | undefined;
};

/** The text part of a read result. */
export interface PageText extends Pick<ReadResult, 'clamped' | 'bytes'> {
  /** Decodes the text. A tool that sends `bytes` does not call it: of 1 MB, that saves 40 % of a read. */
  readonly text: () => string;
}

/** The result of a read before it is recorded. */
export interface Shown {
  readonly result: Omit<ReadResult, 'path' | 'text' | 'complete' | 'revision'> & PageText;
  readonly sighting: Sighting;
}

/** The requested lines, or a refusal. `totalLines` is undefined for a huge file with uncounted lines. */
export function rangeOf(
  { path, options }: RequestedLines,
  totalLines: number | undefined,
): LineRange | Refusal {
  const wrong = (reason: string): Refusal => invalidArgument('read', path, reason);
  const { last, offset = 1, limit = LIMITS.maxReadLines } = options;
  if (last !== undefined && (options.offset !== undefined || options.limit !== undefined))
    return wrong('the last lines cannot be combined with offset and limit');
  if (last !== undefined && totalLines !== undefined)
    return isCount(last)
      ? { from: Math.max(1, totalLines - last + 1), to: totalLines }
      : wrong(`the number of last lines must be 1 or more, not ${last}`);
  if (!isCount(offset)) return wrong(`offset must be a line number from 1 on, not ${offset}`);
  if (!isCount(limit)) return wrong(`limit must be a number of lines from 1 on, not ${limit}`);
  if (totalLines === undefined) return { from: offset, to: offset + limit - 1 };
  if (offset > Math.max(totalLines, 1)) return wrong(pastTheEnd(offset, totalLines));
  return { from: offset, to: Math.min(offset + limit - 1, totalLines) };
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1;
}

export function pastTheEnd(offset: number, totalLines: number): string {
  return `offset ${offset} is past the end: the file has ${totalLines} ${totalLines === 1 ? 'line' : 'lines'}`;
}

/** The refusal for an existing file that could not be read. */
export function unreadableRefusal(path: string, problem: Unreadable): Refusal {
  const base = { action: 'read', path } as const;
  switch (problem.problem) {
    case 'missing':
      return { ...base, code: 'NOT_FOUND', next: 'other_path' };
    case 'kind':
      return notAFile(path, problem.kind);
    case 'swapped': {
      const detail = { reason: 'it was replaced by a link meanwhile' };
      return { ...base, code: 'UNVERIFIABLE', next: 'retry_later', detail };
    }
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
