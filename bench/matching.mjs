// Counts how many small mistakes of a model an edit survives, and how often it changes the wrong place. Compares our
// engine with small re-implementations of published rules of other tools, which contain none of their code.
//   node bench/matching.mjs
import { fileURLToPath } from 'node:url';
import { applyEdits } from '../build/text/splice.js';
import { corpus, score } from '../test/matching/corpus.mjs';

const ENGINES = {
  Lookfirst: (text, oldString, newString) => {
    const applied = applyEdits(text, [{ oldString, newString }]);
    return applied.ok ? applied.text : undefined;
  },
  /** Finds the exact text. Refuses the edit if the text does not occur exactly once. */
  'exact and unique': (text, oldString, newString) =>
    text.split(oldString).length === 2 ? text.replace(oldString, () => newString) : undefined,
  /**
   * Finds the exact text, else lines that are equal when trimmed. Edits the first of several
   * matches.
   */
  'first match of trimmed lines': (text, oldString, newString) => {
    if (text.includes(oldString)) return text.replace(oldString, () => newString);
    return byLines(text, oldString, newString, (line) => line.trim());
  },
  /** Finds lines that are equal without any whitespace. Edits the first of several matches. */
  'whitespace-insensitive': (text, oldString, newString) =>
    byLines(text, oldString, newString, (line) => line.replace(/\s+/g, '')),
  /**
   * Finds the exact text, else a block of at least three lines whose first and last lines are equal
   * to those of the old text when trimmed. Edits the first of several matches.
   */
  'block anchors': (text, oldString, newString) => {
    if (text.includes(oldString)) return text.replace(oldString, () => newString);
    const wanted = oldString.split('\n').map((line) => line.trim());
    const lines = text.split('\n');
    if (wanted.length < 3) return undefined;
    const from = lines.findIndex((line) => line.trim() === wanted[0]);
    const to = lines.findIndex((line, index) => index > from + 1 && line.trim() === wanted.at(-1));
    if (from === -1 || to === -1) return undefined;
    return [...lines.slice(0, from), newString, ...lines.slice(to + 1)].join('\n');
  },
};

function byLines(text, oldString, newString, key) {
  const wanted = oldString.split('\n').map(key);
  const lines = text.split('\n');
  for (let from = 0; from + wanted.length <= lines.length; from += 1) {
    if (!wanted.every((line, index) => key(lines[from + index]) === line)) continue;
    return [...lines.slice(0, from), newString, ...lines.slice(from + wanted.length)].join('\n');
  }
  return undefined;
}

/**
 * One row per engine: the number of edits with a mistake, by their result. `right`: as intended.
 * `damaged`: at the right place, but with other spacing, quotes or escapes. `refused`: not made.
 * `wrong`: anything else. `wrong` also counts edits that were made although every engine should
 * refuse them.
 */
export function measure() {
  const { kinds, refusals } = corpus();
  return Object.entries(ENGINES).map(([engine, apply]) => {
    const mistakes = score(apply, kinds);
    const never = score(apply, refusals);
    const sum = (rows, field) => rows.reduce((total, row) => total + row[field], 0);
    const total = mistakes.reduce((all, row) => all + row.right + row.damaged + row.refused + row.wrong, 0);
    return {
      engine,
      total,
      right: sum(mistakes, 'right'),
      damaged: sum(mistakes, 'damaged'),
      refused: sum(mistakes, 'refused'),
      wrong: sum(mistakes, 'wrong') + sum(never, 'wrong'),
      mistakes,
    };
  });
}

export function rows() {
  const measured = measure();
  const [ours] = measured;
  const percent = (part) => Number(((100 * part) / ours.total).toFixed(1));
  return [
    { name: 'edits with a small mistake that land right, %', value: percent(ours.right), bar: '>= 83' },
    { name: 'edits with a small mistake that do damage, %', value: percent(ours.damaged), bar: '<= 2' },
    { name: 'edits that land in a wrong place', value: ours.wrong, bar: '<= 0' },
    ...measured.slice(1).map(({ engine, right, wrong }) => ({
      name: `the same, rule "${engine}": ${percent(right)} % right, wrong:`,
      value: wrong,
    })),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { mistakes, ...row } of measure()) {
    process.stdout.write(`${JSON.stringify(row)}\n`);
    if (row.engine === 'Lookfirst')
      for (const kind of mistakes) process.stdout.write(`  ${JSON.stringify(kind)}\n`);
  }
}
