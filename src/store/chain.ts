import { hash } from 'node:crypto';
import type { ChainLink } from './store.ts';

/** The number and hash on which the first entry of a journal builds. */
export const CHAIN_START: ChainLink = { seq: 0, hash: '0'.repeat(64) };

/**
 * The number and hash of an entry that follows `previous`. The hash covers the previous hash, the
 * entry as canonical JSON, and its number.
 */
export function linkText(previous: ChainLink, text: string): ChainLink {
  const seq = previous.seq + 1;
  return { seq, hash: hash('sha256', `${previous.hash}${text}${seq}`) };
}

/**
 * Serialises a value independently of key order: keys sorted, undefined omitted, no white space. Parsing and
 * serialising the result again gives the same text. Throws a TypeError for values that JSON cannot hold.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(inCanonicalOrder(value)) ?? 'null';
}

/**
 * The value with sorted keys. `JSON.stringify` of the result, or of a part of it, then gives
 * canonical JSON. Sort once and reuse the result: sorting costs more than serialising.
 */
function inCanonicalOrder<T>(value: T): T {
  // The cast is safe: the copy differs only in the order of keys.
  return isSorted(value) ? value : (sorted(value) as T);
}

/** True if the keys of the value are sorted. Entries of reads and writes are built with sorted keys. */
function isSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isSorted);
  // The cast is safe: any object has string names and unknown values.
  const source = value as Record<string, unknown>;
  let last = '';
  for (const name in source) {
    const member = source[name];
    if (name < last || (typeof member === 'object' && !isSorted(member))) return false;
    last = name;
  }
  return true;
}

/**
 * Sorts a copy. The engine can then serialise it in one call, which is four times as fast as piece
 * by piece.
 */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const copy: Record<string, unknown> = {};
  // The cast is safe: any object has string names and unknown values. JSON omits undefined values.
  const source = value as Record<string, unknown>;
  for (const name of Object.keys(value).sort()) copy[name] = sorted(source[name]);
  return copy;
}
