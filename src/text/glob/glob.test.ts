import { createRequire } from 'node:module';
import picomatch from 'picomatch';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/rounds.ts';
import { globMatcher, globProblem, policyGlobMatcher } from './glob.ts';

/**
 * Selects every glob of a list in `npm run attack`, but only every fifth in `npm test`. Even so,
 * each piece of a glob is tried in each position.
 */
const isTried = (_: string, at: number): boolean => at % rounds(5, 1) === 0;

const NAMES = [
  ...['a.txt', 'b.txt', 'ab.txt', 'A.txt', '.hidden', 'a', 'b', '[br].txt', 'x(1).js', 'a{b}.ts', '!a.txt'],
  ...[
    '#a',
    'a b',
    'ü.txt',
    'a+b',
    'new\nline',
    'a\\b',
    '1.txt',
    '2.txt',
    '10.txt',
    'a,b',
    'a|b',
    ']',
    '^',
    '-',
  ],
  ...['sub', 'sub/b.txt', 'sub/deep', 'sub/deep/c.ts', 'sub/.x/y', 'dir.d/file', 'node_modules/m/index.js'],
];

describe('globMatcher', () => {
  it.each<[string, readonly string[]]>([
    ['[!a].txt', ['b.txt', 'A.txt', 'ü.txt', '1.txt', '2.txt']],
    ['[br].txt', ['b.txt']],
    ['\\[br\\].txt', ['[br].txt']],
    ['[]^-]', [']', '^', '-']],
    ['[[:digit:]]*.txt', ['1.txt', '2.txt', '10.txt']],
    ['**.ts', ['a{b}.ts']],
    ['**/*.ts', ['a{b}.ts', 'sub/deep/c.ts']],
    ['sub/**', ['sub/b.txt', 'sub/deep', 'sub/deep/c.ts', 'sub/.x/y']],
    ['sub//deep', ['sub/deep']],
    ['**/deep/**/c.ts', ['sub/deep/c.ts']],
    ['{1..2}.txt', ['1.txt', '2.txt']],
    ['{a,{b,1}}.t?t', ['a.txt', 'b.txt', '1.txt']],
    ['a{b}.ts', ['a{b}.ts']],
    ['+(a|b).txt', ['a.txt', 'b.txt', 'ab.txt']],
    ['@(a|b)?(.txt)', ['a.txt', 'b.txt', 'a', 'b']],
    ['sub/!(deep)', ['sub/b.txt']],
    ['x(1).js', ['x(1).js']],
    ['a|b', ['a|b']],
    ['a+b', ['a+b']],
    ['new*', ['new\nline']],
    ['', []],
    ['#a', []],
    ['!**', []],
    ['!{sub,node_modules}/**', NAMES.filter((name) => !/^(?:sub|node_modules)\//.test(name))],
  ])('matches %j', (glob, expected) => {
    expect(NAMES.filter(globMatcher(glob))).toEqual(expected);
  });

  it('matches like the library of the official server', () => {
    const official = createRequire(import.meta.url).resolve(
      '@modelcontextprotocol/server-filesystem/dist/lib.js',
    );
    const { minimatch } = createRequire(official)('minimatch') as {
      minimatch: (path: string, glob: string, options: { dot: true }) => boolean;
    };
    const pieces = ['*', '**', '?', 'a', '.txt', 'sub', '/', '/**', '**/', '[ab]', '[!a]', '{a,b}', '!'];
    const all = [...pieces, '{1..3}', '+(a|b)', '@(a|b)', '?(a)', '|', '{', '}', ']', '+', '#', ','];
    const globs = all.flatMap((one) => all.flatMap((two) => [one + two, `${one}${two}*`])).filter(isTried);
    const unlike = globs.filter((glob) => {
      const matches = globMatcher(glob);
      return NAMES.some((name) => matches(name) !== minimatch(name, glob, { dot: true }));
    });
    expect(unlike).toEqual([]);
  });

  it.each([
    '*a*a*a*a*a*a*a*a*b',
    '[ab]*a?*a*?b*c',
    '+(a|b)+(a|b)c',
    '**/**/*a/**/*b',
    `${'a*'.repeat(250)}b`,
  ])('is fast for %j', (glob) => {
    expect(globMatcher(glob)('a'.repeat(255))).toBe(false);
  });
});

describe('policyGlobMatcher', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['.env*', ['.env', '.ENV.local'], ['sub/.env']],
    ['**/*.PEM', ['a.pem', 'x/y/B.Pem'], ['a.pem.txt']],
    ['**.pem', ['a.pem', 'x/y/b.pem'], []],
    ['.git/**', ['.git', '.GIT/config', '.git/a/b'], ['x/.git', '.gitignore']],
    ['*/**', ['a/b', 'a/b/c'], ['a']],
    ['secret/', ['secret', 'SECRET/a/b'], ['x/secret', 'secrets']],
    ['**/secret/', ['secret', 'x/secret', 'x/secret/a'], ['x/secrets']],
    ['/secret/**', ['secret', 'secret/a'], ['x/secret/a']],
    ['./secret.txt', ['secret.txt'], ['x/secret.txt']],
    ['{a,/b}/', ['a', 'a/x', 'b/x'], ['c']],
    ['[!a]x', ['bx', 'BX'], ['ax', 'AX']],
    ['[a-c]x', ['bx', 'BX'], ['dx']],
    ['!(a)', ['b'], ['a', 'A']],
    ['x (1).txt', ['x (1).txt', 'X (1).TXT'], ['x 1.txt']],
  ])('matches %j', (glob, yes, no) => {
    const matches = policyGlobMatcher(glob);
    expect(yes.filter((path) => !matches(path))).toEqual([]);
    expect(no.filter((path) => matches(path))).toEqual([]);
  });

  it('protects what picomatch matches, ignoring case and including dot files', () => {
    // These pieces contain neither `+` nor `|`, which picomatch treats as regular expression
    // syntax. The filter below skips globs whose meaning in the policy differs on purpose, such as
    // those with a slash at the beginning or end.
    const pieces = [
      '*',
      '**',
      '?',
      'a',
      '.txt',
      'sub',
      '/**',
      '**/',
      '[ab]',
      '[!a]',
      '{a,b}',
      '.git',
      '.hid*',
    ];
    const names = [...NAMES, 'SUB/A', '.git/config', 'x/.GIT/hooks', 'SUB/B.TXT'];
    const globs = pieces
      .flatMap((one) => pieces.flatMap((two) => [one + two, `${one}/${two}`, `**/${one}${two}`]))
      .filter(isTried);
    const options = { dot: true, posix: true, nocase: true, flags: 'is' };
    const unlike = globs
      .filter((glob) => !/^\/|\/$|\/\/|\*\*[^/.*]|\*\*\.txt./.test(glob))
      .filter((glob) =>
        names.some((name) => policyGlobMatcher(glob)(name) !== picomatch(glob, options)(name)),
      );
    expect(unlike).toEqual([]);
  });
});

describe('globProblem', () => {
  it.each([
    ['too long', 'a'.repeat(70_000), 'longer than 4000 characters'],
    ['too many choices', '{1..200}{1..200}', 'more than 10000 patterns'],
    ['too intricate', 'x/+(a)?(b)@(c)*', 'more than 3 groups and stars'],
    ['ambiguous', '+(a|aa)b', 'plain, distinct words: a|aa'],
    ['nested', '+(a@(b))', 'plain, distinct words'],
  ])('reports a pattern that is %s', (_what, glob, problem) => {
    expect(globProblem(glob)).toContain(problem);
    expect(globProblem('{a,b}/+(c|ab)*.ts')).toBeUndefined();
  });
});
