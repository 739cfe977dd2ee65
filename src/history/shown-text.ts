import { hash } from 'node:crypto';
import type { ShownText } from './history-sighting.ts';

/** Hashes a text that begins at a line. Only the hash is kept, so memory does not grow with the shown text. */
export function shownText(text: string, lines: { readonly from: number; readonly to: number }): ShownText {
  return { from: lines.from, to: lines.to, sha256: hash('sha256', text), size: Buffer.byteLength(text) };
}
