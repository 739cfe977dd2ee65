import { splitLines } from '../../src/text/lines.ts';

/**
 * A model's knowledge of one file, computed character by character, independently of the code under
 * test. `sure`: the present lines that the model certainly knows. `told`: all lines, as number and
 * text, that the model was ever shown or has written.
 */
export class KnownLines {
  #lines: readonly string[];
  #sure: readonly boolean[];
  readonly #told = new Set<string>();

  constructor(text: string) {
    this.#lines = splitLines(text);
    this.#sure = this.#lines.map(() => false);
  }

  get text(): string {
    return this.#lines.join('');
  }

  /** The present lines that the model certainly knows, as `NUMBER TEXT`. */
  get sure(): readonly string[] {
    return this.#lines.map(named).filter((_, at) => this.#sure[at] === true);
  }

  get told(): readonly string[] {
    return this.#lines.map(named).filter((line) => this.#told.has(line));
  }

  /** The model is shown `count` lines, beginning with line `from` (counted from 0). */
  show(from: number, count: number): void {
    const isShown = (at: number): boolean => at >= from && at < from + count;
    this.#sure = this.#sure.map((sure, at) => sure || isShown(at));
    for (const line of this.#lines.map(named).filter((_, at) => isShown(at))) this.#told.add(line);
  }

  /** Another program changes the file. */
  become(text: string): void {
    this.#lines = splitLines(text);
    this.#sure = this.#lines.map(() => false);
  }

  /** The model replaces the text at some places. */
  replace(replacement: Replacement): void {
    const wasTold = this.#lines.map((line, at) => this.#told.has(named(line, at)));
    const wasSure = this.#sure;
    const made = rewritten(this.#lines, replacement);
    this.#lines = made.map(({ line }) => line);
    this.#sure = grouped(made).map((group) => group.every((at) => wasSure[at] === true));
    for (const [at, { line, holds }] of made.entries())
      if ([...holds].every((old) => wasTold[old] === true)) this.#told.add(named(line, at));
  }
}

export interface Replacement {
  readonly places: readonly number[];
  readonly length: number;
  readonly put: string;
}

/** A line of the new text, with the old lines that it comes from. */
interface MadeLine {
  line: string;
  /** The old lines from which the characters of the new line come. */
  readonly holds: Set<number>;
  /** The lines in `holds`, and the old lines that the new line replaces in whole or in part. */
  readonly concerns: Set<number>;
}

function rewritten(old: readonly string[], { places, length, put }: Replacement): readonly MadeLine[] {
  const made: MadeLine[] = [];
  let last: MadeLine | undefined;
  const open = (): MadeLine => {
    if (last !== undefined && !last.line.endsWith('\n')) return last;
    last = { line: '', holds: new Set(), concerns: new Set() };
    made.push(last);
    return last;
  };
  const owners = old.flatMap((line, at) => Array.from({ length: line.length }, () => at));
  const text = old.join('');
  for (let at = 0; at < text.length; ) {
    const owner = owners[at] ?? 0;
    if (!places.includes(at)) {
      const line = open();
      line.line += text.charAt(at);
      line.holds.add(owner);
      line.concerns.add(owner);
      at += 1;
      continue;
    }
    const replaced = new Set(owners.slice(at, at + length));
    at += length;
    // Removing whole lines leaves the next line unchanged, so the removal concerns no new line.
    const isStart = last === undefined || last.line.endsWith('\n');
    if (put === '' && isStart && owners[at] !== owners[at - 1]) continue;
    for (const piece of put === '' ? [''] : splitLines(put)) {
      const line = open();
      line.line += piece;
      for (const one of replaced) line.concerns.add(one);
    }
  }
  return made.filter(({ line }) => line !== '');
}

/**
 * For each new line, the old lines that it comes from. New lines that share an old line form a
 * group, and each gets the old lines of the whole group.
 */
function grouped(made: readonly MadeLine[]): readonly (readonly number[])[] {
  return made.map(({ concerns }) => {
    const group = new Set(concerns);
    for (let size = 0; size < group.size; ) {
      size = group.size;
      for (const other of made)
        if ([...other.concerns].some((line) => group.has(line)))
          for (const line of other.concerns) group.add(line);
    }
    return [...group];
  });
}

/** A line as `NUMBER TEXT`. `at` counts lines from 0, NUMBER from 1. */
export function named(line: string, at: number): string {
  return `${at + 1} ${line.replace(/\r?\n?$/, '')}`;
}
