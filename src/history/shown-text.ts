import { hash } from 'node:crypto';
import { CLAMP_MARK } from '../text/clamp.ts';
import type { ShownText } from './history-sighting.ts';

/** The hash of a text that begins at a line. Only the hash is kept, so memory does not grow with what was shown. */
export function shownText(text: string, lines: { readonly from: number; readonly to: number }): ShownText {
  return { from: lines.from, to: lines.to, sha256: hash('sha256', text), size: Buffer.byteLength(text) };
}

/** Marks that stand in for text: ends of lines that were cut, and what was blanked out. */
const MARKS = /(?:\.{3}|…) ?\[|\[REDACTED/;
/** `... [truncated]`, `... [123 chars truncated]` */
const FOREIGN_CLAMP = /(?:\.{3}|…) ?\[(?:\d+ )?(?:(?:chars|characters|bytes) )?(?:truncated|clamped|cut)\]$/m;
const OWN_CLAMP = new RegExp(CLAMP_MARK.source, 'm');
const REDACTED = /\[REDACTED(?::[\w-]{1,64})?\]/;

/** What was left out of a text, by the marks in it. */
export interface Marks {
  readonly clamped: boolean;
  readonly redacted: boolean;
}

export const NO_MARKS: Marks = { clamped: false, redacted: false };

export function marksIn(text: string): Marks {
  // Most texts hold no mark at all, and one look is enough for them.
  if (!MARKS.test(text)) return NO_MARKS;
  return {
    clamped: OWN_CLAMP.test(text) || FOREIGN_CLAMP.test(text),
    redacted: REDACTED.test(text),
  };
}
