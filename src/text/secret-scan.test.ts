import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rounds } from '../../test/support/rounds.ts';
import { mayHoldEncodedLine, mayHoldSecret, PHRASES } from './secret-scan.ts';
import { secretSpans, TOKENS } from './secrets.ts';

/** Makes a text so long that `secretSpans` uses the prefilter. */
const LONG = '// nothing of interest\n'.repeat(200);

/** A pattern without its assertions and with bounded repetitions, which fast-check can generate texts for. */
function generable(source: string): RegExp {
  const plain = source.replaceAll(/\(\?[=!](?:[^()[\]]|\[(?:[^\]\\]|\\.)*\])*\)/g, '').replaceAll('\\b', '');
  const bounded = plain
    .replaceAll(/\{(\d+),\}/g, (_, least) => `{${least},${Number(least) + 500}}`)
    .replaceAll(/(?<=\])\*/g, '{0,500}');
  return new RegExp(`^${bounded}$`);
}

/** Gives each letter upper or lower case according to `bits`, for patterns that ignore case. */
const anyCase = (text: string, bits: readonly boolean[]): string =>
  [...text].map((char, at) => (bits[at % bits.length] ? char.toUpperCase() : char.toLowerCase())).join('');

const patterns: readonly RegExp[] = [
  ...TOKENS.map((source) => new RegExp(source)),
  ...PHRASES.map(({ pattern }) => pattern),
];

it.each(patterns.map((pattern) => [pattern.source.slice(0, 40), pattern] as const))(
  'the prefilter finds every text that the pattern %s finds',
  (_name, pattern) => {
    const matches = fc
      .tuple(fc.stringMatching(generable(pattern.source)), fc.array(fc.boolean(), { minLength: 5 }))
      .map(([text, bits]) => (pattern.flags.includes('i') ? anyCase(text, bits) : text))
      // Append an `@`, because the pattern for addresses matches only before one.
      .map((text) => `${text}@`)
      .filter((text) => new RegExp(`^${pattern.source}`, pattern.flags.replace('g', '')).test(text));
    fc.assert(
      fc.property(matches, fc.nat(7), (text, offset) => {
        expect(secretSpans(text, { secretFile: false }).length).toBeGreaterThan(0);
        const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).subarray(offset);
        expect(mayHoldSecret(bytes)).toBe(true);
        expect(secretSpans(`${LONG}${text}`, { secretFile: false }).length).toBeGreaterThan(0);
      }),
      { numRuns: rounds(50, 1000) },
    );
  },
);

it.each([
  ['secretaccesskey', ': '],
  ['SECRETACCESSKEY', '='],
  ['secretAccesskey', '='],
  ['Secret_Access_Key', ' = '],
  ['aws_secret_access_key', `${' '.repeat(700)}= `],
])('a key of AWS after %s is found', (name, sign) => {
  const text = `${name}${sign}${'aB3/'.repeat(10)}`;
  expect(secretSpans(text, { secretFile: false })).toHaveLength(1);
  expect(mayHoldSecret(Buffer.from(text))).toBe(true);
});

it('a password of a thousand characters in an address is found', () => {
  const text = `https://aws:${'aB3_.'.repeat(200)}@example.org/`;
  expect(secretSpans(text, { secretFile: false })).toHaveLength(1);
  expect(mayHoldSecret(Buffer.from(text))).toBe(true);
});

it.each([
  ['a line of a key', `a\n${'aB3/'.repeat(16)}\nb`, true],
  ['an indented line without an ending', `a\n \t${'aB3/'.repeat(10)}`, true],
  ['a line with an end of padding', `${'aB3+'.repeat(10)}==\r\n`, true],
  ['a shorter line', `a\n${'aB3/'.repeat(9)}aB3\nb`, false],
  ['words', `${'some words of text\n\n'.repeat(20)}`, false],
  ['nothing', '', false],
])('mayHoldEncodedLine knows %s', (_what, text, expected) => {
  expect(mayHoldEncodedLine(Buffer.from(text))).toBe(expected);
});
