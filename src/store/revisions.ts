import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault, unlessMissing } from '../model/fault.ts';
import { makeOnce } from './prepare-home.ts';
import type { OpenedState } from './state.ts';

const KEY_BYTES = 32;

const SHOWN_DIGITS = 12;

/**
 * Maximum number of cached revisions; a full cache is cleared. The cache saves 5 to 20 µs for each
 * repeated read of a file.
 */
const MAX_KEPT = 1000;

/**
 * Returns the function that computes revisions with the key of this state folder. The first process
 * makes the key, and all processes share it.
 */
export function openRevisions(home: string): OpenedState['revisionOf'] {
  return revisionsUnder(readKey(join(home, 'lookfirst.key')));
}

/**
 * Returns a function that computes revisions with this key. A revision is an HMAC. A plain hash
 * could be computed with `sha256sum`, and an agent could then overwrite a file that it has not
 * read.
 */
export function revisionsUnder(key: KeyObject): OpenedState['revisionOf'] {
  const kept = new Map<string, string>();
  return ({ sha256, size }) => {
    const bytes = `${sha256}:${size}`;
    const known = kept.get(bytes);
    if (known !== undefined) return known;
    const revision = createHmac('sha256', key).update(bytes).digest('hex').slice(0, SHOWN_DIGITS);
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(bytes, revision);
    return revision;
  };
}

function readKey(file: string): KeyObject {
  const key = unlessMissing(() => readFileSync(file)) ?? makeKey(file);
  if (key.byteLength !== KEY_BYTES)
    throw new Fault('STORE_FAILED', `the revision key is damaged: delete ${file}, then restart Lookfirst`, {
      path: file,
    });
  return createSecretKey(key);
}

function makeKey(file: string): Buffer {
  makeOnce(file, randomBytes(KEY_BYTES));
  return readFileSync(file);
}
