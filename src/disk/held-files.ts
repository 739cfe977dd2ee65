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
import { errnoOf } from '../model/errno.ts';
import { readAllSync } from './read.ts';

/** Someone who opened a file before we took it away has written by then, or is no editor. */
const GRACE_MS = 60_000;
const MAX_HELD = 64;
const CHUNK_BYTES = 1 << 18;
const IN_MEMORY_BYTES = 64 << 20;

/** A copy that was made of an open file: where it is, and what it held then. It may be moved on meanwhile. */
export interface Copied {
  readonly path: string;
  readonly sha256: string;
}

/**
 * Files without a name that others may still have open. A copy was kept elsewhere; the inode is held open for a
 * while, and what was written into it after the copy is kept as a second one.
 */
export class HeldFiles {
  readonly #held: { readonly fd: number; readonly copy: Copied; readonly untilMs: number }[] = [];
  readonly #graceMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(graceMs: number = GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Takes over the descriptor of a file that was copied. */
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

  /** Also if nothing more is changed: whoever wants to unmount the file system waits for us. */
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
      // No room for what came late. The change that took the file away is long done, and this one has no part in it.
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

/** Keeps what was written after the copy, and closes the file. */
function keepLate(fd: number, { path, sha256 }: Copied): void {
  const to = `${path}-late-${sha256}`;
  let bytes: Buffer;
  try {
    if (hashOf(fd) === sha256) return;
    const { size } = fstatSync(fd);
    if (size > IN_MEMORY_BYTES) {
      copyOut(fd, to);
      return;
    }
    bytes = readAllSync(fd, size);
  } finally {
    closeSync(fd);
  }
  // Closed first: a process that has too many files open can open this one instead.
  writeFileSync(to, bytes, { flag: 'wx', mode: 0o600 });
}

/** Copies an open file from its beginning to a new one of the same mode. */
export function copyOut(from: number, path: string): Copied {
  const to = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    fchmodSync(to, fstatSync(from).mode & 0o777);
    const sha256 = hashOf(from, (chunk) => {
      for (let done = 0; done < chunk.byteLength; ) done += writeSync(to, chunk, done);
    });
    return { path, sha256 };
  } finally {
    closeSync(to);
  }
}

function hashOf(fd: number, each: (chunk: Buffer) => void = () => {}): string {
  const digest = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let at = 0; ; ) {
    const count = readSync(fd, chunk, 0, CHUNK_BYTES, at);
    if (count === 0) return digest.digest('hex');
    const part = chunk.subarray(0, count);
    digest.update(part);
    each(part);
    at += count;
  }
}
