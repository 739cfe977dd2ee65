import { type Coverage, covers, type LineRange, mergeRanges } from '../model/coverage.ts';
import type { Hunk } from './diff.ts';
import { splitLines, withoutEnding } from './lines.ts';

/** What a session typed to change a file. */
export interface TypedCommand {
  readonly command: string;
  /** True if the command shows that it edits files in place, for example with `sed -i`. */
  readonly editsInPlace: boolean;
}

/** The text of a file before and after a command, and the old lines that the session has seen. */
interface TypedChange {
  readonly before: string;
  readonly after: string;
  readonly hunks: readonly Hunk[];
  readonly seen: Coverage;
}

/** A shorter line that contains a letter or digit may stand in a command by chance. */
const MIN_TYPED = 3;

/**
 * The new lines whose text the session typed itself: the command contains it. Of a seen line that
 * the command edits in place, it need contain only the words that are new in the line.
 */
export function typedLines(
  { before, after, hunks, seen }: TypedChange,
  { command, editsInPlace }: TypedCommand,
): readonly LineRange[] {
  const [old = [], fresh = []] = [before, after].map((text) => splitLines(text).map(withoutEnding));
  const isTyped = (hunk: Hunk, at: number): boolean => {
    const isPaired = editsInPlace && hunk.beforeEnd - hunk.beforeStart === hunk.afterEnd - hunk.afterStart;
    const was = hunk.beforeStart + at - hunk.afterStart;
    const line = fresh[at] ?? '';
    if (isPaired && covers(seen, { from: was + 1, to: was + 1 }))
      return hasWords(command, newWords(old[was] ?? '', line));
    const text = line.trim();
    return (text.length >= MIN_TYPED || !/\w/.test(text)) && hasWords(command, text);
  };
  const ranges: LineRange[] = [];
  for (const hunk of hunks)
    for (let at = hunk.afterStart; at < hunk.afterEnd; at += 1)
      if (isTyped(hunk, at)) ranges.push({ from: at + 1, to: at + 1 });
  return mergeRanges(ranges);
}

/** True if a text contains these words, not as parts of longer words. */
function hasWords(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1)) {
    const isCut = joinsWord(text, at) || joinsWord(text, at + words.length);
    if (!isCut || words === '') return true;
  }
  return false;
}

/** True if a word of the text goes on across this offset. */
function joinsWord(text: string, at: number): boolean {
  return /^\w\w$/.test(text.slice(Math.max(at - 1, 0), at + 1));
}

/** The words of a line that differ from an earlier form of it. Empty if text was only taken out. */
function newWords(was: string, line: string): string {
  let start = 0;
  while (start < was.length && start < line.length && was[start] === line[start]) start += 1;
  let same = 0;
  const most = Math.min(was.length, line.length) - start;
  while (same < most && was.at(-1 - same) === line.at(-1 - same)) same += 1;
  let end = line.length - same;
  if (start === end) return '';
  while (start > 0 && joinsWord(line, start)) start -= 1;
  while (joinsWord(line, end)) end += 1;
  return line.slice(start, end);
}
