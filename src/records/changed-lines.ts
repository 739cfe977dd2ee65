import type { Entry } from '../model/entry.ts';
import { netEffects } from './net-effects.ts';
import type { Records } from './records.ts';

/** A change of more files, or of a larger file, is not counted: a list of entries must not read all of it. */
const MAX_FILES = 20;
const MAX_BYTES = 256 << 10;
const MAX_LINES = 20_000;

/** `+3 -1`: the lines that a change added and removed; empty if they cannot be counted. */
export async function changedLines(records: Records, entry: Entry): Promise<string> {
  const effects = entry.kind === 'change' && entry.action !== 'move' ? netEffects([entry]) : [];
  const sides = effects.flatMap(({ before, after }) => [before, after]);
  const isLarge = sides.some((side) => side.kind === 'file' && side.fingerprint.size > MAX_BYTES);
  if (effects.length === 0 || effects.length > MAX_FILES || isLarge) return '';
  let diff = '';
  for (const effect of effects) {
    const { text, truncated } = await records.diff(effect, { maxLines: MAX_LINES });
    if (truncated) return '';
    // The names of both sides come before the first hunk.
    diff += text.slice(text.indexOf('\n@@'));
  }
  const count = (lines: RegExp): number => diff.match(lines)?.length ?? 0;
  return `+${count(/^\+/gm)} -${count(/^-/gm)}`;
}
