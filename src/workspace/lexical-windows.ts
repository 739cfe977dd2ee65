import { type Lexical, readPath } from './lexical.ts';

/**
 * Names that Windows interprets as something else: a device, a stream, another file. The rules
 * apply to every component of a path on Windows. They need no file system, so tests run on every
 * platform.
 */
type WindowsTrap =
  | 'device'
  | 'stream'
  | 'trailing'
  | 'short-name'
  | 'reserved-character'
  | 'drive-relative'
  | 'namespace';

// Superscript digits count: COM¹ opens COM1 (CVE-2024-51756).
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9¹²³])$/i;
const SHORT_NAME = /^[^.]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?$/;

/**
 * Like `readPath`, for Windows. Accepts both separators and drive letters; rejects components that
 * Windows interprets as something else. Absolute results use `/` (`C:/repo/a.ts`), which Node
 * accepts everywhere.
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
