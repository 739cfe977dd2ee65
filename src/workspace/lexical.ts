import { type Folding, foldPath } from './fold.ts';

/** The system's limit (PATH_MAX) without the terminating NUL. */
const MAX_PATH_BYTES = 4095;

/** The result of parsing a caller's path as a string, before any system call. */
export type Lexical =
  | { readonly kind: 'relative'; readonly parts: readonly string[] }
  | { readonly kind: 'absolute'; readonly path: string; readonly parts: readonly string[] }
  | { readonly kind: 'climbs' }
  | { readonly kind: 'invalid'; readonly reason: string };

/**
 * Normalises a POSIX path. `.` and empty parts disappear, `a/..` cancels out, and a name like
 * `..foo` is ordinary. Decodes and expands nothing: `%2e`, `~` and `$HOME` are ordinary characters.
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
  // Node would pass U+FFFD to the system instead, which names another file.
  if (!input.isWellFormed()) return 'the path contains half of a surrogate pair';
  // A component-wise walk could exceed the limit, but no other program could then open the file.
  if (input.length * 3 > MAX_PATH_BYTES && Buffer.byteLength(input) > MAX_PATH_BYTES)
    return `the path is longer than ${MAX_PATH_BYTES} bytes`;
  return undefined;
}

/** Removes `.`, `..` and empty parts; undefined if a relative path climbs above its start. */
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

/**
 * The parts of `path` below `root`; undefined if it is not below. Compares whole parts, so
 * `/w-evil` is not below `/w`.
 */
export function partsBelow(root: string, path: string, folding: Folding): string[] | undefined {
  const rest = path.startsWith(root) && path[root.length] === '/' ? path.slice(root.length + 1) : '';
  // Fast path: the path is spelled like the root, and clean.
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
