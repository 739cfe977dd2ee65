import { asTyped } from '../fold.ts';
import type { Span } from '../lines.ts';

/** A line of the file without its ending. */
export interface FileLine extends Span {
  readonly text: string;
}

/** Lines of the file that are similar to the anchor's, from the first to the last non-blank line. */
export interface Block {
  readonly lines: readonly FileLine[];
}

/** Maximum places that match only the beginning of the anchor. Only contrived texts have more. */
const MAX_FALSE_STARTS = 20_000;
const MAX_BLOCKS = 11;
/** Maximum blank lines between two lines of a block. */
const MAX_BLANKS = 3;

/**
 * Finds the places whose lines equal the anchor's, ignoring white space, blank lines and quote styles. This is looser
 * than any tier: an edit may use a place only if it is the only one found here.
 */
export function blocksLike(text: string, anchor: readonly string[]): readonly Block[] {
  const wanted = anchor.filter((line) => line.trim() !== '').map(bare);
  const probe = probeOf(anchor);
  if (probe === undefined) return [];
  const blocks: Block[] = [];
  let from = 0;
  for (let tries = 0; tries < MAX_FALSE_STARTS && blocks.length < MAX_BLOCKS; tries += 1) {
    const at = text.indexOf(probe.word, from);
    if (at === -1) break;
    const line = lineAround(text, at);
    from = Math.max(line.end, at + 1);
    if (bare(line.text) !== wanted[probe.index]) continue;
    const block = grown(text, line, { wanted, index: probe.index });
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

/** The longest word of the anchor, for the native search, and the index of its line among the non-blank lines. */
function probeOf(anchor: readonly string[]): { readonly word: string; readonly index: number } | undefined {
  let best: { word: string; index: number } | undefined;
  for (const [index, line] of anchor.filter((each) => each.trim() !== '').entries()) {
    for (const word of line.match(/[\p{L}\p{N}_]+/gu) ?? [])
      if (word.length > (best?.word.length ?? 0)) best = { word, index };
  }
  return best;
}

function grown(
  text: string,
  line: FileLine,
  { wanted, index }: { readonly wanted: readonly string[]; readonly index: number },
): Block | undefined {
  const lines: FileLine[] = [line];
  for (let i = index - 1; i >= 0; i -= 1)
    if (!extend(text, lines, { want: wanted[i], up: true })) return undefined;
  for (let i = index + 1; i < wanted.length; i += 1)
    if (!extend(text, lines, { want: wanted[i], up: false })) return undefined;
  return { lines };
}

/** Extends the block by the next non-blank line, and the blank lines before it, if it matches the wanted line. */
function extend(
  text: string,
  lines: FileLine[],
  { want, up }: { readonly want: string | undefined; readonly up: boolean },
): boolean {
  for (let blanks = 0; blanks <= MAX_BLANKS; blanks += 1) {
    const next = up ? lineBefore(text, lines[0]) : lineAfter(text, lines.at(-1));
    if (next === undefined) return false;
    if (up) lines.unshift(next);
    else lines.push(next);
    if (next.text.trim() !== '') return bare(next.text) === want;
  }
  return false;
}

/** A line without white space and with plain quotes. */
function bare(line: string): string {
  return asTyped(line).replace(/\s+/g, '');
}

function lineAround(text: string, at: number): FileLine {
  const start = at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
  const newline = text.indexOf('\n', at);
  const stop = newline === -1 ? text.length : newline;
  const end = stop > start && text[stop - 1] === '\r' ? stop - 1 : stop;
  return { start, end, text: text.slice(start, end) };
}

export function lineBefore(text: string, line: FileLine | undefined): FileLine | undefined {
  return line === undefined || line.start === 0 ? undefined : lineAround(text, line.start - 1);
}

export function lineAfter(text: string, line: FileLine | undefined): FileLine | undefined {
  if (line === undefined) return undefined;
  const newline = text.indexOf('\n', line.end);
  return newline === -1 || newline + 1 >= text.length ? undefined : lineAround(text, newline + 1);
}
