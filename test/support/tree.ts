import {
  type Dirent,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** The folders of one test: a workspace, a state folder and a folder outside, removed afterwards. */
export interface Scratch {
  readonly base: string;
  readonly root: string;
  readonly home: string;
  readonly outside: string;
}

/** The parent folder for tests that make many small trees: in memory, if the machine allows it. */
export const IN_MEMORY: string =
  process.env['TEST_MEMORY'] ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir());

/** True if `IN_MEMORY` is another file system than the disk. */
export const HAS_MEMORY: boolean = IN_MEMORY !== tmpdir();

/** The parent folder for tests that must run on the disk even if others run in memory. */
export const ON_DISK: string = process.env['TEST_DISK'] ?? tmpdir();

/**
 * Makes the folders of a test. `atEnd` receives the function that removes them; by default they are removed when the
 * test ends.
 */
export function scratch(
  parent: string = tmpdir(),
  atEnd: (clean: () => void) => void = onTestFinished,
): Scratch {
  const base = realpathSync(mkdtempSync(join(parent, 'lookfirst-test-')));
  const made = { base, root: join(base, 'root'), home: join(base, 'home'), outside: join(base, 'outside') };
  for (const folder of [made.root, made.home, made.outside]) mkdirSync(folder);
  atEnd(() => rmSync(base, { recursive: true, force: true }));
  return made;
}

/**
 * Makes a tree from lines in a small language: `d/` a folder, `f` a file with its own name as text,
 * `f: text` a file, `link => target` a link. Targets may name the folders `ROOT` and `OUTSIDE`.
 */
export function makeTree(places: Scratch, lines: readonly string[]): void {
  for (const line of lines) {
    const link = line.split(' => ');
    const [name = '', text] = line.split(': ');
    if (link[1] !== undefined) {
      const target = link[1].replace('ROOT', places.root).replace('OUTSIDE', places.outside);
      symlinkSync(target, made(places, link[0] ?? ''));
    } else if (line.endsWith('/')) mkdirSync(made(places, line), { recursive: true });
    else writeFileSync(made(places, name), text ?? name);
  }
}

function made(places: Scratch, name: string): string {
  const path = name.startsWith('OUTSIDE/') ? join(places.outside, name.slice(8)) : join(places.root, name);
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

/** A folder in the language of `makeTree`: sorted lines, every file with its text. */
export function treeOf(folder: string): string[] {
  return entriesBelow(folder)
    .flatMap(({ path, entry }) => {
      const name = path.slice(folder.length + 1);
      if (entry.isSymbolicLink()) return `${name} => ${readlinkSync(path)}`;
      if (entry.isFile()) return `${name}: ${readFileSync(path, 'utf8')}`;
      return readdirSync(path).length === 0 ? `${name}/` : [];
    })
    .sort();
}

/**
 * Everything below a folder. Does not follow links. Node's own recursive listing treats links
 * differently in different versions.
 */
export function entriesBelow(folder: string): { readonly path: string; readonly entry: Dirent }[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return [{ path, entry }, ...(entry.isDirectory() ? entriesBelow(path) : [])];
  });
}
