import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ResolvedPath } from '../model/path.ts';
import { expandBraces, type GlobPart, matchParts, type PathMatch, readParts } from '../text/glob/glob.ts';
import { nameProblem } from '../text/glob/segment.ts';

const MAX_GLOB_CHARS = 4000;
const MAX_ALTERNATIVES = 256;
/** A character class such as `[a-z]`. A `]` right after the opening bracket is a member of the class. */
const CLASS = /\[[!^]?(\]?[^\]]*)\]/g;

/** A glob that selects files below a folder. */
export interface FileGlob {
  /**
   * Ripgrep arguments that exclude files by their base names; may be empty. `matches` checks the
   * files that ripgrep then lists.
   */
  readonly args: readonly string[];
  /**
   * The leading folder names without wildcards, from the searched folder down. Every match is
   * inside the folder that they name.
   */
  readonly base: readonly string[];
  /**
   * True if a file that ripgrep listed matches. `path` is relative to the searched folder. Runs in
   * bounded time: a hostile name cannot make it exponential.
   */
  matches(path: string): boolean;
}

/**
 * Parses a glob: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, `\` to escape a character, `**` for any
 * number of folders, a leading `!` to negate. Without a `/` it matches base names at any depth,
 * otherwise paths relative to the searched folder.
 */
export function readGlob(glob: string): FileGlob | { readonly problem: string } {
  if (glob.length > MAX_GLOB_CHARS)
    return { problem: `the glob is longer than ${MAX_GLOB_CHARS} characters` };
  const negated = glob.startsWith('!');
  const text = (negated ? glob.slice(1) : glob).replace(/^(\.\/+)+/, '');
  if (text === '') return { problem: 'the glob is empty' };
  const unclosed = syntaxProblem(text);
  if (unclosed !== undefined) return { problem: unclosed };
  const alternatives = expandBraces(text, MAX_ALTERNATIVES);
  if (alternatives === undefined)
    return { problem: `the glob has more than ${MAX_ALTERNATIVES} alternatives` };
  const patterns: Pattern[] = [];
  for (const alternative of alternatives) {
    const pattern = readPattern(alternative);
    if (typeof pattern === 'string') return { problem: pattern };
    patterns.push(pattern);
  }
  const matches = (path: string): boolean => patterns.some((pattern) => pattern.matches(path));
  if (negated) return { args: [], base: [], matches: (path) => !matches(path) };
  const args = preselection(patterns);
  const exact = args.length > 0 && patterns.every(({ anchored }) => !anchored) && !text.includes('?');
  return { args, base: commonBase(patterns), matches: exact ? () => true : matches };
}

interface Pattern {
  /** True if the pattern matches whole paths from the searched folder, not base names at any depth. */
  readonly anchored: boolean;
  readonly parts: readonly GlobPart[];
  readonly matches: PathMatch;
}

function readPattern(glob: string): Pattern | string {
  const names = glob.split('/');
  if (names[0] === '' || names.includes('..'))
    return 'the glob is matched below the searched folder: it cannot begin with / or climb with ..';
  if (names.at(-1) === '') return 'the glob ends in /, but only files are found: write ** after it';
  const problem = names.map(nameProblem).find((each) => each !== undefined);
  if (problem !== undefined) return problem;
  const path = names.filter((name) => name !== '' && name !== '.').join('/');
  const parts = readParts(path.includes('/') ? path : `**/${path}`, 'exact case');
  const anywhere = parts.length === 2 && parts[0]?.matches === 'any depth';
  return { anchored: names.length > 1 && !anywhere, parts, matches: matchParts(parts, 'below') };
}

/**
 * Arguments that preselect files by base name. They use ripgrep's file types, because `--glob`
 * would override the ignore rules. Empty if the base name excludes nothing or cannot be written as
 * a type.
 */
function preselection(patterns: readonly Pattern[]): string[] {
  // Replace `?` by `*`, because ripgrep's `?` matches one byte, and ours one character.
  const names = new Set(patterns.map(({ parts }) => (parts.at(-1)?.text ?? '*').replace(/[*?]+/g, '*')));
  if ([...names].some((name) => name === '*' || !/^[^:\\[\]{}]+$/.test(name))) return [];
  return [...[...names].flatMap((name) => ['--type-add', `lookfirst:${name}`]), '--type', 'lookfirst'];
}

function commonBase(patterns: readonly Pattern[]): string[] {
  const [first, ...others] = patterns.map(literalFolders);
  const shared = first ?? [];
  const end = shared.findIndex((name, index) => others.some((names) => names[index] !== name));
  return end < 0 ? shared : shared.slice(0, end);
}

function literalFolders({ parts }: Pattern): string[] {
  const folders = parts.slice(0, -1);
  const end = folders.findIndex(({ text }) => /[*?[\]\\]/.test(text));
  return (end < 0 ? folders : folders.slice(0, end)).map(({ text }) => text);
}

/** Reports unclosed brackets and bad ranges: otherwise a typing error would silently match nothing. */
function syntaxProblem(glob: string): string | undefined {
  if (/(?<!\\)(?:\\\\)*\\$/.test(glob)) return 'the glob ends in a backslash';
  const plain = glob.replaceAll(/\\./gsu, '');
  const withoutClasses = plain.replaceAll(CLASS, '');
  if (withoutClasses.includes('[')) return 'the glob has a [ without ]';
  for (const [, members = ''] of plain.matchAll(CLASS)) {
    const range = [...members.matchAll(/(.)-(.)/gsu)].find(([, from = '', to = '']) => to < from);
    if (range !== undefined) return `the glob has a range backwards: ${range[0]}`;
  }
  let depth = 0;
  for (const brace of withoutClasses.match(/[{}]/g) ?? []) {
    depth += brace === '{' ? 1 : -1;
    if (depth < 0) return 'the glob has a } without {';
  }
  return depth > 0 ? 'the glob has a { without }' : undefined;
}

const IGNORE_FILES = ['.gitignore', '.ignore', '.rgignore', '.git/info/exclude'] as const;

/**
 * Arguments that select the files below a folder: hidden ones included, `.git` and ignored ones
 * excluded. Links are not followed. Ripgrep's configuration file and Git's global ignore file are
 * not used.
 */
export function scopeOf(folder: ResolvedPath): readonly string[] {
  return [
    '--no-config',
    '--no-messages',
    '--no-ignore-messages',
    '--no-ignore-global',
    '--hidden',
    '--glob=!.git',
    '--path-separator=/',
    ...ignoreRules(folder),
  ];
}

/**
 * Arguments that keep ripgrep from opening protected files. They are not sufficient: ripgrep cannot
 * express all globs, and names can change while it runs. So callers check its results again.
 */
export function protectedScope(folder: ResolvedPath, globs: readonly string[]): readonly string[] {
  const plain = globs.filter((glob) => /^[^\\()[\]{}!/][^\\()[\]{}!]*$/.test(glob));
  // Protected globs are relative to the root. For a search below the root, use only those that
  // begin with `**/`: ripgrep would match the others from the wrong folder.
  const valid = folder.relative === '' ? plain : plain.filter((glob) => glob.startsWith('**/'));
  return valid.map((glob) => `--iglob=!/${glob}`);
}

/**
 * Arguments that select the ignore files that apply: inside a Git repository, those of the
 * repository; elsewhere, those of the workspace. Without these arguments, a `.gitignore` in the
 * home folder could hide everything.
 */
function ignoreRules(folder: ResolvedPath): readonly string[] {
  const own = ['--no-require-git', '--no-ignore-parent'];
  const upwards = [folder.absolute, ...foldersAbove(folder.absolute)];
  const repository = upwards.findIndex((path) => existsSync(join(path, '.git')));
  const top = repository < 0 ? upwards.indexOf(folder.root) : repository;
  // Checking parent folders costs ripgrep a quarter of its time, so do it only if they have rules.
  if (!upwards.slice(1, top + 1).some(hasRules)) return own;
  if (repository >= 0) return [];
  // Ripgrep uses the rules of all parent folders or of none. If a folder above the workspace has
  // rules, use none.
  return upwards.slice(top + 1).some(hasRules) ? own : ['--no-require-git'];
}

function hasRules(folder: string): boolean {
  return IGNORE_FILES.some((name) => existsSync(join(folder, name)));
}

function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path), last = path; folder !== last; last = folder, folder = dirname(folder))
    folders.push(folder);
  return folders;
}
