import { type Block, type FileLine, lineAfter, lineBefore } from './block.ts';

/** The anchor's lines aligned with the file's lines. */
export interface Paired {
  readonly anchor: readonly string[];
  readonly file: readonly FileLine[];
  /** For each anchor line, the index of the file's line; undefined for a blank line that the file lacks. */
  readonly at: readonly (number | undefined)[];
  /** Number of inner blank lines that only one side has. */
  readonly blankDifference: number;
  /** Number of blank lines at the ends of the anchor that the file lacks. */
  readonly edgeBlanks: number;
}

/** Aligns the lines of an anchor with those of the similar block; undefined if they do not correspond. */
export function pairUp(text: string, anchor: readonly string[], block: Block): Paired | undefined {
  const filled = anchor.flatMap((line, index) => (line.trim() === '' ? [] : [index]));
  const firstFilled = filled[0];
  const lastFilled = filled.at(-1);
  if (firstFilled === undefined || lastFilled === undefined) return undefined;
  const { file, lead } = withEdges(text, block, { lead: firstFilled, trail: anchor.length - 1 - lastFilled });
  const at: (number | undefined)[] = anchor.map(() => undefined);
  let difference = 0;
  let position = lead - 1;
  let previous: number | undefined;
  for (const index of filled) {
    const next = nextFilled(file, position + 1);
    if (next === undefined) return undefined;
    const blanks = previous === undefined ? 0 : index - previous - 1;
    const there = previous === undefined ? 0 : next - position - 1;
    if (previous !== undefined) {
      for (let i = 0; i < Math.min(blanks, there); i += 1) at[previous + 1 + i] = position + 1 + i;
      difference += Math.abs(blanks - there);
    }
    at[index] = next;
    position = next;
    previous = index;
  }
  const edges = edgePairs(at, { lead, firstFilled, lastFilled, file, position });
  return { anchor, file, at, blankDifference: difference, edgeBlanks: edges };
}

/** Aligns blank lines at the ends of the anchor with the file's; returns how many the file lacks. */
function edgePairs(
  at: (number | undefined)[],
  ends: {
    lead: number;
    firstFilled: number;
    lastFilled: number;
    file: readonly FileLine[];
    position: number;
  },
): number {
  let missing = 0;
  for (let i = 0; i < ends.firstFilled; i += 1) {
    const index = ends.lead - (ends.firstFilled - i);
    if (index >= 0) at[i] = index;
    else missing += 1;
  }
  for (let i = ends.lastFilled + 1; i < at.length; i += 1) {
    const index = ends.position + (i - ends.lastFilled);
    if (index < ends.file.length) at[i] = index;
    else missing += 1;
  }
  return missing;
}

/** Extends the block by the file's blank lines around it, up to as many as the anchor has. */
function withEdges(
  text: string,
  block: Block,
  wanted: { readonly lead: number; readonly trail: number },
): { readonly file: readonly FileLine[]; readonly lead: number } {
  const file = [...block.lines];
  let lead = 0;
  for (; lead < wanted.lead; lead += 1) {
    const line = lineBefore(text, file[0]);
    if (line === undefined || line.text.trim() !== '') break;
    file.unshift(line);
  }
  for (let trail = 0; trail < wanted.trail; trail += 1) {
    const line = lineAfter(text, file.at(-1));
    if (line === undefined || line.text.trim() !== '') break;
    file.push(line);
  }
  return { file, lead };
}

function nextFilled(file: readonly FileLine[], from: number): number | undefined {
  for (let i = from; i < file.length; i += 1) if (file[i]?.text.trim() !== '') return i;
  return undefined;
}
