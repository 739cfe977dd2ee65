import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { follows, readEntry } from '../../test/store/samples.ts';
import type { Entry, NewEntry } from '../model/entry.ts';
import { CHAIN_START, canonicalJson, linkText } from './chain.ts';

describe('canonicalJson', () => {
  it.each([
    [{ b: 1, a: [{ d: null, c: 'x' }], e: undefined }, '{"a":[{"c":"x","d":null}],"b":1}'],
    ['\ud800"', '"\\ud800\\""'],
    [undefined, 'null'],
    [-0, '0'],
  ])('writes %j as %s', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it('gives the same text again for its own parsed output', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 3 }), (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });
});

/** Entries with their numbers and hashes, the first of them after `CHAIN_START`. */
function chained(...entries: readonly NewEntry[]): Entry[] {
  let last = CHAIN_START;
  return entries.map((entry) => {
    last = linkText(last, canonicalJson(entry));
    return { ...entry, ...last };
  });
}

describe('the chain', () => {
  it('hashes the previous hash, the entry and its number', () => {
    // The expected hash is the output of: printf '%064d%s%d' 0 '{"atMs":1,"kind":"notice","root":"/r","session":"s"}' 1
    // | sha256sum
    const [first] = chained({ kind: 'notice', atMs: 1, session: 's', root: '/r' });
    expect(first?.hash).toBe('80ac9179147426edfe20a2970af51479b1f733223a520624787d568822a42872');
  });

  it('detects an entry that was altered, renumbered or moved', () => {
    const [first, second] = chained(readEntry(), readEntry({ atMs: 2 }));
    expect(follows(CHAIN_START, first!)).toBe(true);
    expect(follows(first!, second!)).toBe(true);
    expect(follows(first!, { ...second!, text: 'added' })).toBe(false);
    expect(follows(first!, { ...second!, seq: 3 })).toBe(false);
    expect(follows(CHAIN_START, second!)).toBe(false);
    expect(follows({ ...first!, hash: CHAIN_START.hash }, second!)).toBe(false);
  });
});
