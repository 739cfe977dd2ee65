import { type Signal, signal } from '@preact/signals';
import type { DiffRow } from '../../records/view/view-data.ts';

/** A part of a line, and the kind of syntax that it is. */
export interface Token {
  readonly text: string;
  readonly type?: string | undefined;
}

type Tokenize = typeof import('./highlight.ts')['tokenize'];

/** The highlighter, once it is loaded. Most of the page works without it. */
const highlighter: Signal<{ readonly tokenize: Tokenize } | undefined> = signal(undefined);
let isAsked = false;

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
  const tokenize = highlighter.value?.tokenize;
  if (tokenize === undefined) {
    loadOnce();
    return found;
  }
  for (const rows of groups)
    for (const sign of ['-', '+']) {
      const side = rows.filter((row) => row.sign === ' ' || row.sign === sign);
      for (const [i, tokens] of linesOf(
        tokenize,
        path,
        side.map(({ text }) => text),
      ).entries()) {
        const row = side[i];
        if (row !== undefined) found.set(row, tokens);
      }
    }
  return found;
}

/** The syntax of consecutive lines; empty if the language is not known. */
function linesOf(tokenize: Tokenize, path: string, lines: readonly string[]): readonly (readonly Token[])[] {
  const text = lines.join('\n');
  const tokens = text.length > MAX_CHARS ? undefined : tokenize(text, path);
  if (tokens === undefined) return [];
  const split: Token[][] = [[]];
  for (const { text: token, type } of tokens)
    for (const [i, part] of token.split('\n').entries()) {
      if (i > 0) split.push([]);
      if (part !== '') split.at(-1)?.push({ text: part, type });
    }
  return split;
}

function loadOnce(): void {
  if (isAsked) return;
  isAsked = true;
  import('./highlight.ts').then(
    ({ tokenize }) => {
      highlighter.value = { tokenize };
    },
    () => {
      isAsked = false;
    },
  );
}
