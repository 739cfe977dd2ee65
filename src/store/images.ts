import { Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';

/**
 * Stores earlier contents of files by their hash, so that changes can be undone. A content is
 * written once, only by Lookfirst, and never changed. It is stored before the change that destroys
 * it in the workspace.
 */
export interface Images {
  /** Larger files cannot be stored. Absent if there is no limit. */
  readonly maxBytes?: number;
  /**
   * Decides where the earlier contents of a changed file are stored. `shared`: in the database, in
   * the transaction that announces the change. `here`: in this machine's state folder, before that.
   */
  placeOf(fingerprint: Fingerprint, content: 'plain' | 'secret'): 'shared' | 'here';
  /** Stores bytes whose fingerprint the caller has computed. Call `sync` to make them durable. */
  keepBytes(bytes: Uint8Array, fingerprint: Fingerprint): Promise<void>;
  /** Like `keepBytes`, for a file too large for memory. A Fault if the chunks have other bytes. */
  keepChunks(chunks: AsyncIterable<Uint8Array>, fingerprint: Fingerprint): Promise<void>;
  /**
   * Stores bytes that were only read, with the next transaction or a moment later. They serve later
   * diffs, and may be removed after a day. Does nothing if they are too large.
   */
  keepSoon(bytes: Uint8Array, fingerprint: Fingerprint): void;
  /** Stores now what `keepSoon` got. */
  flush(): void;
  /** Like `keepBytes`, for this machine only. Absent if no other machine shares the store. */
  keepHere?(bytes: Uint8Array, fingerprint: Fingerprint): Promise<void>;
  /** Resolves when everything stored so far survives a power cut. */
  sync(): Promise<void>;
  /**
   * True if the content is stored. `read`: the caller reads it now. `rely`: a change will need it, so
   * it counts as stored just now, and a clean-up that is under way leaves it.
   */
  has(sha256: string, purpose?: 'read' | 'rely'): Promise<boolean>;
  /** Like `has`, for this machine only. Absent if no other machine shares the store. */
  hasHere?(sha256: string, purpose?: 'read' | 'rely'): Promise<boolean>;
  /**
   * The name of another machine that has this content in its state folder; undefined if there is
   * none. For a content that `has` does not find. Absent if no other machine shares the store.
   */
  keeper?(sha256: string): Promise<string | undefined>;
  /** Returns exactly the stored bytes, verified by their hash, or throws a Fault. */
  read(fingerprint: Fingerprint): Promise<Uint8Array>;
  /**
   * Like `read`, in chunks, for files too large for memory. A Fault about wrong bytes comes only
   * after the last chunk, so do not use any chunk before the end.
   */
  chunks(fingerprint: Fingerprint): AsyncIterable<Uint8Array>;
  list(): AsyncIterable<KeptImage>;
  /**
   * Removes stored contents, except those that `needed` returns, and those that a change came to
   * rely on since the call began. Returns the number and size of the removed ones.
   */
  remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage>;
  /** Removes contents that were only read and not read again since a time. Absent if machines share the store: `gc` does it. */
  removeRead?(untilMs: number): void;
}

export interface KeptImage {
  readonly sha256: string;
  readonly bytes: number;
  /** Time when the content was last stored, or a change came to rely on it. */
  readonly sinceMs: number;
}

export interface ImageUsage {
  readonly count: number;
  readonly bytes: number;
}

const NOT_KEPT = 'not-kept';
const CHANGED = 'changed-while-kept';

export function missingImage(sha256: string): Fault {
  return new Fault(
    'STORE_FAILED',
    `the bytes ${sha256.slice(0, 12)} are not kept: they never were, or a clean-up removed them`,
    { reason: NOT_KEPT },
  );
}

export function damagedImage(sha256: string, file: string): Fault {
  return new Fault(
    'STORE_FAILED',
    `the kept bytes ${sha256.slice(0, 12)} were damaged after they were kept and cannot be restored; ` +
      `what is left of them is in ${file}`,
    { path: file, reason: NOT_KEPT },
  );
}

/** True for the faults of `missingImage` and `damagedImage`. Other faults may end when the call is repeated. */
export function isNotKept(error: unknown): boolean {
  return error instanceof Fault && error.reason === NOT_KEPT;
}

export function changedWhileKept({ sha256 }: Fingerprint): Fault {
  const message = `a file (SHA-256 ${sha256.slice(0, 12)}) was changed by another program while it was being kept`;
  return new Fault('IO_FAILED', message, { unchanged: true, reason: CHANGED });
}

/** True for the fault of `changedWhileKept`. */
export function isChangedWhileKept(error: unknown): boolean {
  return error instanceof Fault && error.reason === CHANGED;
}
