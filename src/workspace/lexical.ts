/** The system's limit (PATH_MAX) without the terminating NUL. */
const MAX_PATH_BYTES = 4095;

/** The result of parsing a caller's path as a string, before any system call. */
type Lexical =
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
  const parts = cleanParts(input.split('/'), absolute ? 'absolute' : 'relative');
  if (parts === undefined) return { kind: 'climbs' };
  return absolute ? { kind: 'absolute', path: `/${parts.join('/')}`, parts } : { kind: 'relative', parts };
}

function whyInvalid(input: unknown): string | undefined {
  if (typeof input !== 'string') return 'the path is not a string';
  if (input === '') return 'the path is empty';
  if (input.includes('\0')) return 'the path contains a NUL character';
  // Refuse half of a surrogate pair: Node would replace it by U+FFFD, and the path would then name
  // another file.
  if (!input.isWellFormed()) return 'the path contains half of a surrogate pair';
  // Refuse a path beyond the system's limit. Lookfirst could open it one component at a time, but
  // other programs could not.
  if (input.length * 3 > MAX_PATH_BYTES && Buffer.byteLength(input) > MAX_PATH_BYTES)
    return `the path is longer than ${MAX_PATH_BYTES} bytes`;
  return undefined;
}

/** Removes `.`, `..` and empty parts; undefined if a relative path climbs above its start. */
function cleanParts(parts: readonly string[], kind: 'absolute' | 'relative'): string[] | undefined {
  const clean: string[] = [];
  for (const part of parts) {
    if (part === '' || part === '.') continue;
    if (part !== '..') clean.push(part);
    else if (clean.length > 0) clean.pop();
    else if (kind === 'relative') return undefined;
  }
  return clean;
}

/**
 * The parts of `path` below `root`. Empty if `path` is the root itself, undefined if it is outside.
 * Compares whole parts, so `/w-evil` is not below `/w`.
 */
export function partsBelow(root: string, path: string, folding: NameComparison): string[] | undefined {
  const rest = path.startsWith(root) && path[root.length] === '/' ? path.slice(root.length + 1) : '';
  // Fast path: the path begins with the exact spelling of the root, and has no empty parts.
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

/** The rules by which a file system compares names. */
export interface NameComparison {
  readonly caseless: boolean;
  /** True if composed and decomposed forms of a character are one name (APFS, HFS+). */
  readonly unicodeForm: boolean;
}

export const EXACT: NameComparison = { caseless: false, unicodeForm: false };

/**
 * The rules by which the platform's usual file system compares names. On a volume that is
 * case-sensitive after all, files whose names differ only in case share a key. So they share a
 * lock, and the record of what a session has seen.
 */
export function platformFolding(platform: string): NameComparison {
  if (platform === 'darwin') return { caseless: true, unicodeForm: true };
  if (platform === 'win32') return { caseless: true, unicodeForm: false };
  return EXACT;
}

/**
 * The comparison key of a path: spellings that the file system treats as the same name give the
 * same string.
 */
export function foldPath(path: string, folding: NameComparison): string {
  const form = folding.unicodeForm ? path.normalize('NFC') : path;
  // Lower case only: upper-casing first would equate ß with ss and ı with i, which no file system does.
  return folding.caseless ? form.toLowerCase() : form;
}

/**
 * The kinds of names that Windows interprets as something else: a device, a stream, another file.
 * On Windows, every component of a path is checked for them. The check reads no file system, so its
 * tests run on every platform.
 */
type WindowsTrap =
  | 'device'
  | 'stream'
  | 'trailing'
  | 'short-name'
  | 'reserved-character'
  | 'drive-relative'
  | 'namespace';

// Superscript digits count as digits: COM¹ opens COM1 (CVE-2024-51756).
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9¹²³])$/i;
const SHORT_NAME = /^[^.]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?$/;

/**
 * Like `readPath`, for Windows. Accepts `/` and `\` as separators, and drive letters. Rejects
 * components that Windows interprets as something else. Absolute results use `/` (`C:/repo/a.ts`),
 * which Node accepts everywhere.
 */
export function readWindowsPath(input: unknown): Lexical {
  if (typeof input !== 'string') return readPath(input);
  const prefix = windowsPrefix(input);
  if (prefix !== 'relative' && prefix !== 'drive') {
    return { kind: 'invalid', reason: `the path begins as a ${prefix} path` };
  }
  const drive = prefix === 'drive' ? input.slice(0, 2).toUpperCase() : '';
  const clean = readPath(input.slice(drive.length).replaceAll('\\', '/'));
  if (clean.kind !== 'relative' && clean.kind !== 'absolute') return clean;
  for (const part of clean.parts) {
    const trap = windowsTrap(part);
    if (trap !== undefined) return { kind: 'invalid', reason: `"${part}" is not an ordinary name (${trap})` };
  }
  return clean.kind === 'absolute' ? { ...clean, path: `${drive}${clean.path}` } : clean;
}

/** The reason why a path component must not be passed to Windows; undefined for an ordinary name. */
export function windowsTrap(name: string): WindowsTrap | undefined {
  if (name === '.' || name === '..') return undefined;
  if (name.includes(':')) return 'stream';
  // Only the part before the first dot counts: NUL.txt, "nul  .md" and "aux." are devices as well.
  if (DEVICE.test((name.split('.')[0] ?? '').trimEnd())) return 'device';
  if (/[. ]$/.test(name)) return 'trailing';
  if (/[<>"|?*\u0000-\u001f]/.test(name)) return 'reserved-character';
  if (SHORT_NAME.test(name)) return 'short-name';
  return undefined;
}

/** The kind of a Windows path's prefix. Only `relative` and `drive` are accepted. */
export function windowsPrefix(
  path: string,
): 'relative' | 'drive' | 'drive-relative' | 'rooted' | 'unc' | 'namespace' {
  const unified = path.replaceAll('/', '\\');
  if (/^\\\\[.?]\\/.test(unified) || unified.startsWith('\\??\\')) return 'namespace';
  if (unified.startsWith('\\\\')) return 'unc';
  if (unified.startsWith('\\')) return 'rooted';
  if (/^[A-Za-z]:/.test(unified)) return unified[2] === '\\' ? 'drive' : 'drive-relative';
  return 'relative';
}
