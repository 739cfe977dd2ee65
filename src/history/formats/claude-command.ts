import { hash } from 'node:crypto';
import { oneStanding, standsAt } from './byte-match.ts';
import { mayBeCut, skimContent } from './claude-content.ts';
import type { SkimmedResult } from './claude-name.ts';
import { endsInNewline, newlinesIn, startOfLastLine } from './json-literal.ts';

const DETAIL = Buffer.from(',"toolUseResult":{"stdout":"');
const QUIET = Buffer.from('","stderr":"","interrupted":false,');
/** How a record goes on whose command has ended; others are looked through. */
const ENDED = ['"isImage":false}', '"isImage":false,"noOutputExpected":false}'].map((end) =>
  Buffer.from(end),
);
const BACKGROUND = Buffer.from('"backgroundTaskId"');
/** Notes of hosts begin with one of these. */
const NOTE_STARTS = new Set(Buffer.from('[(<'));

/** What a command printed, in the rest of its result's line. Undefined if the line is not exactly as expected: then it is parsed. */
export function skimCommand(line: Buffer): SkimmedResult | undefined {
  const content = skimContent(line);
  if (content === undefined || !standsAt(line, DETAIL, content.after)) return undefined;
  const { literal, named } = content;
  const quiet = quietIn(line, content.after + DETAIL.length + literal.length);
  if (quiet < content.after || runsOn(line, quiet + QUIET.length)) return undefined;
  if (mayBeNote(literal, 0) || mayBeNote(literal, startOfLastLine(literal)) || mayBeCut(literal))
    return undefined;
  const isEnded = endsInNewline(literal);
  const lines = newlinesIn(literal) + (isEnded ? 0 : 1);
  const sha256 = hash('sha256', literal);
  return { named, plain: { lines, endsInNewline: isEnded, sha256, size: literal.length } };
}

/** The text is repeated as it was shown, more often than not. */
function quietIn(line: Buffer, expected: number): number {
  return standsAt(line, QUIET, expected) ? expected : line.lastIndexOf(QUIET);
}

function runsOn(line: Buffer, start: number): boolean {
  return oneStanding(line, ENDED, start) === undefined && line.includes(BACKGROUND, start);
}

function mayBeNote(literal: Buffer, start: number): boolean {
  const first = literal[start];
  return (first === undefined && start === 0) || (first !== undefined && NOTE_STARTS.has(first));
}
