import type { BigIntStats } from 'node:fs';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Durability } from '../model/policy.ts';
import type { AnnouncedImages } from './store.ts';

/**
 * The bytes of files as they were, by content. Equal contents are kept once, whoever keeps them.
 * Keeping needs an announced change first (Store.record): only then is a clean-up that runs at the same time sure to
 * see that the bytes are needed.
 */
export interface Images {
  /**
   * Where the before-image of a file goes: `shared` with other machines, in the record that announces the change, or `here`, in
   * the state folder. Absent: there is only one machine, and images are kept after the change.
   */
  placeOf?(fingerprint: Fingerprint, content: 'plain' | 'secret'): 'shared' | 'here';
  /** These images are in the store, together with their announcement. */
  announced?(images: AnnouncedImages): void;
  /** Keeps bytes whose fingerprint the caller has computed. */
  keepBytes(bytes: Uint8Array, fingerprint: Fingerprint, durability?: Durability): Promise<Kept>;
  /**
   * Keeps the file with this name, and its inode where possible: a writer that still has it open then writes into what
   * is kept, and nothing is lost. Copies when it is on another file system or has further names, which could be
   * written through. Keeps nothing and throws if a copy turns out to be other bytes than the fingerprint says.
   */
  keepLink(fromPath: string, fingerprint: Fingerprint, durability?: Durability): Promise<Kept>;
  /** Like keepLink, and the file's old name is gone afterwards: one step less for a file already out of the way. */
  adopt(fromPath: string, fingerprint: Fingerprint, how?: Adoption): Promise<Kept>;
  /**
   * The name of the image with these bytes, if a file with these stats may be renamed to it as it is: the name is free, and
   * the file has no other name. `adopt` then only has to sync it. Absent where images are not files of this machine.
   */
  freeName?(fingerprint: Fingerprint, stats: BigIntStats): string | undefined;
  /** Brings kept bytes and their names to the disk, so that they survive a power cut. Missing ones are left out. */
  sync(hashes: readonly string[]): Promise<void>;
  /**
   * Closes adopted files (0600) to everybody but their owner. Call it once their change is settled: until then a failure
   * puts the very file back, with the mode it had.
   */
  makePrivate(hashes: readonly string[]): void;
  has(sha256: string): Promise<boolean>;
  /**
   * Exactly the bytes that were kept, or a Fault: the digest is checked. What a late writer appended is left out;
   * what it overwrote cannot be brought back, and the Fault says so.
   */
  read(fingerprint: Fingerprint): Promise<Uint8Array>;
  /** The same in pieces, for files too large to hold; the Fault comes at the end, so use nothing before it. */
  chunks(fingerprint: Fingerprint): AsyncIterable<Uint8Array>;
  /** Writes the bytes to a new file (0600; fails if the name is taken) and leaves none behind if they are damaged. */
  copyTo(fingerprint: Fingerprint, toPath: string): Promise<void>;
  /** Whether a late writer has touched what is kept. */
  check(fingerprint: Fingerprint): Promise<ImageHealth>;
  /** Puts aside what late writers have made of these, each time once; the bytes themselves stay if they can still be had. */
  setAsideLate(fingerprints: readonly Fingerprint[]): AsyncIterable<LateImage>;
  /** Takes over a file that a late writer wrote after its bytes had been copied, and returns where it is. */
  adoptLate(fromPath: string, sha256: string): string;
  list(): AsyncIterable<KeptImage>;
  usage(): Promise<ImageUsage>;
  /** Compresses what nobody writes into any more; how many images, and the bytes saved. Absent where images are not files. */
  pack?(when: PackRequest): Promise<ImageUsage>;
  /**
   * Removes images, except those that `needed` still names after they were taken out of everyone's sight: between the
   * plan and the removal someone may have begun to rely on one. Returns what was removed.
   */
  remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage>;
}

export interface PackRequest {
  readonly nowMs: number;
  /** Ends it after the present image. */
  readonly signal?: AbortSignal;
}

export interface Adoption {
  readonly durability?: Durability;
  /** What the file held when it was displaced, for those who keep no files. */
  readonly bytes?: Uint8Array | undefined;
}

/** `shared`: the same contents were there already. */
export type Kept = 'linked' | 'copied' | 'shared';

/** `appended`: the original is still in front. `changed`: it is not. */
export type ImageHealth = 'intact' | 'appended' | 'changed' | 'missing';

/** What someone wrote into a file after it was displaced. */
export interface LateImage {
  /** The bytes that the file held before. */
  readonly sha256: string;
  /** Where it is now. It goes with the image. */
  readonly file: string;
  /** It was written over those bytes, and they are nowhere else. */
  readonly lost: boolean;
}

export interface KeptImage {
  readonly sha256: string;
  readonly bytes: number;
  /** When it was last kept or touched. */
  readonly sinceMs: number;
}

export interface ImageUsage {
  readonly count: number;
  readonly bytes: number;
}
