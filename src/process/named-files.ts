import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Listing, NamedFiles } from '../dialect/calls/shell/destroyed.ts';
import type { Glob } from '../dialect/calls/shell/values.ts';
import { inFolder } from '../dialect/calls/shell/words.ts';
import { unlessErrno } from '../model/fault.ts';
import { expandBraces } from '../text/glob/glob.ts';
import { nameMatcher, nameProblem } from '../text/glob/segment.ts';

/** Maximum number of names that are looked up for one part of a command. */
const MAX_NAMES = 10_000;
/** Time limit for a program that lists files. */
const LISTING_MS = 3_000;
const MAX_OUTPUT_BYTES = 4 << 20;

/**
 * The paths that a glob or a search in a shell command matches. `start`: the absolute folder where
 * relative paths of the line start. The paths are absolute or relative to that folder. Empty if the
 * search takes too long.
 */
export async function namesOfFiles(files: NamedFiles, start: string): Promise<readonly string[]> {
  if ('path' in files) {
    const { path, inside } = files;
    return [
      inside !== undefined && isFolder(resolve(start, path)) ? `${path.replace(/\/+$/, '')}/${inside}` : path,
    ];
  }
  if ('program' in files) {
    if (!isFolder(resolve(start, files.base))) return [];
    const names = await listedNames(files, start);
    const { before = '' } = files;
    return names.flatMap(
      (name) => inFolder(files.base, withoutStart(withoutStart(name, before), './')) ?? [],
    );
  }
  const patterns = expandBraces(files.glob.pattern, MAX_NAMES) ?? [];
  const names = patterns.flatMap((pattern) =>
    expanded({ ...files.glob, pattern }, resolve(start, files.folder)),
  );
  return names.flatMap((name) => inFolder(files.folder, name) ?? []);
}

function withoutStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}

function isFolder(path: string): boolean {
  return unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }))?.isDirectory() === true;
}

/** The paths that a glob without braces matches, as in a shell: a star matches no dot at the beginning of a name by default. */
function expanded({ pattern, dots }: Glob, folder: string): readonly string[] {
  const begin = pattern.startsWith('/') ? '/' : '';
  let found: readonly string[] = [begin];
  const segments = pattern.split('/').filter((segment) => segment !== '');
  for (const [at, segment] of segments.entries()) {
    const end = at === segments.length - 1 ? '' : '/';
    found = found.flatMap((path) =>
      matchesOf({ segment, dots }, resolve(folder, path)).map((name) => `${path}${name}${end}`),
    );
    if (found.length > MAX_NAMES) return [];
  }
  return found.filter((path) => existsSync(resolve(folder, path)));
}

function matchesOf(
  { segment, dots }: Pick<Glob, 'dots'> & { readonly segment: string },
  folder: string,
): readonly string[] {
  if (!/[*?[]/.test(segment.replace(/\\./g, ''))) return [segment.replace(/\\(.)/g, '$1')];
  if (nameProblem(segment) !== undefined) return [];
  const matches = nameMatcher(segment, 'exact case');
  const names = unlessErrno(() => readdirSync(folder)) ?? [];
  return names.filter(
    (name) => (dots === true || !name.startsWith('.') || segment.startsWith('.')) && matches(name),
  );
}

/** Keeps git from writing its index and from running a program that its configuration names. */
const GIT_QUIET = {
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'core.fsmonitor',
  GIT_CONFIG_VALUE_0: 'false',
};

/** The names that a program prints. Empty if it fails, runs too long or prints too much. */
export function listedNames({ program, folder, ends }: Listing, start: string): Promise<readonly string[]> {
  const [name = '', ...args] = program;
  const cwd = resolve(start, folder);
  const env = { ...process.env, ...GIT_QUIET, LC_ALL: 'C' };
  const options = { cwd, env, timeout: LISTING_MS, maxBuffer: MAX_OUTPUT_BYTES };
  return new Promise((done) => {
    const child = execFile(name, args, options, (error, text) => {
      // A program that failed with an exit code may have printed names before.
      const isWhole = error === null || typeof error.code === 'number';
      const names = isWhole ? text.split(ends === 'NUL' ? '\0' : ends === 'line' ? '\n' : /\s+/) : [];
      done(names.filter((each) => each !== '').slice(0, MAX_NAMES));
    });
    child.stdin?.end();
  });
}
