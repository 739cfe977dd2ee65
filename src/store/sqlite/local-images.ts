import { hash } from 'node:crypto';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { FileBlobs } from '../blobs/file-blobs.ts';
import {
  changedWhileKept,
  damagedImage,
  type Images,
  type ImageUsage,
  type KeptImage,
  missingImage,
} from '../images.ts';
import type { AnnouncedImages } from '../store.ts';
import type { Connection } from './connection.ts';
import type { SqlValue } from './driver.ts';

/** Contents up to this size are rows of the database, larger ones are files. */
const MAX_ROW_BYTES = 128 << 10;
/** The most bytes that SQLite accepts in one row, with room for the other columns. */
const MAX_BYTES_IN_MEMORY = 999_999_000;
/** When this many bytes wait for the next transaction, they are written at once. */
const MAX_WAITING_BYTES = 16 << 20;

/** A content that was kept for a change stays one, also when a session reads it later. */
const INSERT =
  'insert into blobs values (?, ?, ?, ?, ?) on conflict (sha256) do update ' +
  'set since_ms = excluded.since_ms, kept = max(kept, excluded.kept)';

/**
 * The earlier file contents of one machine: small ones in the database, in the transaction of the
 * change that needs them, large ones as files. Without files, all are in the database.
 */
export class LocalImages implements Images {
  readonly maxBytes?: number;
  readonly #db: Connection;
  readonly #files: FileBlobs | undefined;
  readonly #now: () => number;
  /** Contents that were only read. They are written with the next transaction. */
  #waiting = new Map<string, Uint8Array>();
  #waitingBytes = 0;

  constructor(db: Connection, files: FileBlobs | undefined, now: () => number = Date.now) {
    this.#db = db;
    this.#files = files;
    this.#now = now;
    if (files === undefined) this.maxBytes = MAX_BYTES_IN_MEMORY;
  }

  placeOf({ size }: Fingerprint): 'shared' | 'here' {
    return this.#filesFor(size) === undefined ? 'shared' : 'here';
  }

  async keepBytes(bytes: Uint8Array, fingerprint: Fingerprint): Promise<void> {
    const files = this.#filesFor(fingerprint.size);
    if (files === undefined) this.#db.attempt(() => this.#insert(fingerprint.sha256, bytes, 1));
    else await files.keepBytes(bytes, fingerprint);
  }

  async keepChunks(chunks: AsyncIterable<Uint8Array>, fingerprint: Fingerprint): Promise<void> {
    const files = this.#filesFor(fingerprint.size);
    if (files !== undefined) return files.keepChunks(chunks, fingerprint);
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    const bytes = Buffer.concat(parts);
    if (hash('sha256', bytes) !== fingerprint.sha256) throw changedWhileKept(fingerprint);
    await this.keepBytes(bytes, fingerprint);
  }

  keepSoon(bytes: Uint8Array, { sha256 }: Fingerprint): void {
    if (bytes.byteLength > MAX_ROW_BYTES) return;
    this.#waiting.set(sha256, bytes);
    this.#waitingBytes += bytes.byteLength;
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.flush();
  }

  flush(): void {
    if (this.#waiting.size > 0) this.#db.transaction(() => this.write());
  }

  /**
   * Writes the contents that an announced change destroys, and the waiting ones. The caller must have
   * begun a transaction.
   */
  write({ shared }: Pick<AnnouncedImages, 'shared'> = { shared: [] }): void {
    for (const { fingerprint, bytes } of shared) {
      this.#waiting.delete(fingerprint.sha256);
      this.#insert(fingerprint.sha256, bytes, 1);
    }
    if (this.#waiting.size === 0) return;
    for (const [sha256, bytes] of this.#waiting) this.#insert(sha256, bytes, 0);
    this.#waiting.clear();
    this.#waitingBytes = 0;
  }

  async sync(): Promise<void> {
    await this.#files?.sync();
    await this.#db.sync();
  }

  async has(sha256: string, purpose: 'read' | 'rely' = 'read'): Promise<boolean> {
    const renew = 'update blobs set since_ms = ?, kept = 1 where sha256 = ? returning 1';
    const isRow =
      purpose === 'rely' ? this.#get(renew, this.#now(), sha256) !== undefined : this.#hasRow(sha256);
    return isRow || (await this.#files?.has(sha256, purpose)) === true;
  }

  async read(fingerprint: Fingerprint): Promise<Uint8Array> {
    const { sha256 } = fingerprint;
    const bytes = this.#waiting.get(sha256) ?? this.#row(sha256);
    if (bytes === undefined) {
      if (this.#files === undefined) throw missingImage(sha256);
      return this.#files.read(fingerprint);
    }
    if (hash('sha256', bytes) !== sha256) throw damagedImage(sha256, 'the database');
    return new Uint8Array(bytes);
  }

  async *chunks(fingerprint: Fingerprint): AsyncGenerator<Uint8Array> {
    const files = this.#filesFor(fingerprint.size);
    if (files !== undefined && !this.#hasRow(fingerprint.sha256)) yield* files.chunks(fingerprint);
    else yield await this.read(fingerprint);
  }

  async *list(): AsyncGenerator<KeptImage> {
    this.flush();
    const text = 'select sha256, size as bytes, since_ms as sinceMs from blobs';
    // The cast is safe: the select determines the shape.
    yield* this.#db.attempt(() => this.#db.sql(text).all()) as KeptImage[];
    if (this.#files !== undefined) yield* this.#files.list();
  }

  async remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage> {
    const untilMs = this.#now();
    const kept = await needed();
    const loose = hashes.filter((sha256) => !kept.has(sha256));
    const sizes = [...this.#removeRows(loose, untilMs), ...(this.#files?.remove(loose, untilMs) ?? [])];
    return { count: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
  }

  #removeRows(hashes: readonly string[], untilMs: number): readonly number[] {
    this.flush();
    // Overwrite the bytes: a purge must leave nothing of a secret in free pages.
    this.#get('pragma secure_delete = on');
    const text = 'delete from blobs where sha256 = ? and since_ms < ? returning size';
    const removed = this.#db.transaction(() =>
      hashes.flatMap((sha256) => this.#db.sql(text).all(sha256, untilMs) as { size: number }[]),
    );
    this.#freeSpace();
    return removed.map(({ size }) => size);
  }

  removeRead(untilMs: number): void {
    const text = 'delete from blobs where kept = 0 and since_ms < ?';
    this.#db.attempt(() => this.#db.sql(text).run(untilMs));
    this.#freeSpace();
  }

  #filesFor(size: number): FileBlobs | undefined {
    return size > MAX_ROW_BYTES ? this.#files : undefined;
  }

  #hasRow(sha256: string): boolean {
    return (
      this.#waiting.has(sha256) || this.#get('select 1 from blobs where sha256 = ?', sha256) !== undefined
    );
  }

  #row(sha256: string): Uint8Array | undefined {
    const row = this.#get('select body from blobs where sha256 = ?', sha256);
    // The cast is safe: the select determines the shape.
    return (row as { readonly body: Uint8Array } | undefined)?.body;
  }

  #get(text: string, ...values: readonly SqlValue[]): unknown {
    return this.#db.attempt(() => this.#db.sql(text).get(...values));
  }

  #insert(sha256: string, bytes: Uint8Array, kept: 0 | 1): void {
    this.#db.sql(INSERT).run(sha256, this.#now(), kept, bytes.byteLength, bytes);
  }

  #freeSpace(): void {
    // Each step of the pragma frees one page; `all` runs it to the end.
    this.#db.attempt(() => this.#db.sql('pragma incremental_vacuum').all());
    this.#get('pragma wal_checkpoint(passive)');
  }
}
