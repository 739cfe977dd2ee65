declare const resolved: unique symbol;

/**
 * A path after all links, inside the workspace at the moment it was resolved. Only `workspace/` makes one.
 * It names a file for ledgers, locks and messages; I/O never goes through it, but through a {@link Place}.
 */
export interface ResolvedPath {
  /** Canonical root the path lies in. */
  readonly root: string;
  /** Relative to the root, `/` between parts, `''` for the root itself. */
  readonly relative: string;
  /** Canonical absolute path. */
  readonly absolute: string;
  /** One file, one key: `absolute`, folded where the file system ignores case or Unicode form. */
  readonly key: string;
  /** As the caller wrote it; for messages. */
  readonly given: string;
  readonly [resolved]: true;
}

/**
 * A directory that cannot be redirected while it is held, whatever happens to the path that led there.
 * `prefix` is an argument for the next system call only; never show, store or compare it.
 */
export interface PinnedDirectory {
  readonly prefix: string;
  /** Pins a sub-directory. Throws the system's error if `name` is no directory, or a link to one. */
  enter(name: string): PinnedDirectory;
  /** Releases the directory. Calling it twice is harmless. */
  close(): void;
}

/** Where one name lives, pinned: I/O on a place cannot leave the directory it was found in. */
export interface Place {
  readonly path: ResolvedPath;
  readonly dir: PinnedDirectory;
  /** One path component, never `..`, never empty (`.` for a root itself). */
  readonly name: string;
  /** A file of this user without read permission is opened all the same, to keep the bytes that a change replaces. */
  readonly opensOwn?: true;
}

/** The argument for a system call on a place. */
export function at(place: Pick<Place, 'dir' | 'name'>): string {
  return `${place.dir.prefix}/${place.name}`;
}

export type FileKind = 'file' | 'directory' | 'link' | 'fifo' | 'socket' | 'device';
