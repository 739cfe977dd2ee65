import { type Folding, foldPath } from './fold.ts';

/** The system's own limit, without the end of the string. */
const MAX_PATH_BYTES = 4095;

/** What a caller's string says before any system call: pure string work, no file system. */
export type Lexical =
  | { readonly kind: 'relative'; readonly parts: readonly string[] }
  | { readonly kind: 'absolute'; readonly path: string; readonly parts: readonly string[] }
  | { readonly kind: 'climbs' }
  | { readonly kind: 'invalid'; readonly reason: string };

/**
 * Cleans a POSIX path the way seed document 003 asks: `.` and empty parts vanish, `a/..` cancels out, a name like
 * `..foo` is a name. Nothing is decoded or expanded: `%2e`, `~` and `$HOME` are ordinary characters.
 */
export function readPath(input: unknown): Lexical {
  const reason = whyInvalid(input);
  if (reason !== undefined || typeof input !== 'string') {
    return { kind: 'invalid', reason: reason ?? 'the path is not a string' };
  }
  const absolute = input.startsWith('/');
  const parts = cleanParts(input.split('/'), absolute);
  if (parts === undefined) return { kind: 'climbs' };
  return absolute ? { kind: 'absolute', path: `/${parts.join('/')}`, parts } : { kind: 'relative', parts };
}

function whyInvalid(input: unknown): string | undefined {
  if (typeof input !== 'string') return 'the path is not a string';
  if (input === '') return 'the path is empty';
  if (input.includes('\0')) return 'the path contains a NUL character';
  // The system would be asked for U+FFFD instead: another file than the one that was named.
  if (!input.isWellFormed()) return 'the path contains half of a surrogate pair';
  // Step by step we could go on; no other program could name what we had made there.
  if (input.length * 3 > MAX_PATH_BYTES && Buffer.byteLength(input) > MAX_PATH_BYTES)
    return `the path is longer than ${MAX_PATH_BYTES} bytes`;
  return undefined;
}

/** Parts without `.`, `..` and empty ones; undefined if a relative path climbs above where it starts. */
function cleanParts(parts: readonly string[], absolute: boolean): string[] | undefined {
  const clean: string[] = [];
  for (const part of parts) {
    if (part === '' || part === '.') continue;
    if (part !== '..') clean.push(part);
    else if (clean.length > 0) clean.pop();
    else if (!absolute) return undefined;
  }
  return clean;
}

/** The parts of `path` below `root`, or undefined. Compared part by part, so `/w-evil` is not below `/w`. */
export function partsBelow(root: string, path: string, folding: Folding): string[] | undefined {
  const rest = path.startsWith(root) && path[root.length] === '/' ? path.slice(root.length + 1) : '';
  // The usual case: spelled like the root, and clean.
  if (rest !== '' && !rest.endsWith('/') && !rest.includes('//')) return rest.split('/');
  const above = namesOf(root);
  const names = namesOf(path);
  if (names.length < above.length) return undefined;
  const same = above.every(
    (name, index) => foldPath(name, folding) === foldPath(names[index] ?? '', folding),
  );
  return same ? names.slice(above.length) : undefined;
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '');
}
