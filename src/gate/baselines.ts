import type { Fingerprint } from '../model/fingerprint.ts';
import { type Images, isNotKept } from '../store/images.ts';
import { mayHoldSecret } from '../text/secret-scan.ts';

const MAX_BYTES_IN_MEMORY = 64 << 20;
/** Larger files are compared by hash only: their diff would be too large to show. */
const MAX_FILE_BYTES = 8 << 20;
/**
 * Maximum number of files whose secret scan result is cached, about 200 bytes each. Beyond it, the
 * cache is cleared.
 */
const MAX_SCANNED = 5000;

/**
 * A bounded cache of the bytes shown to sessions, by fingerprint, so that a later change can be shown as a diff. A
 * missing entry only makes a refusal less detailed; the verdict stays STALE.
 */
export class Baselines {
  readonly #images: Pick<Images, 'has' | 'read' | 'keepSoon'>;
  readonly #share: boolean;
  readonly #recent = new RecentBytes(MAX_BYTES_IN_MEMORY);
  /**
   * For the hash of a file: the number of bytes at its beginning that hold no secret, or -1 if the
   * file may hold a secret.
   */
  readonly #plainBytes = new Map<string, number>();

  /** `share`: also store small files, for other processes and later starts. */
  constructor(images: Pick<Images, 'has' | 'read' | 'keepSoon'>, options: { readonly share: boolean }) {
    this.#images = images;
    this.#share = options.share;
  }

  remember(fingerprint: Fingerprint, bytes: Uint8Array): void {
    if (bytes.byteLength > MAX_FILE_BYTES) return;
    const isKnown = this.#recent.use(fingerprint.sha256, bytes);
    if (!isKnown && this.#share) this.#images.keepSoon(bytes, fingerprint);
  }

  /**
   * Like the function `mayHoldSecret`, for the bytes before `end`. `end` must be the end of a line,
   * so that no secret is cut: no secret spans two lines. The result is cached, so that each byte of
   * a file is searched once. After a secret was found in a file, true for every part of that file.
   */
  mayHoldSecret({ sha256 }: Fingerprint, bytes: Uint8Array, end: number = bytes.byteLength): boolean {
    const plain = this.#plainBytes.get(sha256) ?? 0;
    if (plain < 0 || plain >= end) return plain < 0;
    const may = mayHoldSecret(bytes.subarray(plain, end));
    if (this.#plainBytes.size >= MAX_SCANNED) this.#plainBytes.clear();
    this.#plainBytes.set(sha256, may ? -1 : end);
    return may;
  }

  /**
   * The bytes, if they are cached. Callers must not modify them: later diffs use them as the old
   * text.
   */
  peek({ sha256 }: Fingerprint): Uint8Array | undefined {
    return this.#recent.get(sha256);
  }

  /** The bytes, if they are cached or stored. */
  async recall(fingerprint: Fingerprint): Promise<Uint8Array | undefined> {
    const recent = this.#recent.get(fingerprint.sha256);
    if (recent !== undefined) return recent;
    if (fingerprint.size > MAX_FILE_BYTES || !(await this.#images.has(fingerprint.sha256))) return undefined;
    try {
      return await this.#images.read(fingerprint);
    } catch (error) {
      if (isNotKept(error)) return undefined;
      throw error;
    }
  }
}

/**
 * The bytes used last, in two generations. When the newer generation holds half of the limit, it
 * becomes the older one, and the previous older one is dropped. A single map in order of use would
 * be slow: in V8, with 10,000 keys, each use of a key takes 100 µs.
 */
class RecentBytes {
  readonly #limit: number;
  #newer = new Map<string, Uint8Array>();
  #older = new Map<string, Uint8Array>();
  #newerBytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(sha256: string): Uint8Array | undefined {
    return this.#newer.get(sha256) ?? this.#older.get(sha256);
  }

  /** Adds the bytes to the cache. Returns true if they were cached before. */
  use(sha256: string, bytes: Uint8Array): boolean {
    if (this.#newer.has(sha256)) return true;
    const isKnown = this.#older.has(sha256);
    this.#newer.set(sha256, bytes);
    this.#newerBytes += bytes.byteLength;
    if (this.#newerBytes > this.#limit / 2) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#newerBytes = 0;
    }
    return isKnown;
  }
}
