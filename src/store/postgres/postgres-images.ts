import { hash } from 'node:crypto';
import { Fault } from '../../model/fault.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { FileBlobs } from '../blobs/file-blobs.ts';
import { damagedImage, type Images, type ImageUsage, type KeptImage, missingImage } from '../images.ts';
import type { PostgresConnection } from './connection.ts';
import { type Row, SERVER_CLOCK } from './connection.ts';

/**
 * Maximum size of a file content in the database. Larger ones stay on their machine: a megabyte
 * takes a fifth of a second to write, and most source files are small.
 */
const MAX_SHARED_BYTES = 1 << 20;
/** Larger contents that were only read are not stored. */
const MAX_READ_BYTES = 128 << 10;
/** Contents that were only read are stored after this time, or when this many wait. */
const [READ_KEPT_AFTER_MS, MAX_WAITING] = [200, 100];
/** Number of stored contents listed per query. */
const LIST_PAGE = 5000;

interface ImageOptions {
  /** Stores earlier file contents as files on this machine. */
  readonly local: FileBlobs;
  readonly db: PostgresConnection;
  readonly machine: string;
  /** `here`: the bytes of secret files never leave this machine. `shared`: they may. */
  readonly secrets: 'here' | 'shared';
}

/**
 * The earlier file contents (images) of a fleet. Small images are in the database, for all
 * machines. Large and secret images are files of the machine that kept them, and the database names
 * that machine.
 */
export class PostgresImages implements Images {
  readonly #local: FileBlobs;
  readonly #db: PostgresConnection;
  readonly #machine: string;
  readonly #secrets: ImageOptions['secrets'];
  /** Hashes of bytes that must stay on this machine, because a file that held them was secret. */
  readonly #onlyHere = new Set<string>();
  /** Contents that were only read, and are not stored yet. */
  readonly #waiting = new Map<string, { readonly bytes: Uint8Array; readonly fingerprint: Fingerprint }>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ local, db, machine, secrets }: ImageOptions) {
    this.#local = local;
    this.#db = db;
    this.#machine = machine;
    this.#secrets = secrets;
  }

  placeOf({ sha256, size }: Fingerprint, content: 'plain' | 'secret'): 'shared' | 'here' {
    if (content === 'secret' && this.#secrets === 'here') this.#onlyHere.add(sha256);
    return size > MAX_SHARED_BYTES || this.#onlyHere.has(sha256) ? 'here' : 'shared';
  }

  async keepBytes(bytes: Uint8Array, fingerprint: Fingerprint): Promise<void> {
    if (this.placeOf(fingerprint, 'plain') === 'shared') await this.#share(fingerprint, bytes);
    else {
      await this.#local.keepBytes(bytes, fingerprint);
      await this.#recordHere(fingerprint);
    }
  }

  /** Stores them on this machine only: a transfer would cost more than they are worth. */
  keepSoon(bytes: Uint8Array, fingerprint: Fingerprint): void {
    if (bytes.byteLength > MAX_READ_BYTES) return;
    this.#waiting.set(fingerprint.sha256, { bytes, fingerprint });
    if (this.#waiting.size >= MAX_WAITING) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), READ_KEPT_AFTER_MS);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    // Ignore failures: these bytes only serve diffs.
    for (const { bytes, fingerprint } of waiting)
      this.#local.keepBytes(bytes, fingerprint).catch(() => undefined);
  }

  async keepChunks(chunks: AsyncIterable<Uint8Array>, fingerprint: Fingerprint): Promise<void> {
    await this.#local.keepChunks(chunks, fingerprint);
    await this.#recordHere(fingerprint);
  }

  /** The database makes each record durable. */
  sync(): Promise<void> {
    return this.#local.sync();
  }

  async has(sha256: string, purpose?: 'read' | 'rely'): Promise<boolean> {
    return (await this.#local.has(sha256, purpose)) || this.#isShared(sha256);
  }

  hasHere(sha256: string, purpose?: 'read' | 'rely'): Promise<boolean> {
    return this.#local.has(sha256, purpose);
  }

  keepHere(bytes: Uint8Array, fingerprint: Fingerprint): Promise<void> {
    return this.#local.keepBytes(bytes, fingerprint);
  }

  async keeper(sha256: string): Promise<string | undefined> {
    const text = `select machine from ${this.#db.schema}.images where sha256 = $1 and body is null and machine <> $2`;
    const [row] = await this.#db.query(text, [sha256, this.#machine]);
    return row === undefined ? undefined : String(row['machine']);
  }

  async read(fingerprint: Fingerprint): Promise<Uint8Array> {
    const isHere = await this.#local.has(fingerprint.sha256);
    if (!isHere) return this.#fetch(fingerprint);
    try {
      return await this.#local.read(fingerprint);
    } catch (error) {
      // The local copy cannot be read, for example because a program has overwritten it. Use the
      // copy in the database, if there is one.
      if (error instanceof Fault && (await this.#isShared(fingerprint.sha256)))
        return this.#fetch(fingerprint);
      throw error;
    }
  }

  async *chunks(fingerprint: Fingerprint): AsyncGenerator<Uint8Array> {
    if (fingerprint.size > MAX_SHARED_BYTES && (await this.#local.has(fingerprint.sha256)))
      yield* this.#local.chunks(fingerprint);
    else yield await this.read(fingerprint);
  }

  /**
   * Lists each stored content once, wherever it is stored. Loads the list of this machine as a
   * whole, and the list of the database in pages.
   */
  async *list(): AsyncGenerator<KeptImage> {
    const here = new Map<string, KeptImage>();
    for (const image of this.#local.list()) here.set(image.sha256, image);
    for await (const shared of this.#shared()) {
      const image = here.get(shared.sha256);
      here.delete(shared.sha256);
      yield image === undefined ? shared : { ...image, sinceMs: Math.max(image.sinceMs, shared.sinceMs) };
    }
    yield* here.values();
  }

  async *#shared(): AsyncGenerator<KeptImage> {
    for (let after = ''; ; ) {
      // Convert times of the server to the clock of this machine, because the clocks may differ.
      const rows = await this.#db.query(
        `select sha256, size, $2::bigint - ${SERVER_CLOCK} + since_ms as since_ms
         from ${this.#db.schema}.images where body is not null and sha256 > $1 order by sha256 limit ${LIST_PAGE}`,
        [after, Date.now()],
      );
      for (const row of rows)
        yield {
          sha256: String(row['sha256']),
          bytes: Number(row['size']),
          sinceMs: Number(row['since_ms']),
        };
      if (rows.length < LIST_PAGE) return;
      after = String(rows.at(-1)?.['sha256']);
    }
  }

  /**
   * Removes stored contents, except those in `needed` and those of changes that are announced
   * during this call. An announcement renews the time of its contents, and contents newer than this
   * call stay.
   */
  async remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage> {
    const [clock] = await this.#db.query(`select ${SERVER_CLOCK} as now`);
    const untilMs = Date.now();
    const kept = await needed();
    const unused = hashes.filter((sha256) => !kept.has(sha256));
    if (unused.length === 0) return { count: 0, bytes: 0 };
    const here = this.#local.remove(unused, untilMs);
    const gone = await this.#removeShared(unused, Number(clock?.['now']));
    const shared = gone.filter((row) => row['whole'] === true);
    return {
      count: Math.max(here.length, shared.length),
      bytes: Math.max(
        here.reduce((sum, size) => sum + size, 0),
        shared.reduce((sum, row) => sum + Number(row['size']), 0),
      ),
    };
  }

  /**
   * Removes contents from the database. Without the right to do so, removes nothing: the caller
   * then cleans up only its own machine.
   */
  async #removeShared(unused: readonly string[], untilMs: number): Promise<readonly Row[]> {
    const text = `delete from ${this.#db.schema}.images where sha256 = any($1::text[]) and since_ms <= $2
      returning size, body is not null as whole`;
    try {
      return await this.#db.maintain(text, [unused, untilMs]);
    } catch (error) {
      if (error instanceof Fault && error.reason === 'read-only') return [];
      throw error;
    }
  }

  #recordHere({ sha256, size }: Fingerprint): Promise<unknown> {
    return this.#record({ here: [{ h: sha256, z: size }] }, null, null);
  }

  #share({ sha256 }: Fingerprint, bytes: Uint8Array): Promise<unknown> {
    return this.#record({}, [sha256], [Buffer.from(bytes)]);
  }

  #record(
    more: object,
    hashes: readonly string[] | null,
    bodies: readonly Uint8Array[] | null,
  ): Promise<unknown> {
    const body = JSON.stringify({ machine: this.#machine, entries: [], ...more });
    const text = `select ${this.#db.schema}.lf_record($1::text::jsonb, $2::text[], $3::bytea[])`;
    return this.#db.query(text, [body, hashes, bodies]);
  }

  async #isShared(sha256: string): Promise<boolean> {
    const text = `select 1 from ${this.#db.schema}.images where sha256 = $1 and body is not null`;
    return (await this.#db.query(text, [sha256])).length > 0;
  }

  async #fetch({ sha256 }: Fingerprint): Promise<Uint8Array> {
    const text = `select body, machine from ${this.#db.schema}.images where sha256 = $1`;
    const [row] = await this.#db.query(text, [sha256]);
    if (row === undefined) throw missingImage(sha256);
    const { body, machine } = row;
    if (!(body instanceof Uint8Array))
      throw new Fault(
        'STORE_FAILED',
        `the bytes ${sha256.slice(0, 12)} are kept on the machine ${String(machine)} only, because they are secret or larger than 1 MB`,
        { reason: 'elsewhere' },
      );
    if (hash('sha256', body) !== sha256) throw damagedImage(sha256, 'the fleet store');
    return body;
  }
}
