import { expect, it } from 'vitest';
import { invalidArgument } from '../model/verdict.ts';
import { inTermsOf } from './tool-names.ts';

it('renames arguments in a reason, and leaves words that name no argument', () => {
  const reason = 'limit is too large; unclosed group in constructor( and __proto__';
  const { detail } = inTermsOf({ limit: 'head' }, invalidArgument('search', '.', reason));
  expect(detail?.reason).toBe('head is too large; unclosed group in constructor( and __proto__');
});
