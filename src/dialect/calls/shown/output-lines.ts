import { type LineRange, mergeRanges } from '../../../model/coverage.ts';
import { diffRows } from '../../../text/diff-rows.ts';

/** At most this many lines of an output or file are compared; further ones are ignored. */
const MAX_LINES = 200_000;
/** Matches a numbered line: `12<TAB>text` of `cat -n`, `12:text` and `12-text` of `grep -n`, or `12→text`. */
const NUMBERED = /^ {0,12}(\d{1,9})(\t|→|:|-)/;

/**
 * Finds the lines of a file in the output of a command, in linear time. A match is a run of output
 * lines that equal lines of the file, with or without numbers. Without numbers, a line that the
 * file repeats counts only as part of a run that contains a unique line or pair of lines.
 */
export function linesShownIn(output: string, fileLines: readonly string[]): readonly LineRange[] {
  const file = fileLines.slice(0, MAX_LINES);
  const printed = output
    .split('\n', MAX_LINES)
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  // A final newline does not begin another line.
  if (printed.at(-1) === '') printed.pop();
  return mergeRanges([...runsOf(printed, file), ...numberedRuns(printed, file)]);
}

/**
 * The lines of the file that the output shows without numbers. Searches the output for lines, then
 * for pairs of lines, that occur once in the file, and extends each match. If there is none,
 * searches for the whole file.
 */
function runsOf(printed: readonly string[], file: readonly string[]): readonly LineRange[] {
  const runs: LineRange[] = [];
  const covered = new Uint8Array(printed.length);
  for (const length of [1, 2]) {
    const places = uniquePlaces(file, length);
    for (let at = 0; at + length <= printed.length; at += 1) {
      if (covered[at] === 1) continue;
      const place = places.get(keyAt(printed, at, length));
      if (place === undefined || (length === 1 && printed[at]?.trim() === '')) continue;
      const run = widened(printed, file, { at, place, length });
      covered.fill(1, run.start, run.end);
      runs.push({ from: run.from, to: run.from + run.end - run.start - 1 });
    }
  }
  return runs.length === 0 ? wholeFile(printed, file) : runs;
}

interface Match {
  readonly at: number;
  readonly place: number;
  readonly length: number;
}

/**
 * Extends a match to the equal lines before and after it. Returns its start and end in the output,
 * and its first line in the file.
 */
function widened(
  printed: readonly string[],
  file: readonly string[],
  { at, place, length }: Match,
): { readonly start: number; readonly end: number; readonly from: number } {
  let before = 0;
  while (before < at && before < place && printed[at - before - 1] === file[place - before - 1]) before += 1;
  let after = length;
  while (
    at + after < printed.length &&
    place + after < file.length &&
    printed[at + after] === file[place + after]
  )
    after += 1;
  return { start: at - before, end: at + after, from: place - before + 1 };
}

/** The positions of all runs of `length` lines that occur only once in the file. */
function uniquePlaces(file: readonly string[], length: number): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  for (let at = 0; at + length <= file.length; at += 1) {
    const key = keyAt(file, at, length);
    if (places.has(key)) repeated.add(key);
    else places.set(key, at);
  }
  for (const key of repeated) places.delete(key);
  return places;
}

function keyAt(lines: readonly string[], at: number, length: number): string {
  return length === 1 ? (lines[at] ?? '') : lines.slice(at, at + length).join('\n');
}

/**
 * The whole file as one range, if the output contains all of it; otherwise nothing. Meant for files
 * without a unique line or pair of lines, such as ten equal lines.
 */
function wholeFile(printed: readonly string[], file: readonly string[]): readonly LineRange[] {
  if (file.length === 0 || file.every((line) => line.trim() === '')) return [];
  let matched = 0;
  for (const line of printed) {
    // After a mismatch, a new match may begin at this line. Overlapping matches can be missed; the only consequence
    // is that the file does not count as seen.
    matched = line === file[matched] ? matched + 1 : line === file[0] ? 1 : 0;
    if (matched === file.length) return [{ from: 1, to: file.length }];
  }
  return [];
}

/** The lines of the file that the output shows with their numbers. */
function numberedRuns(printed: readonly string[], file: readonly string[]): readonly LineRange[] {
  const once = uniquePlaces(file, 1);
  const runs: LineRange[] = [];
  let run: { from: number; to: number; isSure: boolean } | undefined;
  const close = (): void => {
    if (run?.isSure === true) runs.push({ from: run.from, to: run.to });
    run = undefined;
  };
  for (const line of printed) {
    const number = numberOf(line, file);
    if (number === undefined) {
      close();
      continue;
    }
    const text = file[number - 1] ?? '';
    const isOwn = once.has(text) && text.trim() !== '';
    if (run !== undefined && number === run.to + 1) run = { from: run.from, to: number, isSure: true };
    else {
      close();
      run = { from: number, to: number, isSure: isOwn };
    }
  }
  close();
  return runs;
}

function numberOf(line: string, file: readonly string[]): number | undefined {
  const match = NUMBERED.exec(line);
  const number = Number(match?.[1] ?? 0);
  if (match === null || number < 1 || number > file.length) return undefined;
  const rest = line.slice(match[0].length);
  const text = file[number - 1];
  // opencode and other hosts put a space after the colon.
  return rest === text || (match[2] === ':' && rest === ` ${text}`) ? number : undefined;
}

/** Maximum number of files per answer; further ones are ignored. */
const MAX_FILES = 200;

/** Matches a line of a search result: `path:12:text` for a match, `path-12-text` for a context line. */
const HIT = /^(.+?)([:-])(\d{1,9})\2(.*)$/;
/** Matches the heading above the lines of a file: `File: path` of Gemini CLI, `path:` of opencode. */
const HEADING = /^(?:File: (.+)|(\S.*):)$/;
/** Matches a numbered line below the heading of a file: `L12: text` of Gemini CLI, `Line 12: text` of opencode. */
const LINE = /^ *(?:L|Line )(\d{1,9}): (.*)$/;

/** Texts by file, in order. Several texts of one file are joined by newlines. */
function byFile(texts: Iterable<readonly [path: string, text: string]>): ReadonlyMap<string, string> {
  const files = new Map<string, string[]>();
  for (const [path, text] of texts) {
    const known = files.get(path);
    if (known !== undefined) known.push(text);
    else if (files.size < MAX_FILES) files.set(path, [text]);
  }
  return new Map([...files].map(([path, lines]) => [path, lines.join('\n')]));
}

/**
 * The lines that a search result shows, by file, each as `12:text`. The format is guessed, so
 * callers compare every line with the file. If the searched path (`searched`) is a single file, the
 * result may omit the path before the numbers.
 */
export function searchedLines(output: string, searched: string | undefined): ReadonlyMap<string, string> {
  return byFile(numberedHits(output, searched));
}

function* numberedHits(output: string, searched: string | undefined): Generator<[string, string]> {
  let heading: string | undefined;
  for (const line of output.split('\n')) {
    const numbered = LINE.exec(line);
    if (numbered !== null && heading !== undefined) {
      yield [heading, `${numbered[1]}:${numbered[2]}`];
      continue;
    }
    const title = HEADING.exec(line);
    if (title !== null) heading = title[1] ?? title[2];
    const hit = HIT.exec(line);
    if (hit !== null) yield [hit[1] ?? '', `${hit[3]}:${hit[4]}`];
    if (searched !== undefined && /^\d/.test(line)) yield [searched, line];
  }
}

/** Matches `path:text`, the form in which `grep -r` and `rg` print a match without its line number. */
const UNNUMBERED_HIT = /^([^:]+):(.*)$/;

/**
 * The lines that a search program's output shows, by file. Each line of the output has the form
 * `path:12:text`, `path-12-text` or `path:text`; the path is removed. Callers compare every line
 * with the file.
 */
export function foundLines(output: string): ReadonlyMap<string, string> {
  const plain = output.split('\n', MAX_LINES).flatMap((line): [string, string][] => {
    const [, path, text = ''] = HIT.test(line) ? [] : (UNNUMBERED_HIT.exec(line) ?? []);
    return path === undefined ? [] : [[path, text]];
  });
  return byFile([...numberedHits(output, undefined), ...plain]);
}

/** Matches the line at which a unified diff names the next file, as in the output of `git diff`. */
const DIFF_FILE = /^\+\+\+ (?:b\/)?/m;

/**
 * The unchanged and added lines that unified diffs show, by file, each as `12:text` with its number
 * in the new file. Callers compare the lines with the files.
 */
export function diffedLines(output: string): ReadonlyMap<string, string> {
  const parts = output.split(DIFF_FILE).slice(1, MAX_FILES + 1);
  return byFile(
    parts.map((part) => {
      const [title = '', ...rows] = part.split('\n', MAX_LINES);
      // Remove the tab that Git adds after a name with spaces.
      const lines = [...diffRows(rows, '+')].map(({ number, text }) => `${number}:${text}`);
      return [title.replace(/\t.*$/, ''), lines.join('\n')];
    }),
  );
}

/**
 * Matches a heading with the name of a file: `==> path <==` of `head`, or what loops in scripts print: `== path`,
 * `--- path ---`, `# path`, `path:`.
 */
const TITLE = /^(?:[=#>*-]+ *(\S.*?) *[=#<*:-]*|(\S.*):)$/;
const MAX_TITLES = 50;
const MAX_TITLE_CHARS = 300;

/** Possible names of files in the headings of an output. Most of them belong to no file. */
export function titlesIn(output: string): ReadonlySet<string> {
  const titles = new Set<string>();
  for (const line of output.split('\n', MAX_LINES)) {
    if (titles.size === MAX_TITLES) break;
    const [, marked, plain] = line.length > MAX_TITLE_CHARS ? [] : (TITLE.exec(line) ?? []);
    const name = marked ?? plain;
    if (name !== undefined) titles.add(name);
  }
  return titles;
}
