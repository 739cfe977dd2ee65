import { describe, expect, it } from 'vitest';
import { EXACT, foldPath, platformFolding } from './lexical.ts';

const COMPOSED = 'caf\u00e9';
const DECOMPOSED = 'cafe\u0301';

describe('foldPath gives one key', () => {
  it.each<[string, string, string, boolean]>([
    ['linux', 'README', 'readme', false],
    ['linux', COMPOSED, DECOMPOSED, false],
    ['win32', 'README', 'readme', true],
    ['win32', COMPOSED, DECOMPOSED, false],
    ['darwin', 'README', 'ReadMe', true],
    ['darwin', COMPOSED, DECOMPOSED, true],
    ['darwin', `${COMPOSED}/A`, `${DECOMPOSED.toUpperCase()}/a`, true],
    // These names are different files on every file system, although some case foldings would
    // equate them.
    ['darwin', 'stra\u00dfe', 'strasse', false],
    ['win32', '\u0131', 'i', false],
    ['darwin', '\ufb01le', 'file', false],
    ['darwin', 'a', 'b', false],
  ])('on %s to %j and %j: %s', (platform, one, other, same) => {
    const folding = platformFolding(platform);
    expect(foldPath(one, folding) === foldPath(other, folding)).toBe(same);
  });

  it('and does not change a path on a file system that compares bytes', () => {
    expect(foldPath('/A/É', EXACT)).toBe('/A/É');
  });
});
