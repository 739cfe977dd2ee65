import { hash } from 'node:crypto';
import type { ShownText } from './history-sighting.ts';

/** The hash of a text that begins at a line. Only the hash is kept, so memory does not grow with what was shown. */
export function shownText(text: string, lines: { readonly from: number; readonly to: number }): ShownText {
  return { from: lines.from, to: lines.to, sha256: hash('sha256', text), size: Buffer.byteLength(text) };
}
