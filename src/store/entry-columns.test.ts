import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { NewEntry } from '../model/entry.ts';
import { CHAIN_START, canonicalJson, inCanonicalOrder } from './chain.ts';
import { entryTexts, entryValues } from './entry-columns.ts';

const REST = 7;
/** A field name that is not a number: JavaScript puts numeric names first, in the order of their values. */
const NAME = fc.stringMatching(/^[a-zA-Z"_ ].{0,8}$/);

it('gives the canonical JSON of an entry and of its column rest, as the chain and the columns do', () => {
  fc.assert(
    fc.property(
      fc.dictionary(NAME, fc.jsonValue()),
      fc.option(fc.string(), { nil: undefined }),
      (more, path) => {
        // The cast is safe: an entry of a later version may have fields that we do not know.
        const entry = {
          ...more,
          kind: 'read',
          atMs: 1,
          session: 's',
          root: '/r',
          path,
        } as unknown as NewEntry;
        const values = entryValues(inCanonicalOrder(entry), CHAIN_START);
        expect(entryTexts(entry)).toEqual({ whole: canonicalJson(entry), rest: values[REST] });
      },
    ),
  );
});
