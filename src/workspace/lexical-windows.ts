import type { Lexical } from './lexical.ts';
import { readPath } from './lexical.ts';
import { windowsPrefix, windowsTrap } from './windows-names.ts';

/**
 * The same as `readPath` for Windows: both separators, drive letters, and every component free of names the system
 * would take for something else. Absolute results use `/` (`C:/repo/a.ts`), as Node accepts everywhere.
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
