import { hash } from 'node:crypto';
import { type BigIntStats, readFileSync, writeFileSync } from 'node:fs';
import { Fault } from '../../model/fault.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { Durability } from '../../model/policy.ts';
import {
  type Adoption,
  changedWhileKept,
  damagedImage,
  type ImageHealth,
  type ImagePurpose,
  type Images,
  type ImageUsage,
  type Kept,
  type KeptImage,
  type LateImage,
  missingImage,
  type PackRequest,
} from '../images.ts';
import type { AnnouncedImages } from '../store.ts';
import type { PostgresConnection } from './connection.ts';
import { type Row, SERVER_CLOCK } from './driver.ts';

/**
 * Maximum size of a file content in the database. Larger ones stay on their machine: a megabyte
 * takes a fifth of a second to write, and most source files are small.
 */
const MAX_SHARED_BYTES = 1 << 20;
/**
 * Maximum number of hashes in `#sent`. If there are more, all are dropped, and `adopt` queries the
 * database instead.
 */
const MAX_SENT = 10_000;
/** Number of stored contents listed per query. */
const LIST_PAGE = 5000;

interface ImageOptions {
  /** Stores earlier file contents as files on this machine. */
  readonly local: Images;
  readonly db: PostgresConnection;
  readonly machine: string;
  /** `here`: the bytes of secret files never leave this machine. `shared`: they may. */
  readonly secrets: 'here' | 'shared';
}

/**
 * The earlier file contents (images) of a fleet. Small images are in the database, for all
 * machines. Large and secret images are files of the machine that kept them, and the database names
 * that machine. A replaced file of this machine's workspaces also stays on this machine as an
 * image, because a program may still have it open.
 */
export class PostgresImages implements Images {
  readonly #local: Images;
  readonly #db: PostgresConnection;
  readonly #machine: string;
  readonly #secrets: ImageOptions['secrets'];
  /** Hashes of bytes that must stay on this machine, because a file that held them was secret. */
  readonly #onlyHere = new Set<string>();
  /**
   * Hashes of bytes that were sent with an announced change, each with the number of the connection
   * that sent them.
   */
  readonly #sent = new Map<string, number>();

  constructor({ local, db, machine, secrets }: ImageOptions) {
    this.#local = local;
    this.#db = db;
    this.#machine = machine;
    this.#secrets = secrets;
  }

  /**
   * Stores file contents that only serve to show diffs later. They stay on this machine: a transfer
   * would cost more than they are worth.
   */
  get baselines(): Pick<Images, 'has' | 'read' | 'keepBytes'> {
    return {
      has: (sha256) => this.has(sha256),
      read: (fingerprint) => this.read(fingerprint),
      keepBytes: (bytes, fingerprint, durability) => this.#local.keepBytes(bytes, fingerprint, durability),
    };
  }

  placeOf({ sha256, size }: Fingerprint, content: 'plain' | 'secret'): 'shared' | 'here' {
    if (content === 'secret' && this.#secrets === 'here') this.#onlyHere.add(sha256);
    return size > MAX_SHARED_BYTES || this.#onlyHere.has(sha256) ? 'here' : 'shared';
  }

  announced({ shared }: AnnouncedImages): void {
    if (this.#sent.size > MAX_SENT) this.#sent.clear();
    for (const { fingerprint } of shared) this.#sent.set(fingerprint.sha256, this.#db.generation);
  }

  async keepBytes(bytes: Uint8Array, fingerprint: Fingerprint, durability?: Durability): Promise<Kept> {
    if (this.placeOf(fingerprint, 'plain') === 'here')
      return this.#keepOnlyHere(bytes, fingerprint, durability);
    const known = await this.#isShared(fingerprint.sha256);
    await this.#share(fingerprint, bytes);
    return known ? 'shared' : 'copied';
  }

  async keepLink(fromPath: string, fingerprint: Fingerprint, durability?: Durability): Promise<Kept> {
    const kept = await this.#local.keepLink(fromPath, fingerprint, durability);
    await this.#shareFile(fromPath, fingerprint);
    return kept;
  }

  /**
   * Sends the bytes to the database, unless the database already has them or they must stay on this
   * machine. Then stores the file on this machine.
   */
  async adopt(fromPath: string, fingerprint: Fingerprint, how: Adoption = {}): Promise<Kept> {
    const { sha256 } = fingerprint;
    const isSent =
      this.#sent.get(sha256) === this.#db.generation || this.placeOf(fingerprint, 'plain') === 'here';
    this.#sent.delete(sha256);
    if (!isSent && !(await this.#isShared(sha256)))
      await this.#share(fingerprint, how.bytes ?? readFileSync(fromPath));
    return this.#local.adopt(fromPath, fingerprint, how);
  }

  freeName(fingerprint: Fingerprint, stats: BigIntStats): string | undefined {
    return this.#local.freeName?.(fingerprint, stats);
  }

  sync(hashes: readonly string[]): Promise<void> {
    return this.#local.sync(hashes);
  }

  makePrivate(images: Parameters<Images['makePrivate']>[0]): void {
    this.#local.makePrivate(images);
  }

  async has(sha256: string, purpose?: ImagePurpose): Promise<boolean> {
    return (await this.#local.has(sha256, purpose)) || this.#isShared(sha256);
  }

  hasHere(sha256: string, purpose?: ImagePurpose): Promise<boolean> {
    return this.#local.has(sha256, purpose);
  }

  keepHere(bytes: Uint8Array, fingerprint: Fingerprint, durability?: Durability): Promise<Kept> {
    return this.#local.keepBytes(bytes, fingerprint, durability);
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

  async copyTo(fingerprint: Fingerprint, toPath: string): Promise<void> {
    if (fingerprint.size > MAX_SHARED_BYTES && (await this.#local.has(fingerprint.sha256)))
      return this.#local.copyTo(fingerprint, toPath);
    const bytes = await this.read(fingerprint);
    try {
      writeFileSync(toPath, bytes, { flag: 'wx', mode: 0o600 });
    } catch (cause) {
      throw new Fault('IO_FAILED', `cannot write ${toPath}`, { cause, path: toPath });
    }
  }

  async check(fingerprint: Fingerprint): Promise<ImageHealth> {
    const health = await this.#local.check(fingerprint);
    if (health === 'intact' || !(await this.#isShared(fingerprint.sha256))) return health;
    return health === 'missing' ? 'intact' : health;
  }

  setAsideLate(fingerprints: readonly Fingerprint[]): AsyncIterable<LateImage> {
    return this.#local.setAsideLate(fingerprints);
  }

  adoptLate(fromPath: string, sha256: string): boolean {
    return this.#local.adoptLate(fromPath, sha256);
  }

  /**
   * Lists each stored content once, wherever it is stored. Loads the list of this machine as a
   * whole, and the list of the database in pages.
   */
  async *list(): AsyncGenerator<KeptImage> {
    const here = new Map<string, KeptImage>();
    for await (const image of this.#local.list()) here.set(image.sha256, image);
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

  async usage(): Promise<ImageUsage> {
    let [count, bytes] = [0, 0];
    for await (const image of this.list()) {
      count += 1;
      bytes += image.bytes;
    }
    return { count, bytes };
  }

  async pack(request: PackRequest): Promise<ImageUsage> {
    return (await this.#local.pack?.(request)) ?? { count: 0, bytes: 0 };
  }

  /**
   * Removes stored contents, except those in `needed` and those of changes that are announced
   * during this call. An announcement renews the time of its contents, and contents newer than this
   * call stay.
   */
  async remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage> {
    const [clock] = await this.#db.query(`select ${SERVER_CLOCK} as now`);
    let kept: ReadonlySet<string> = new Set();
    const here = await this.#local.remove(hashes, async () => {
      kept = await needed();
      return kept;
    });
    if (hashes.length === 0) return here;
    const doomed = hashes.filter((sha256) => !kept.has(sha256));
    const gone = await this.#removeShared(doomed, Number(clock?.['now']));
    const shared = gone.filter((row) => row['whole'] === true);
    return {
      count: Math.max(here.count, shared.length),
      bytes: Math.max(
        here.bytes,
        shared.reduce((sum, row) => sum + Number(row['size']), 0),
      ),
    };
  }

  /**
   * Removes contents from the database. Without the right to do so, removes nothing: the caller
   * then cleans up only its own machine.
   */
  async #removeShared(doomed: readonly string[], untilMs: number): Promise<readonly Row[]> {
    const text = `delete from ${this.#db.schema}.images where sha256 = any($1::text[]) and since_ms <= $2
      returning size, body is not null as whole`;
    try {
      return await this.#db.maintain(text, [doomed, untilMs]);
    } catch (error) {
      if (error instanceof Fault && error.reason === 'read-only') return [];
      throw error;
    }
  }

  async #keepOnlyHere(bytes: Uint8Array, fingerprint: Fingerprint, durability?: Durability): Promise<Kept> {
    const kept = await this.#local.keepBytes(bytes, fingerprint, durability);
    await this.#record({ here: [{ h: fingerprint.sha256, z: fingerprint.size }] }, null, null);
    return kept;
  }

  async #shareFile(file: string, fingerprint: Fingerprint): Promise<void> {
    if (this.placeOf(fingerprint, 'plain') === 'here' || (await this.#isShared(fingerprint.sha256))) return;
    const bytes = readFileSync(file);
    if (hash('sha256', bytes) !== fingerprint.sha256) throw changedWhileKept(file);
    await this.#share(fingerprint, bytes);
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
