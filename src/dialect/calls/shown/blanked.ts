/**
 * Notes that replace a result that the host removed from the context: `[Old tool result content cleared]`, `[cleared]`.
 */
const NOTE =
  /^[[<(][^\n]{0,120}\b(?:cleared|trimmed|pruned|omitted|removed|masked|compacted|elided|truncated)\b[^\n]{0,120}[\])>]$/i;
/** Notes below the remaining lines of a shortened result: `[results truncated to save space.]`. */
const NOTE_BELOW =
  /^\[(?:tool )?(?:results?|output|content)\b[^\n]{0,80}\b(?:cleared|trimmed|omitted|truncated)\b[^\n]{0,80}\]$/i;
const TAGS = ['<persisted-output>', '<truncated-output>', '<tool_output_masked>'];
/** Marks in the middle of a result that was too long for the host. */
const CUT =
  /…\d+ (?:tokens|chars|characters|bytes|lines) truncated…|\[\.{3} ?\d+ (?:lines|characters) truncated ?\.{3}\]/;

/**
 * Whether the host later emptied or shortened this result, so that it no longer shows its content. In doubt true: a
 * file that consists of such a note must only be read once more.
 */
export function isBlanked(text: string): boolean {
  const trimmed = text.trimEnd();
  if (trimmed === '') return true;
  const lastLine = trimmed.lastIndexOf('\n') + 1;
  if (lastLine === 0 && NOTE.test(trimmed)) return true;
  if (lastLine > 0 && NOTE_BELOW.test(trimmed.slice(lastLine))) return true;
  return TAGS.some((tag) => trimmed.startsWith(tag)) || (trimmed.includes('truncated') && CUT.test(trimmed));
}
