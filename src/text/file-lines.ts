import { decodeText, hasNul, hasUtf16Mark } from './decode.ts';
import { countLines, lineCount } from './lines.ts';

/**
 * The number of lines in a file. UTF-16 has newline bytes inside other characters, so its lines are
 * counted in the decoded text.
 */
export function countFileLines(bytes: Uint8Array): number {
  const decoded = hasUtf16Mark(bytes) || hasNul(bytes) ? decodeText(bytes) : undefined;
  return decoded === undefined ? countLines(bytes) : lineCount(decoded.text);
}
