import { hash } from 'node:crypto';
import type { NumberedLines } from '../tool-result.ts';
import { standsAt } from './byte-match.ts';
import { skimContent } from './claude-content.ts';
import type { Named } from './claude-name.ts';
import { startOfLastLine } from './json-literal.ts';

const DETAIL = Buffer.from(',"toolUseResult":');
const NUMBER = /^([1-9]\d{0,8})\\t/;
const NUMBER_BYTES = 12;
/** What hosts say where they have cut out lines. */
const CUT = Buffer.from('truncated');

/**
 * Numbered lines in the rest of a result's line, where the host recorded nothing beside them: sub-agents. Hashed as they
 * stand there, numbers and all. Undefined if they are not exactly as expected: then the line is parsed.
 */
export function skimNumbered(line: Buffer): (Named & { readonly numbered: NumberedLines }) | undefined {
  const content = skimContent(line);
  if (content === undefined || standsAt(line, DETAIL, content.after)) return undefined;
  const { literal, uuid, key, timestamp } = content;
  const from = numberAt(literal, 0);
  const last = startOfLastLine(literal);
  const to = numberAt(literal, last);
  if (from === undefined || to === undefined || to < from || literal.includes(CUT)) return undefined;
  const isEmpty = literal.length === last + String(to).length + '\\t'.length;
  const hashed = { sha256: hash('sha256', literal), size: literal.length };
  return { uuid, key, timestamp, numbered: { from, to, endsInEmptyLine: isEmpty, ...hashed } };
}

function numberAt(literal: Buffer, start: number): number | undefined {
  const number = NUMBER.exec(literal.toString('latin1', start, start + NUMBER_BYTES))?.[1];
  return number === undefined ? undefined : Number(number);
}
