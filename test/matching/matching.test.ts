import { describe, expect, it } from 'vitest';
import { applyEdits } from '../../src/text/splice.ts';
import { corpus, type Row, score } from './corpus.mjs';

const { hunks, kinds, refusals } = corpus();

function engine(matching: 'exact' | 'safe') {
  return (text: string, oldString: string, newString: string): string | undefined => {
    const loosest = matching === 'safe' ? 'punctuation' : 'line-endings';
    const applied = applyEdits(text, [{ oldString, newString }], { matching, loosest });
    return applied.ok ? applied.text : undefined;
  };
}

function sum(rows: readonly Row[], field: 'right' | 'damaged' | 'refused' | 'wrong'): number {
  return rows.reduce((total, row) => total + row[field], 0);
}

describe('small mistakes in hunks of this project’s own history', () => {
  const rows = score(engine('safe'), kinds);
  const total = rows.reduce((all, row) => all + row.right + row.damaged + row.refused + row.wrong, 0);

  it('are numerous, and equally many of every kind', () => {
    expect(hunks).toBeGreaterThanOrEqual(100);
    expect(new Set(kinds.map(({ cases }) => cases.length)).size).toBe(1);
    expect(total).toBeGreaterThanOrEqual(500);
  });

  it('are corrected by safe matching: no edit wrong, most right, hardly any damaged', () => {
    process.stdout.write(`${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
    expect(rows.filter((row) => row.wrong > 0)).toEqual([]);
    expect(sum(rows, 'right') / total).toBeGreaterThanOrEqual(0.95);
    expect(sum(rows, 'damaged') / total).toBeLessThanOrEqual(0.01);
  });

  it('never lead to a wrong edit with exact matching', () => {
    expect(sum(score(engine('exact'), kinds), 'wrong')).toBe(0);
  });

  it('never lead to an edit of an ambiguous or missing text', () => {
    const made = score(engine('safe'), refusals).filter((row) => row.wrong > 0);
    expect(made).toEqual([]);
    expect(refusals.flatMap(({ cases }) => cases).length).toBeGreaterThanOrEqual(400);
  });
});
