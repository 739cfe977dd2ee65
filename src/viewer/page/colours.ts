import { type Signal, signal } from '@preact/signals';
import type { DiffRow } from '../../records/view/view-data.ts';
import type { Token } from './highlight.ts';

type Tokenize = typeof import('./highlight.ts')['tokenize'];

/** The highlighter, once it is loaded. Most of the page works without it. */
const highlighter: Signal<{ readonly tokenize: Tokenize } | 'asked' | undefined> = signal(undefined);

/** Longer texts are not coloured, so that a click is never slow. */
const MAX_CHARS = 200_000;

/**
 * The syntax of each line of a diff. Empty until the highlighter is loaded, and for languages that
 * it does not know. Old and new lines are read as two texts, so that a comment that begins above a
 * hunk's line is known in it.
 */
export function colouring(
  path: string,
  groups: readonly (readonly DiffRow[])[],
): ReadonlyMap<DiffRow, readonly Token[]> {
  const found = new Map<DiffRow, readonly Token[]>();
  const loaded = highlighter.value;
  if (loaded === undefined) void load();
  if (loaded === undefined || loaded === 'asked') return found;
  for (const rows of groups)
    for (const sign of ['-', '+']) {
      const side = rows.filter((row) => row.sign === ' ' || row.sign === sign);
      const lines = linesOf(loaded.tokenize, path, side.map(({ text }) => text).join('\n'));
      for (const [i, row] of side.entries()) found.set(row, lines[i] ?? [{ text: row.text }]);
    }
  return found;
}

/** The syntax of each line of a text; empty if the language is not known. */
function linesOf(tokenize: Tokenize, path: string, text: string): readonly (readonly Token[])[] {
  const tokens = text.length > MAX_CHARS ? undefined : tokenize(text, path);
  const lines: Token[][] = [[]];
  for (const { text: token, type } of tokens ?? [])
    for (const [i, part] of token.split('\n').entries()) {
      if (i > 0) lines.push([]);
      if (part !== '') lines.at(-1)?.push({ text: part, type });
    }
  return tokens === undefined ? [] : lines;
}

async function load(): Promise<void> {
  highlighter.value = 'asked';
  // If the highlighter cannot be loaded, the page stays without colours.
  const loaded = await import('./highlight.ts').catch(() => undefined);
  if (loaded !== undefined) highlighter.value = { tokenize: loaded.tokenize };
}
