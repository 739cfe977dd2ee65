import { hash } from 'node:crypto';
import type { Fingerprint } from '../../model/fingerprint.ts';
import {
  type BlobRows,
  changedWhileKept,
  damagedImage,
  type ImagePurpose,
  type Images,
  type ImageUsage,
  type KeptImage,
  missingImage,
} from '../images.ts';
import type { FileBlobs } from './file-blobs.ts';

/** Contents up to this size are rows of the database, larger ones are files. */
const MAX_ROW_BYTES = 128 << 10;
/** The most bytes that SQLite accepts in one row, with room for the other columns. */
const MAX_BYTES_IN_MEMORY = 999_999_000;

/**
 * The earlier file contents of one machine: small ones in the database, in the transaction of the
 * change that needs them, large ones as files. Without files, all are in the database.
 */
export class LocalImages implements Images {
  readonly #rows: BlobRows;
  readonly #files: FileBlobs | undefined;
  readonly #now: () => number;
  readonly maxBytes?: number;

  constructor(rows: BlobRows, files: FileBlobs | undefined, now: () => number = Date.now) {
    this.#rows = rows;
    this.#files = files;
    this.#now = now;
    if (files === undefined) this.maxBytes = MAX_BYTES_IN_MEMORY;
  }

  placeOf({ size }: Fingerprint): 'shared' | 'here' {
    return this.#filesFor(size) === undefined ? 'shared' : 'here';
  }

  async keepBytes(bytes: Uint8Array, fingerprint: Fingerprint): Promise<void> {
    const files = this.#filesFor(fingerprint.size);
    if (files === undefined) this.#rows.keep(bytes, fingerprint);
    else await files.keepBytes(bytes, fingerprint);
  }

  async keepChunks(chunks: AsyncIterable<Uint8Array>, fingerprint: Fingerprint): Promise<void> {
    const files = this.#filesFor(fingerprint.size);
    if (files !== undefined) return files.keepChunks(chunks, fingerprint);
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    const bytes = Buffer.concat(parts);
    if (hash('sha256', bytes) !== fingerprint.sha256) throw changedWhileKept(fingerprint);
    this.#rows.keep(bytes, fingerprint);
  }

  keepSoon(bytes: Uint8Array, fingerprint: Fingerprint): void {
    if (bytes.byteLength <= MAX_ROW_BYTES) this.#rows.keepSoon(bytes, fingerprint);
  }

  flush(): void {
    this.#rows.flush();
  }

  async sync(): Promise<void> {
    await this.#files?.sync();
    await this.#rows.sync();
  }

  async has(sha256: string, purpose: ImagePurpose = 'read'): Promise<boolean> {
    const isRow = purpose === 'rely' ? this.#rows.renew(sha256) : this.#rows.has(sha256);
    return isRow || (await this.#files?.has(sha256, purpose)) === true;
  }

  async read(fingerprint: Fingerprint): Promise<Uint8Array> {
    const { sha256 } = fingerprint;
    const bytes = this.#rows.read(sha256);
    if (bytes === undefined) {
      if (this.#files === undefined) throw missingImage(sha256);
      return this.#files.read(fingerprint);
    }
    if (hash('sha256', bytes) !== sha256) throw damagedImage(sha256, 'the database');
    return new Uint8Array(bytes);
  }

  async *chunks(fingerprint: Fingerprint): AsyncGenerator<Uint8Array> {
    const files = this.#filesFor(fingerprint.size);
    if (files !== undefined && !this.#rows.has(fingerprint.sha256)) yield* files.chunks(fingerprint);
    else yield await this.read(fingerprint);
  }

  async *list(): AsyncGenerator<KeptImage> {
    yield* this.#rows.list();
    if (this.#files !== undefined) yield* this.#files.list();
  }

  async remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage> {
    const untilMs = this.#now();
    const kept = await needed();
    const loose = hashes.filter((sha256) => !kept.has(sha256));
    const sizes = [...this.#rows.remove(loose, untilMs), ...(this.#files?.remove(loose, untilMs) ?? [])];
    return { count: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
  }

  removeRead(untilMs: number): void {
    this.#rows.removeRead(untilMs);
  }

  #filesFor(size: number): FileBlobs | undefined {
    return size > MAX_ROW_BYTES ? this.#files : undefined;
  }
}
