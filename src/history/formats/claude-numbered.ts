import { hash } from 'node:crypto';
import { standsAt } from './byte-match.ts';
import { endOfDigits, numberBetween } from './byte-number.ts';
import { mayBeCut, skimContent } from './claude-content.ts';
import type { SkimmedResult } from './claude-name.ts';
import { startOfLastLine } from './json-literal.ts';

const DETAIL = Buffer.from(',"toolUseResult":');
const TAB = Buffer.from('\\t');
const ZERO = 48;
const MAX_DIGITS = 9;

/**
 * Numbered lines in the rest of a result's line, where the host recorded nothing beside them: sub-agents. Hashed as they
 * stand there, numbers and all. Undefined if they are not exactly as expected: then the line is parsed.
 */
export function skimNumbered(line: Buffer): SkimmedResult | undefined {
  const content = skimContent(line);
  if (content === undefined || standsAt(line, DETAIL, content.after)) return undefined;
  const { literal, named } = content;
  const from = numberAt(literal, 0);
  const last = startOfLastLine(literal);
  const to = numberAt(literal, last);
  if (from === undefined || to === undefined || to < from || mayBeCut(literal)) return undefined;
  const endsInEmptyLine = literal.length === last + String(to).length + TAB.length;
  const sha256 = hash('sha256', literal);
  return { named, numbered: { from, to, endsInEmptyLine, sha256, size: literal.length } };
}

function numberAt(literal: Buffer, start: number): number | undefined {
  const end = endOfDigits(literal, start);
  if (end === start || end - start > MAX_DIGITS || literal[start] === ZERO) return undefined;
  return standsAt(literal, TAB, end) ? numberBetween(literal, start, end) : undefined;
}
