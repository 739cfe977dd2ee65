import { CLAMP_MARK } from '../../../text/clamp.ts';

const MARKS = /(?:\.{3}|…) ?\[|\[REDACTED/;
/** `... [truncated]`, `... [123 chars truncated]` */
const FOREIGN_CLAMP = /(?:\.{3}|…) ?\[(?:\d+ )?(?:(?:chars|characters|bytes) )?(?:truncated|clamped|cut)\]$/m;
const OWN_CLAMP = new RegExp(CLAMP_MARK.source, 'm');
const REDACTED = /\[REDACTED(?::[\w-]{1,64})?\]/;

/** What was left out of a text, by the marks in it: ends of lines that were cut, and text that was blanked out. */
export interface Marks {
  readonly clamped: boolean;
  readonly redacted: boolean;
}

export function marksIn(text: string): Marks {
  // One test is enough for most texts: they hold no mark at all.
  if (!MARKS.test(text)) return { clamped: false, redacted: false };
  return { clamped: OWN_CLAMP.test(text) || FOREIGN_CLAMP.test(text), redacted: REDACTED.test(text) };
}
