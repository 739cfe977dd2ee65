import { closeSync, constants, fchmodSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';

/** Someone who opened a file before we took it away has written by then; editors hold files far shorter. */
const GRACE_MS = 1000;
const MAX_HELD = 64;
const CHUNK_BYTES = 1 << 18;

/**
 * Files without a name that others may still have open. A copy was kept elsewhere; the inode is held open for a
 * while, and what was written into it after the copy is kept as a second one.
 */
export class HeldFiles {
  readonly #held: { readonly fd: number; readonly copy: string; readonly sinceMs: number }[] = [];

  /** Takes over the descriptor of a file of which `copy` has the bytes. */
  hold(fd: number, copy: string): void {
    const nowMs = Date.now();
    this.#held.push({ fd, copy, sinceMs: nowMs });
    while (this.#held.length > MAX_HELD || nowMs - (this.#held[0]?.sinceMs ?? nowMs) > GRACE_MS)
      this.#release();
  }

  close(): void {
    while (this.#held.length > 0) this.#release();
  }

  #release(): void {
    const file = this.#held.shift();
    if (file === undefined) return;
    try {
      if (!sameBytes(file.fd, file.copy)) copyOut(file.fd, `${file.copy}-late`);
    } finally {
      closeSync(file.fd);
    }
  }
}

/** Copies an open file from its beginning to a new one of the same mode. */
export function copyOut(from: number, path: string): void {
  const to = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    fchmodSync(to, fstatSync(from).mode & 0o777);
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let at = 0; ; ) {
      const count = readSync(from, chunk, 0, CHUNK_BYTES, at);
      if (count === 0) return;
      for (let done = 0; done < count; ) done += writeSync(to, chunk, done, count - done);
      at += count;
    }
  } finally {
    closeSync(to);
  }
}

function sameBytes(fd: number, path: string): boolean {
  const other = openSync(path, constants.O_RDONLY);
  try {
    const [ours, theirs] = [Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)];
    for (let at = 0; ; ) {
      const count = readSync(fd, ours, 0, CHUNK_BYTES, at);
      const otherCount = readSync(other, theirs, 0, CHUNK_BYTES, at);
      if (count !== otherCount || ours.compare(theirs, 0, count, 0, count) !== 0) return false;
      if (count === 0) return true;
      at += count;
    }
  } finally {
    closeSync(other);
  }
}
