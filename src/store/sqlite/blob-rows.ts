import type { Fingerprint } from '../../model/fingerprint.ts';
import type { BlobRows, KeptImage } from '../images.ts';
import type { AnnouncedImages } from '../store.ts';
import type { Connection } from './connection.ts';

/** A content that was kept for a change stays one, also when a session reads it later. */
const INSERT =
  'insert into blobs values (?, ?, ?, ?, ?) on conflict (sha256) do update ' +
  'set since_ms = excluded.since_ms, kept = max(kept, excluded.kept)';
/** When this many bytes wait for the next transaction, they are written at once. */
const MAX_WAITING_BYTES = 16 << 20;

/** The small file contents in the database of a local store. */
export class SqliteBlobs implements BlobRows {
  readonly #db: Connection;
  readonly #now: () => number;
  /** Contents that were only read. They are written with the next transaction. */
  #waiting = new Map<string, Uint8Array>();
  #waitingBytes = 0;

  constructor(db: Connection, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  keep(bytes: Uint8Array, { sha256 }: Fingerprint): void {
    this.#db.attempt(() => this.#insert(sha256, bytes, 1));
  }

  keepSoon(bytes: Uint8Array, { sha256 }: Fingerprint): void {
    this.#waiting.set(sha256, bytes);
    this.#waitingBytes += bytes.byteLength;
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.flush();
  }

  flush(): void {
    if (this.#waiting.size > 0) this.#db.transaction(() => this.writeWaiting());
  }

  /** Writes the waiting contents. The caller must have begun a transaction. */
  writeWaiting(): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Map();
    this.#waitingBytes = 0;
    for (const [sha256, bytes] of waiting) this.#insert(sha256, bytes, 0);
  }

  /** Writes the contents that an announced change destroys. The caller must have begun a transaction. */
  writeAnnounced({ shared }: AnnouncedImages): void {
    for (const { fingerprint, bytes } of shared) this.#insert(fingerprint.sha256, bytes, 1);
  }

  has(sha256: string): boolean {
    if (this.#waiting.has(sha256)) return true;
    return (
      this.#db.attempt(() => this.#db.sql('select 1 from blobs where sha256 = ?').get(sha256)) !== undefined
    );
  }

  renew(sha256: string): boolean {
    const text = 'update blobs set since_ms = ?, kept = 1 where sha256 = ? returning 1';
    return this.#db.attempt(() => this.#db.sql(text).get(this.#now(), sha256)) !== undefined;
  }

  read(sha256: string): Uint8Array | undefined {
    const waiting = this.#waiting.get(sha256);
    if (waiting !== undefined) return waiting;
    const row = this.#db.attempt(() => this.#db.sql('select body from blobs where sha256 = ?').get(sha256));
    // The cast is safe: the select determines the shape.
    return (row as { readonly body: Uint8Array } | undefined)?.body;
  }

  list(): readonly KeptImage[] {
    this.flush();
    const text = 'select sha256, size as bytes, since_ms as sinceMs from blobs';
    // The cast is safe: the select determines the shape.
    return this.#db.attempt(() => this.#db.sql(text).all()) as readonly KeptImage[];
  }

  remove(hashes: readonly string[], untilMs: number): readonly number[] {
    this.flush();
    // Overwrite the bytes: a purge must leave nothing of a secret in free pages.
    this.#db.attempt(() => this.#db.sql('pragma secure_delete = on').get());
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

  /** Resolves when everything kept so far is on the disk. */
  sync(): Promise<void> {
    return this.#db.sync();
  }

  #insert(sha256: string, bytes: Uint8Array, kept: 0 | 1): void {
    this.#db.sql(INSERT).run(sha256, this.#now(), kept, bytes.byteLength, bytes);
  }

  #freeSpace(): void {
    // Each step of the pragma frees one page; `all` runs it to the end.
    this.#db.attempt(() => this.#db.sql('pragma incremental_vacuum').all());
    this.#db.attempt(() => this.#db.sql('pragma wal_checkpoint(passive)').get());
  }
}
