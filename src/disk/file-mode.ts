import { closeSync, fchmodSync } from 'node:fs';
import type { Place } from '../model/path.ts';
import { type Expected, holds } from './compare.ts';
import { openRegular } from './read.ts';
import { type Conflict, conflict, unreadable } from './replace.ts';

/** Changes a file's permission bits if it holds the expected bytes. */
export function setFileMode(
  place: Place,
  mode: number,
  expected: Expected,
): { readonly ok: true } | Conflict {
  const file = openRegular(place);
  if ('problem' in file) return unreadable(file);
  try {
    if (!holds(file.fd, expected)) return conflict('changed');
    fchmodSync(file.fd, mode & 0o777);
    return { ok: true };
  } finally {
    closeSync(file.fd);
  }
}
