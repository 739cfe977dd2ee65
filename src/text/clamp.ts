/** A line cut to a bound, with a mark that says so. */
export interface ClampedLine {
  readonly text: string;
  readonly clamped: boolean;
}

/** What {@link clampLine} leaves at the end of a line it cut. */
export const CLAMP_MARK: RegExp = /… \[\+\d+ characters\]$/;

/**
 * Cuts a line to `maxChars` characters (UTF-16 units, never half of a pair) and says at its end how many are missing.
 * A line that fits is returned as it is. `missing`: characters after those given, for who has no more than these.
 */
export function clampLine(line: string, maxChars: number, missing = 0): ClampedLine {
  if (line.length <= maxChars && missing === 0) return { text: line, clamped: false };
  const last = line.charCodeAt(maxChars - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars;
  const shown = line.slice(0, end);
  return { text: `${shown}… [+${line.length + missing - shown.length} characters]`, clamped: true };
}
