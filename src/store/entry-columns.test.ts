import { describe, expect, it } from 'vitest';
import { readEntry } from '../../test/store/samples.ts';
import { CHAIN_START, canonicalJson, linkText } from './chain.ts';
import { checkedLinks, entryFrom, filterColumns } from './entry-columns.ts';
import type { ChainLink } from './store.ts';

/** The row of a read after `previous`, with these changes. */
function rowAfter(previous: ChainLink): ChainLink {
  const entry = readEntry({ session: 'nul \0', path: '\ud800' });
  const text = canonicalJson(entry);
  const [at_ms, kind, session, root, path, change] = filterColumns(entry);
  return { at_ms, kind, session, root, path, change, entry: text, ...linkText(previous, text) } as ChainLink;
}

describe('a row', () => {
  const first = rowAfter(CHAIN_START);
  const second = rowAfter(first);

  it('gives its entry back', () => {
    expect(entryFrom(first)).toMatchObject({ ...readEntry({ session: 'nul \0', path: '\ud800' }), seq: 1 });
  });

  it('continues the chain', () => {
    expect(checkedLinks([first, second], CHAIN_START)).toEqual({ seq: 2, hash: second.hash });
    expect(checkedLinks([], first)).toBe(first);
  });

  it.each([
    ['another column', { session: 'other' }],
    ['a column that is missing', { path: null }],
    ['a text stored as bytes', { kind: Buffer.from('read') }],
    ['another text', { entry: canonicalJson(readEntry({ atMs: 2 })) }],
    ['another hash', { hash: 'x' }],
  ])('with %s is altered', (_what, more) => {
    expect(checkedLinks([first, { ...second, ...more }], CHAIN_START)).toEqual({
      seq: 2,
      problem: 'altered',
    });
  });

  it('that another record knows by another hash is altered; after a gap, one is removed', () => {
    expect(checkedLinks([first], CHAIN_START, new Map([[1, 'x']]))).toEqual({ seq: 1, problem: 'altered' });
    expect(checkedLinks([second], CHAIN_START)).toEqual({ seq: 1, problem: 'removed' });
  });
});
