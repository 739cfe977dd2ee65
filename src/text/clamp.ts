/** A line cut to a maximum length, with a mark if it was cut. */
export interface ClampedLine {
  readonly text: string;
  readonly clamped: boolean;
}

/** Matches the mark that {@link clampLine} puts at the end of a line it cut. */
export const CLAMP_MARK: RegExp = /… \[\+\d+ characters\]$/;

/**
 * Cuts a line to `maxChars` UTF-16 units, never inside a surrogate pair, and appends the number of missing
 * characters. A shorter line is returned unchanged. `missing`: characters of the line beyond the given text, for
 * callers that have only its beginning.
 */
export function clampLine(line: string, maxChars: number, missing = 0): ClampedLine {
  if (line.length <= maxChars && missing === 0) return { text: line, clamped: false };
  const last = line.charCodeAt(maxChars - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars;
  const shown = line.slice(0, end);
  return { text: `${shown}… [+${line.length + missing - shown.length} characters]`, clamped: true };
}
