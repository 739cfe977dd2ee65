import { createHash, hash } from 'node:crypto';
import type { BigIntStats, Stats } from 'node:fs';
import { join } from 'node:path';
import type { Awaitable } from '../../model/awaitable.ts';
import { errnoOf, Fault, isMissing } from '../../model/fault.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { Durability } from '../../model/policy.ts';
import {
  type AdoptedStats,
  type Adoption,
  changedWhileKept,
  damagedImage,
  type ImageHealth,
  type ImagePurpose,
  type Images,
  type ImageUsage,
  type Kept,
  type KeptImage,
  type KeptTree,
  type LateImage,
  missingImage,
  notKeepable,
  type PackRequest,
  type WholeSync,
} from '../images.ts';
import { beginsWith, chunksOf, joinChunks, openImage, readStart, SMALL_BYTES, verified } from './bytes.ts';
import {
  COPY_MODE,
  ImageFolder,
  moveUnlessTaken,
  removeIfThere,
  setAside,
  statsOf,
  tryRename,
  tryReplace,
  writeNew,
  writeNewSmall,
} from './folder.ts';
import { linkAsTwin, moveToTwin, setAsideLate } from './late-image.ts';
import { packedFile, packImages, readPacked, removeImages } from './packed.ts';
import { KeptTrees } from './trees.ts';

/** Images (earlier contents of files) in `<home>/images`, shared by all processes with this state folder. */
export class FileImages implements Images {
  readonly #folder: ImageFolder;
  readonly #trees: KeptTrees;
  readonly #durability: Durability;

  constructor(home: string, options: { readonly durability: Durability }) {
    this.#folder = new ImageFolder(join(home, 'images'));
    this.#durability = options.durability;
    this.#trees = new KeptTrees(this.#folder, options.durability, this);
  }

  keepBytes(
    bytes: Uint8Array,
    fingerprint: Fingerprint,
    durability: Durability = this.#durability,
  ): Promise<Kept> {
    return this.#attempt('store', fingerprint.sha256, async () => {
      if (await this.#isThere(fingerprint)) return this.#shared(fingerprint, durability);
      const temp = this.#folder.temp();
      if (bytes.byteLength <= SMALL_BYTES) writeNewSmall(temp, bytes, durability);
      else await writeNew(this.#folder.ready(temp), [bytes], { durability, mode: COPY_MODE });
      return this.#publish(temp, fingerprint, durability);
    });
  }

  keepLink(
    fromPath: string,
    fingerprint: Fingerprint,
    durability: Durability = this.#durability,
  ): Promise<Kept> {
    return this.#attempt('store', fingerprint.sha256, async () => {
      const image = this.#folder.image(fingerprint.sha256);
      if (isLinkable(fromPath)) {
        if (await this.#isBeside(fromPath, fingerprint, linkAsTwin))
          return this.#shared(fingerprint, durability);
        if (tryReplace(fromPath, image, this.#folder.temp())) return this.#retained(image, durability);
      }
      return this.#copyIn(fromPath, fingerprint, durability);
    });
  }

  freeName({ sha256 }: Fingerprint, stats: BigIntStats): string | undefined {
    if (!isLinkableWith(stats)) return undefined;
    const image = this.#folder.image(sha256);
    if (statsOf(image) === undefined) return image;
    const twin = this.#folder.twin(sha256);
    return statsOf(twin) === undefined ? twin : undefined;
  }

  adopt(
    fromPath: string,
    fingerprint: Fingerprint,
    { durability = this.#durability, stats }: Adoption = {},
  ): Promise<Kept> {
    const { sha256 } = fingerprint;
    return this.#attempt('store', sha256, async () => {
      const image = this.#folder.image(sha256);
      if (fromPath === image) return this.#retained(image, durability);
      const isNamed = this.#folder.isTwin(fromPath, sha256);
      if (isNamed || (stats === undefined ? isLinkable(fromPath) : isLinkableWith(stats))) {
        if (await this.#isBeside(fromPath, fingerprint, moveToTwin))
          return this.#shared(fingerprint, durability);
        if (tryRename(fromPath, image)) return this.#retained(image, durability);
      }
      const kept = await this.#copyIn(fromPath, fingerprint, durability);
      removeIfThere(fromPath);
      return kept;
    });
  }

  keepTree(tree: KeptTree): Promise<void> {
    const [first] = tree.files;
    return this.#attempt('store', first?.fingerprint.sha256 ?? '', async () => this.#trees.keep(tree));
  }

  holdsTree(folder: string): boolean {
    return this.#trees.holds(folder);
  }

  dropTree(folder: string): void {
    this.#trees.drop(folder);
  }

  sync(hashes: readonly string[], whole?: WholeSync): Promise<void> {
    return this.#attempt('sync', hashes[0] ?? '', () => this.#folder.syncAll(hashes, whole));
  }

  makePrivate(images: Parameters<Images['makePrivate']>[0]): void {
    for (const { sha256, mode } of images) this.#folder.makePrivate(sha256, mode);
  }

  async has(sha256: string, purpose?: ImagePurpose): Promise<boolean> {
    const look = (): unknown =>
      this.#find(sha256, purpose) ?? packedFile(this.#folder, sha256, purpose) ?? this.#trees.find(sha256);
    return this.#attempt('look for', sha256, async () => (await lookFor(look)) !== undefined);
  }

  read(fingerprint: Fingerprint): Promise<Uint8Array> {
    return this.#attempt('read', fingerprint.sha256, async () => {
      if (fingerprint.size > SMALL_BYTES) return joinChunks(this.chunks(fingerprint), fingerprint.size);
      const bytes = await lookFor(() => this.#bytesOf(fingerprint));
      if (bytes === undefined) throw missingImage(fingerprint.sha256);
      return bytes;
    });
  }

  async *chunks(fingerprint: Fingerprint): AsyncGenerator<Uint8Array> {
    const { sha256, size } = fingerprint;
    // Read a small image (stored file) whole. A larger one is never compressed: read it in chunks.
    if (size <= SMALL_BYTES) return yield await this.read(fingerprint);
    const opened = await lookFor(async () => {
      const file = this.#find(sha256) ?? this.#trees.find(sha256)?.path;
      return file === undefined ? undefined : { file, handle: await openImage(file) };
    });
    if (opened === undefined) throw missingImage(sha256);
    const digest = createHash('sha256');
    for await (const chunk of chunksOf(opened.handle, size)) {
      digest.update(chunk);
      yield chunk;
    }
    if (digest.digest('hex') !== sha256) throw damagedImage(sha256, opened.file);
  }

  copyTo(fingerprint: Fingerprint, toPath: string): Promise<void> {
    return this.#attempt('restore', fingerprint.sha256, () =>
      writeNew(toPath, this.chunks(fingerprint), { durability: 'none', mode: 0o600 }),
    );
  }

  check(fingerprint: Fingerprint): Promise<ImageHealth> {
    return this.#attempt('check', fingerprint.sha256, async () => {
      const named = this.#find(fingerprint.sha256);
      if (named === undefined && this.#packedHealth(fingerprint) === 'intact') return 'intact';
      const file = named ?? this.#trees.find(fingerprint.sha256)?.path;
      if (file === undefined) return 'missing';
      if (!(await beginsWith(file, fingerprint)))
        return statsOf(file) === undefined ? this.#packedHealth(fingerprint) : 'changed';
      return statsOf(file)?.size === fingerprint.size ? 'intact' : 'appended';
    });
  }

  async *setAsideLate(fingerprints: readonly Fingerprint[]): AsyncGenerator<LateImage> {
    await this.#trees.setAsideWritten(new Map(fingerprints.map((each) => [each.sha256, each])));
    yield* setAsideLate(this.#folder, fingerprints, (sha256) => this.#trees.find(sha256) !== undefined);
  }

  adoptLate(fromPath: string, sha256: string): boolean {
    return tryRename(fromPath, this.#folder.late(sha256));
  }

  async *list(): AsyncGenerator<KeptImage> {
    const inTrees = this.#trees.usage();
    for (const { sha256, paths } of this.#folder.names()) {
      // A twin waits for late writers only; the bytes are stored once.
      const isTwin = (path: string): boolean => this.#folder.isTwin(path, sha256);
      const own = paths.every(isTwin) ? paths : paths.filter((path) => !isTwin(path));
      const stats = own.map(statsOf).filter((each) => each !== undefined);
      const { bytes = 0, sinceMs = 0 } = inTrees.get(sha256) ?? {};
      inTrees.delete(sha256);
      yield {
        sha256,
        bytes: stats.reduce((sum, each) => sum + each.size, bytes),
        // Use ctime, which linking sets. The modification time is from before the file was stored.
        sinceMs: Math.max(sinceMs, ...stats.map((each) => each.ctimeMs)),
      };
    }
    for (const [sha256, usage] of inTrees) yield { sha256, ...usage };
  }

  async usage(): Promise<ImageUsage> {
    let [count, bytes] = [0, 0];
    for await (const image of this.list()) {
      count++;
      bytes += image.bytes;
    }
    return { count, bytes };
  }

  remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage> {
    return this.#attempt('remove', hashes[0] ?? '', async () => {
      await this.#trees.takeIn({ hashes });
      return removeImages(this.#folder, hashes, needed);
    });
  }

  pack(request: PackRequest): Promise<ImageUsage> {
    const durability = this.#durability;
    return this.#attempt('compress', '', async () => {
      await this.#trees.takeIn({ signal: request.signal });
      return packImages(this.#folder, { ...request, durability });
    });
  }

  async #copyIn(fromPath: string, fingerprint: Fingerprint, durability: Durability): Promise<Kept> {
    // Verify bytes that are already stored, even our own copy: the caller may remove the source
    // file.
    if (await this.#holds(fingerprint)) return this.#shared(fingerprint, durability);
    const temp = this.#folder.temp();
    if (fingerprint.size <= SMALL_BYTES) {
      const { bytes, total } = readStart(fromPath, fingerprint.size);
      if (total !== fingerprint.size || hash('sha256', bytes) !== fingerprint.sha256)
        throw changedWhileKept(fromPath);
      writeNewSmall(temp, bytes, durability);
    } else {
      const chunks = verified(fromPath, fingerprint);
      await writeNew(this.#folder.ready(temp), chunks, { durability, mode: COPY_MODE });
    }
    return this.#publish(temp, fingerprint, durability);
  }

  /**
   * Renames a finished copy to the name of the image (the stored file). If another process has
   * stored the same bytes first, its image stays.
   */
  #publish(temp: string, { sha256 }: Fingerprint, durability: Durability): Kept {
    const image = this.#folder.image(sha256);
    moveUnlessTaken(temp, image);
    // The bytes were synced before the rename; only the name needs a sync.
    if (durability === 'full') this.#folder.sync(image, durability);
    return 'copied';
  }

  #retained(image: string, durability: Durability): Kept {
    this.#folder.sync(image, durability);
    return 'linked';
  }

  /**
   * Stores a file as a twin: under a second name beside the intact image with the same bytes. Both
   * files stay, because programs may have either of them open; a file that another program may have
   * open never takes the place of our own copy. Returns false if the file must become the image
   * itself. Sets aside an image that a program has changed.
   */
  async #isBeside(fromPath: string, fingerprint: Fingerprint, keepTwin: typeof moveToTwin): Promise<boolean> {
    const { sha256, size } = fingerprint;
    const image = this.#folder.image(sha256);
    const stats = statsOf(image);
    if (stats === undefined) return false;
    if (stats.size === size && (await beginsWith(image, fingerprint)))
      return this.#folder.isTwin(fromPath, sha256) || keepTwin(this.#folder, fromPath, fingerprint);
    setAside(image, this.#folder.late(sha256));
    return false;
  }

  #shared({ sha256 }: Fingerprint, durability: Durability): Kept {
    // The process that stored these bytes first may have requested less durability, so sync them
    // again.
    const image = this.#folder.image(sha256);
    if (statsOf(image) !== undefined) this.#folder.sync(image, durability);
    return 'shared';
  }

  /** Like `#holds`, but trusts a stored file that Lookfirst wrote as a copy, without reading its bytes. */
  async #isThere(fingerprint: Fingerprint): Promise<boolean> {
    return isCopy(this.#folder.image(fingerprint.sha256), fingerprint) || this.#holds(fingerprint);
  }

  /** True if the bytes are stored, perhaps with more after them. Sets aside a file that lost them. */
  async #holds(fingerprint: Fingerprint): Promise<boolean> {
    const image = this.#folder.image(fingerprint.sha256);
    // A compressed file that is being removed does not count, because it may be deleted now.
    const isPacked = (): boolean => statsOf(this.#folder.packed(fingerprint.sha256)) !== undefined;
    if (statsOf(image) === undefined) return isPacked() && this.#packedHealth(fingerprint) === 'intact';
    if (await beginsWith(image, fingerprint)) return true;
    setAside(image, this.#folder.late(fingerprint.sha256));
    return false;
  }

  /** Path of a stored file (image). For reading, a file that is being removed counts: it may be put back. */
  #find(sha256: string, purpose: ImagePurpose = 'read'): string | undefined {
    const names = [this.#folder.image(sha256), ...(purpose === 'read' ? [this.#folder.gone(sha256)] : [])];
    return names.find((file) => statsOf(file) !== undefined);
  }

  /** The bytes of a small stored file (image), compressed or not; undefined if there is none. */
  #bytesOf(fingerprint: Fingerprint): Uint8Array | undefined {
    const { sha256, size } = fingerprint;
    const named = this.#find(sha256);
    const packed = named === undefined ? readPacked(this.#folder, fingerprint) : undefined;
    const file = packed === undefined ? (named ?? this.#trees.find(sha256)?.path) : undefined;
    if (file === undefined) return packed;
    const { bytes } = readStart(file, size);
    if (hash('sha256', bytes) !== sha256) throw damagedImage(sha256, file);
    return bytes;
  }

  /** Checks a compressed file (image). Removes a damaged one and reports it as missing. */
  #packedHealth(fingerprint: Fingerprint): 'intact' | 'missing' {
    try {
      return readPacked(this.#folder, fingerprint) === undefined ? 'missing' : 'intact';
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      removeIfThere(this.#folder.packed(fingerprint.sha256));
      return 'missing';
    }
  }

  async #attempt<T>(what: string, sha256: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Fault || errnoOf(error) === undefined) throw error;
      const which = sha256 === '' ? '' : ` (SHA-256 ${sha256.slice(0, 12)})`;
      throw new Fault(
        'STORE_FAILED',
        `cannot ${what} earlier content of files${which} in ${this.#folder.path}: ${errnoOf(error)}`,
        { cause: error, path: this.#folder.path, reason: errnoOf(error) ?? '' },
      );
    }
  }
}

/** Maximum attempts to find a stored file. It is never renamed this often during one search. */
const MAX_LOOKS = 4;

/**
 * Retries finding a stored file (image) if it is missing or its name disappears before it is
 * opened. A clean-up hides such files and puts them back, and compression renames them.
 */
async function lookFor<T>(look: () => Awaitable<T | undefined>): Promise<T | undefined> {
  for (let looks = 1; looks < MAX_LOOKS; looks += 1) {
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return look();
}

/**
 * False if the store must copy the file instead of linking or moving it. Reasons: the file has
 * another hard link, through which programs could change the stored file. Or it has the mode of our
 * own copies, and would be trusted without reading its bytes.
 */
function isLinkable(fromPath: string): boolean {
  const stats = statsOf(fromPath);
  if (stats === undefined || !stats.isFile()) throw notKeepable(fromPath);
  return stats.nlink === 1 && (stats.mode & 0o777) !== COPY_MODE;
}

/** Like `isLinkable`, for a regular file whose stats are known. */
function isLinkableWith({ nlink, mode }: AdoptedStats): boolean {
  return nlink === 1n && Number(mode & 0o777n) !== COPY_MODE;
}

/** True for a copy that only our processes have written. */
function isCopy(image: string, fingerprint: Fingerprint, stats: Stats | undefined = statsOf(image)): boolean {
  return stats !== undefined && (stats.mode & 0o777) === COPY_MODE && stats.size === fingerprint.size;
}
