import type { Span } from '../lines.ts';
import type { FoundAnchor } from '../match.ts';
import { type Block, blocksLike } from './block.ts';
import { landEscaped } from './escapes.ts';
import type { Landing, Rivals, Texts } from './landing.ts';
import { landNumbered } from './line-numbers.ts';
import { landOnBlock } from './lines.ts';

/**
 * Finds the only place for an edit whose text does not match exactly, by ignoring one kind of small mistake. Tries in
 * order, each alone: copied line numbers, indentation, a blank line, spaces inside lines, escaping. It never takes the
 * first of several places and never measures similarity. Returns {@link Rivals} if more than one place is similar.
 */
export function landLoosely(text: string, texts: Texts): Landing | Rivals | undefined {
  const numbered = landNumbered(text, texts);
  if (numbered !== undefined) return numbered;
  const blocks = blocksLike(text, texts.oldString.split(/\r?\n/));
  if (blocks.length > 1) return { spans: blocks.map(spanOf) };
  const [block] = blocks;
  const landed = block === undefined ? undefined : landOnBlock(text, texts, block);
  return landed ?? landEscaped(text, texts);
}

/**
 * Places an edit on whole lines that match except for spaces at line ends. Kept lines retain the file's trailing
 * spaces; new lines do not get the model's. Undefined if the text begins or ends inside a line.
 */
export function landOnFound(
  text: string,
  texts: Texts,
  found: Pick<FoundAnchor, 'spans'>,
): Landing | undefined {
  const [span] = found.spans;
  const block = blocksLike(text, texts.oldString.split(/\r?\n/)).find(({ lines: [first] }) => {
    return first !== undefined && span !== undefined && first.start >= span.start && first.start < span.end;
  });
  const landed = block === undefined ? undefined : landOnBlock(text, texts, block);
  return landed?.tier === 'trailing-space' ? landed : undefined;
}

function spanOf({ lines }: Block): Span {
  return { start: lines[0]?.start ?? 0, end: lines.at(-1)?.end ?? 0 };
}
