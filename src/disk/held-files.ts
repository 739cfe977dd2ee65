import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { errnoOf } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { readAllSync } from './read.ts';

/**
 * Time for which a file stays open after it was copied out of the workspace. Within this time, an
 * editor that opened the file earlier has usually saved it.
 */
const GRACE_MS = 60_000;
const MAX_HELD = 64;
const CHUNK_BYTES = 1 << 18;
const IN_MEMORY_BYTES = 64 << 20;

/**
 * A copy of an open file: the path at which the copy was made, and the hash of the copied bytes.
 * The copy may have been moved since.
 */
interface Copied {
  readonly path: string;
  readonly sha256: string;
}

/**
 * Holds deleted files open for a while after they were copied. If another process writes to such a
 * file, its new content is copied to a second file.
 */
export class HeldFiles {
  readonly #held: { readonly fd: number; readonly copy: Copied; readonly untilMs: number }[] = [];
  readonly #graceMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(graceMs: number = GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Takes ownership of the descriptor of a file that was copied. */
  hold(fd: number, copy: Copied): void {
    this.#held.push({ fd, copy, untilMs: Date.now() + this.#graceMs });
    if (this.#held.length > MAX_HELD) this.#release();
    this.#releaseLater();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#held.length > 0) this.#release();
  }

  /**
   * Closes the files on a timer, even without further changes: an open descriptor blocks unmounting
   * the file system.
   */
  #releaseLater(): void {
    const [oldest] = this.#held;
    if (oldest === undefined || this.#timer !== undefined) return;
    const release = (): void => {
      this.#timer = undefined;
      while ((this.#held[0]?.untilMs ?? Infinity) <= Date.now()) this.#release();
      this.#releaseLater();
    };
    this.#timer = setTimeout(release, Math.max(1, oldest.untilMs - Date.now())).unref();
  }

  #release(): void {
    const file = this.#held.shift();
    if (file === undefined) return;
    try {
      keepLate(file.fd, file.copy);
    } catch (error) {
      // Ignore system errors such as a full disk. The late bytes are lost, but no caller is left
      // that could report it.
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

/** If a program wrote to the file after it was copied, copies it again. Closes the file. */
function keepLate(fd: number, { path, sha256 }: Copied): void {
  const to = `${path}-late-${sha256}`;
  let bytes: Buffer;
  try {
    if (fingerprintOfOpen(fd).sha256 === sha256) return;
    const { size } = fstatSync(fd);
    if (size > IN_MEMORY_BYTES) {
      copyOut(fd, to);
      return;
    }
    bytes = readAllSync(fd, size);
  } finally {
    closeSync(fd);
  }
  // Write only now: closing `fd` freed a descriptor, which a process at its limit needs here.
  writeFileSync(to, bytes, { flag: 'wx', mode: 0o600 });
}

/** Copies an open file, from its beginning, to a new file with the same mode. */
export function copyOut(from: number, path: string): Copied {
  const to = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    fchmodSync(to, fstatSync(from).mode & 0o777);
    const { sha256 } = fingerprintOfOpen(from, (chunk) => {
      for (let done = 0; done < chunk.byteLength; ) done += writeSync(to, chunk, done);
    });
    return { path, sha256 };
  } finally {
    closeSync(to);
  }
}

/** Hashes an open file from its beginning, in bounded memory. */
export function fingerprintOfOpen(fd: number, each: (chunk: Buffer) => void = () => {}): Fingerprint {
  const digest = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let at = 0; ; ) {
    const count = readSync(fd, chunk, 0, CHUNK_BYTES, at);
    if (count === 0) return { sha256: digest.digest('hex'), size: at };
    const part = chunk.subarray(0, count);
    digest.update(part);
    each(part);
    at += count;
  }
}
