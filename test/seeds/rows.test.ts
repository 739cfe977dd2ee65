import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/**
 * The number of requirements in each of the five documents that the tests of this folder cover, by
 * the document's number.
 */
const ROWS: Readonly<Record<string, number>> = { '0': 16, '1': 25, '2': 18, '3': 9, '4': 19 };

/** Requirements without a test, with the reason. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  '2.13': 'delegate and task tools of the code base that the document is about: they belong to the host',
};

it('every requirement of the five documents has a test, or a stated reason for having none', () => {
  const folder = import.meta.dirname;
  const text = readdirSync(folder)
    .filter((name) => /^00\d/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  // Test titles begin with the number of a requirement (`DOCUMENT.REQUIREMENT`), or with two such
  // numbers.
  const titles = [...text.matchAll(/['`](\d\.\d+(?:, \d\.\d+)*) [A-Z\d]/g)];
  const tested = new Set(titles.flatMap(([, numbers = '']) => numbers.split(', ')));
  const rows = Object.entries(ROWS).flatMap(([document, count]) =>
    Array.from({ length: count }, (_, n) => `${document}.${n + 1}`),
  );
  expect(rows).toHaveLength(87);
  expect(rows.filter((row) => !tested.has(row))).toEqual(Object.keys(ELSEWHERE));
});
