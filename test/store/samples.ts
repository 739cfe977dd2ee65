import type { Delta, State } from '../../src/model/delta.ts';
import type { Entry, EntryKind, NewChangeEntry, NewEntry, PendingChange } from '../../src/model/entry.ts';
import type { SessionRecord } from '../../src/model/session-record.ts';
import { NO_FLAGS, type Sighting } from '../../src/model/sighting.ts';
import { canonicalJson, linkText } from '../../src/store/chain.ts';
import type { ChainLink } from '../../src/store/store.ts';

/** True if the entry is exactly the one that was written after `previous`. */
export function follows(previous: ChainLink, entry: Entry): boolean {
  const { seq, hash, ...content } = entry;
  return seq === previous.seq + 1 && hash === linkText(previous, canonicalJson(content)).hash;
}

export const ROOT = '/home/me/project';

function sha(text: string): string {
  return text.repeat(64).slice(0, 64);
}

export function file(content: string, more: { mode?: number; kept?: boolean } = {}): State {
  return {
    kind: 'file',
    fingerprint: { sha256: sha(content), size: content.length },
    mode: more.mode ?? 0o644,
    kept: more.kept ?? true,
  };
}

export const ABSENT: State = { kind: 'absent' };
export const FOLDER: State = { kind: 'directory', mode: 0o755 };

export function delta(relative: string, before: State, after: State): Delta {
  return { key: `${ROOT}/${relative}`, relative, before, after };
}

type NewEntryOf<K> = Extract<NewEntry, { readonly kind: K }>;

/** A move from one path to another, where something may have been. */
export function move(from: string, to: string, after: State, before: State = ABSENT): Delta {
  return { ...delta(to, before, after), movedFrom: { key: `${ROOT}/${from}`, relative: from } };
}

/** An entry of any kind. */
export function sampleEntry<K extends EntryKind>(kind: K, more: Partial<NewEntryOf<K>> = {}): NewEntryOf<K> {
  const entry = { kind, atMs: 1000, session: 'agent', root: ROOT, action: 'read', path: 'a.ts', ...more };
  // The cast is safe: the caller gives the fields that only this kind has.
  return entry as unknown as NewEntryOf<K>;
}

export function readEntry(more: Partial<NewEntryOf<'read'>> = {}): NewEntryOf<'read'> {
  return sampleEntry('read', more);
}

export function changeEntry(
  change: string,
  deltas: readonly Delta[],
  more: Partial<NewChangeEntry> = {},
): NewChangeEntry {
  return {
    kind: 'change',
    atMs: 1000,
    session: 'agent',
    root: ROOT,
    action: 'edit',
    change,
    deltas,
    ...more,
  };
}

export function pendingChange(change: string, more: Partial<PendingChange> = {}): PendingChange {
  return {
    change,
    owner: '1:1',
    entry: changeEntry(change, [delta('a.ts', file('x'), file('y'))]),
    ...more,
  };
}

export function sessionRecord(id: string, more: Partial<SessionRecord> = {}): SessionRecord {
  return { id, root: ROOT, named: true, openedMs: 1, lastMs: 1, ...more };
}

/** Every field has a value that careless storage would change. */
export const FULL_SIGHTING: Required<Sighting> = {
  key: `${ROOT}/übung/\u{1f600} "quoted".ts`,
  fingerprint: { sha256: sha('ab'), size: 9_007_199_254_740_991 },
  stamp: {
    dev: 18_446_744_073_709_551_615n,
    ino: 9_007_199_254_740_993n,
    size: 9_007_199_254_740_993n,
    mtimeNs: 1_760_000_000_123_456_789n,
    ctimeNs: -1n,
  },
  racy: true,
  coverage: {
    kind: 'lines',
    ranges: [
      { from: 1, to: 20 },
      { from: 40, to: 60 },
    ],
  },
  totalLines: 100,
  unplaced: true,
  flags: { clamped: true, redacted: false, notText: true, unverified: false },
  how: 'cure',
  atMs: 1_760_000_000_123,
  seenBefore: [{ sha256: sha('b'), size: 3 }],
  pages: [{ from: 1, to: 2, sha256: sha('p') }],
  heldBack: { change: 'ab', bytes: 'cd' },
  refusedContent: sha('r'),
  tombstone: true,
  lost: 'compacted',
};

export const BARE_SIGHTING: Sighting = {
  key: `${ROOT}/b.ts`,
  fingerprint: undefined,
  stamp: undefined,
  racy: false,
  coverage: { kind: 'none' },
  totalLines: undefined,
  flags: NO_FLAGS,
  how: 'history',
  atMs: 0,
};
