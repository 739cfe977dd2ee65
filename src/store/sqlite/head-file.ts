import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { errnoOf, isMissing } from '../../model/errno.ts';
import type { ChainLink } from '../store.ts';

const SEQ_DIGITS = 16;
/** One line of fixed length, so that one write at the start replaces it. */
const LINE = /^(\d{16}) ([0-9a-f]{64})\n$/;

/**
 * The newest entry of the journal, in a file beside the database. Written after each commit without waiting for the disk,
 * so it may be older than the database, never newer, unless entries were lost.
 */
export class HeadFile {
  readonly path: string;
  #fd: number | undefined;

  constructor(database: string) {
    this.path = `${database}.head`;
  }

  /** Undefined if there is none, or if a writer was killed in the middle of the line. */
  read(): ChainLink | undefined {
    try {
      const [, seq, hash] = LINE.exec(readFileSync(this.path, 'latin1')) ?? [];
      return seq === undefined || hash === undefined ? undefined : { seq: Number(seq), hash };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Failures are ignored: the entry is committed, and an older line is no lie. */
  write({ seq, hash }: ChainLink): void {
    try {
      this.#fd ??= openSync(this.path, constants.O_WRONLY | constants.O_CREAT, 0o600);
      writeSync(this.#fd, `${String(seq).padStart(SEQ_DIGITS, '0')} ${hash}\n`, 0, 'latin1');
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
