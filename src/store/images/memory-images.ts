import { hash } from 'node:crypto';
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { Fault } from '../../model/fault.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import {
  type Adoption,
  changedWhileKept,
  damagedImage,
  type ImageHealth,
  type Images,
  type ImageUsage,
  type Kept,
  type KeptImage,
  type LateImage,
  missingImage,
} from '../images.ts';

/** Old file contents (images) in memory. They are lost when the process ends. */
export class MemoryImages implements Images {
  readonly #images = new Map<string, { readonly bytes: Uint8Array; readonly sinceMs: number }>();
  readonly #now: () => number;
  /** The most bytes that one read call accepts, on every Node version. */
  readonly maxBytes: number = 2 ** 31 - 1;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async keepBytes(bytes: Uint8Array, fingerprint: Fingerprint): Promise<Kept> {
    const known = this.#images.has(fingerprint.sha256);
    const kept = this.#images.get(fingerprint.sha256)?.bytes ?? new Uint8Array(bytes);
    this.#images.set(fingerprint.sha256, { bytes: kept, sinceMs: this.#now() });
    return known ? 'shared' : 'copied';
  }

  async keepLink(fromPath: string, fingerprint: Fingerprint): Promise<Kept> {
    const bytes = readFileSync(fromPath);
    if (hash('sha256', bytes) !== fingerprint.sha256) throw changedWhileKept(fromPath);
    return this.keepBytes(bytes, fingerprint);
  }

  async adopt(fromPath: string, { sha256 }: Fingerprint, { bytes }: Adoption = {}): Promise<Kept> {
    const known = this.#images.has(sha256);
    // Do not hash the bytes here: `read` checks the hash.
    if (!known) this.#images.set(sha256, { bytes: bytes ?? readFileSync(fromPath), sinceMs: this.#now() });
    unlinkSync(fromPath);
    return known ? 'shared' : 'copied';
  }

  /** Nothing to sync: memory does not outlive the process. */
  async sync(): Promise<void> {}

  makePrivate(): void {}

  async has(sha256: string): Promise<boolean> {
    return this.#images.has(sha256);
  }

  async read({ sha256 }: Fingerprint): Promise<Uint8Array> {
    const image = this.#images.get(sha256);
    if (image === undefined) throw missingImage(sha256);
    if (hash('sha256', image.bytes) !== sha256) throw damagedImage(sha256, 'memory');
    return new Uint8Array(image.bytes);
  }

  async *chunks(fingerprint: Fingerprint): AsyncGenerator<Uint8Array> {
    yield await this.read(fingerprint);
  }

  async copyTo(fingerprint: Fingerprint, toPath: string): Promise<void> {
    const bytes = await this.read(fingerprint);
    try {
      writeFileSync(toPath, bytes, { flag: 'wx', mode: 0o600 });
    } catch (cause) {
      throw new Fault('IO_FAILED', `cannot write ${toPath}`, { cause, path: toPath });
    }
  }

  async check({ sha256 }: Fingerprint): Promise<ImageHealth> {
    return this.#images.has(sha256) ? 'intact' : 'missing';
  }

  /** Always empty: no other program can write into this memory. */
  async *setAsideLate(): AsyncGenerator<LateImage> {}

  adoptLate(): boolean {
    return false;
  }

  async *list(): AsyncGenerator<KeptImage> {
    for (const [sha256, { bytes, sinceMs }] of this.#images)
      yield { sha256, bytes: bytes.byteLength, sinceMs };
  }

  async usage(): Promise<ImageUsage> {
    let bytes = 0;
    for (const image of this.#images.values()) bytes += image.bytes.byteLength;
    return { count: this.#images.size, bytes };
  }

  async remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage> {
    const before = await this.usage();
    const kept = await needed();
    for (const sha256 of hashes) if (!kept.has(sha256)) this.#images.delete(sha256);
    const after = await this.usage();
    return { count: before.count - after.count, bytes: before.bytes - after.bytes };
  }
}
