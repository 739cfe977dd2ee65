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
 * Where one name lives, pinned: `dir` stays the same directory whatever happens to the path that led there.
 * `${dir}/${name}` is an argument for the next system call only; never show, store or compare it.
 */
export interface Place {
  readonly path: ResolvedPath;
  /** A directory that cannot be redirected while the place is open. */
  readonly dir: string;
  /** One path component, never `..`, never empty (`.` for a root itself). */
  readonly name: string;
  /** Releases the directory. Calling it twice is harmless. */
  close(): void;
}

/** The argument for a system call on a place. */
export function at(place: Pick<Place, 'dir' | 'name'>): string {
  return `${place.dir}/${place.name}`;
}

export type FileKind = 'file' | 'directory' | 'link' | 'fifo' | 'socket' | 'device';
