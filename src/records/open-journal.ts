import { join } from 'node:path';
import type { ChainReport, verifyChain } from '../journal/verify.ts';
import { ENTRY_KINDS } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import {
  ANY,
  checkShape,
  listOf,
  mismatchText,
  type ObjectShape,
  objectOf,
  oneOf,
  type Shape,
  TEXT,
} from '../model/shape.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Outcome } from '../model/verdict.ts';
import { defaultHome } from '../session/open-world.ts';
import { type EntryFilter, walkEntries } from '../store/store.ts';
import { type Blame, blame } from './blame.ts';
import { type PublicEntry, publicEntry } from './public-entry.ts';
import { Records } from './records.ts';

export interface JournalOptions {
  /** The state folder; default `LOOKFIRST_HOME`, else the platform's folder for program state. */
  readonly home?: string | undefined;
  /** URL of the store; default: the database in the state folder. */
  readonly store?: string | undefined;
}

export interface SightingFilter {
  readonly session?: string | undefined;
  /** Canonical path of a file. */
  readonly key?: string | undefined;
}

/** A sighting: what a session has read of one file. */
export interface SessionSighting extends Sighting {
  readonly session: string;
}

/** Read-only access for programs to the records of Lookfirst. */
export interface Journal {
  /** Entries that match, newest first unless the filter asks for another order. */
  entries(filter?: EntryFilter): AsyncIterable<PublicEntry>;
  sightings(filter?: SightingFilter): AsyncIterable<SessionSighting>;
  /**
   * The stored file content with this hash, as named in a journal entry. Undefined if it was not
   * stored.
   */
  image(sha256: string): Promise<Uint8Array | undefined>;
  /**
   * The writer of each line of a file, as far as the journal shows it. `path`: absolute, or
   * relative to the current folder.
   */
  blame(path: string): Promise<Outcome<Blame>>;
  /** Checks that no entry was removed or altered. */
  verify(options?: Parameters<typeof verifyChain>[1]): Promise<ChainReport>;
  close(): Promise<void>;
}

/** Opens the journal for reading. It creates nothing: without a state folder the journal is empty. */
export async function openJournal(options: JournalOptions = {}): Promise<Journal> {
  const [mismatch] = checkShape(OPTIONS, options);
  if (mismatch !== undefined)
    throw new Fault('MISUSE', mismatchText(mismatch, { noun: 'option', whole: 'the options for opening' }));
  const home = options.home ?? defaultHome();
  const store = options.store ?? `sqlite:${join(home, 'lookfirst.db')}`;
  if (store === 'memory:')
    throw new Fault('MISUSE', 'a store in memory cannot be opened a second time: name another store');
  const records = await Records.open({ home, store });
  return {
    entries: (filter = {}) => entriesOf(records, checked(ENTRY_FILTER, filter)),
    sightings: (filter = {}) => sightingsOf(records, checked(SIGHTING_FILTER, filter)),
    image: (sha256) => imageOf(records, sha256),
    blame: (path) => blame(records, { cwd: process.cwd(), path, secrets: 'mask' }),
    verify: (verifying) => records.verify(verifying),
    close: () => records.close(),
  };
}

const OPTIONS: ObjectShape = objectOf({ home: TEXT, store: TEXT });

/** The shape of a limit in a filter: any number, including Infinity. */
const BOUND: Shape = {
  type: 'tested',
  is: (value) => typeof value === 'number' && !Number.isNaN(value),
  must: 'a number',
};

const ENTRY_FILTER: ObjectShape = objectOf({
  session: TEXT,
  root: TEXT,
  near: listOf(TEXT),
  key: TEXT,
  keys: listOf(TEXT),
  change: TEXT,
  kinds: listOf(oneOf(...Object.keys(ENTRY_KINDS))),
  sinceMs: BOUND,
  untilMs: BOUND,
  chain: TEXT,
  committed: ANY,
  afterSeq: BOUND,
  beforeSeq: BOUND,
  order: oneOf('newest', 'oldest'),
  limit: BOUND,
});

const SIGHTING_FILTER: ObjectShape = objectOf({ session: TEXT, key: TEXT });

/**
 * Returns the filter if it is valid; otherwise throws a Fault. Ignoring a misspelt field would
 * return all entries.
 */
function checked<T>(shape: ObjectShape, filter: T): T {
  const [mismatch] = checkShape(shape, filter);
  if (mismatch === undefined) return filter;
  throw new Fault('MISUSE', mismatchText(mismatch, { noun: 'filter', whole: 'the filter' }));
}

async function* entriesOf({ store }: Records, filter: EntryFilter): AsyncGenerator<PublicEntry> {
  for await (const entry of walkEntries(store, filter)) yield publicEntry(entry);
}

async function* sightingsOf(
  { store }: Records,
  { session, key }: SightingFilter,
): AsyncGenerator<SessionSighting> {
  const sessions = session === undefined ? (await store.sessions()).map(({ id }) => id) : [session];
  for (const id of sessions)
    for (const sighting of await store.sightings(id))
      if (key === undefined || sighting.key === key) yield { session: id, ...sighting };
}

async function imageOf({ images }: Records, sha256: string): Promise<Uint8Array | undefined> {
  if (!/^[0-9a-f]{64}$/.test(sha256) || !(await images.has(sha256))) return undefined;
  // Contents are found and verified by their hash alone.
  return images.read({ sha256, size: 0 });
}
