declare const resolved: unique symbol;

/**
 * A path with all links resolved, inside the workspace at the moment of resolution. Only
 * `workspace/` makes one. It names a file in records, locks and messages. I/O uses a {@link Place}
 * instead.
 */
export interface ResolvedPath {
  /** Canonical root that contains the path. */
  readonly root: string;
  /** Relative to the root, `/` between parts, `''` for the root itself. */
  readonly relative: string;
  /** Canonical absolute path. */
  readonly absolute: string;
  /**
   * Identifies the file: the value of `absolute`. It is in lower case if the file system ignores
   * case, and in one Unicode form if the file system ignores Unicode forms.
   */
  readonly key: string;
  /** The path as the caller wrote it, for messages. */
  readonly given: string;
  readonly [resolved]: true;
}

/**
 * An open directory. Until `close`, it stays the same directory, even if its path then leads
 * elsewhere. `prefix` is only for the path argument of the next system call; never show, store or
 * compare it.
 */
export interface PinnedDirectory {
  readonly prefix: string;
  /** Pins a sub-directory. Throws the system's error if `name` is not a directory, or is a link to one. */
  enter(name: string): PinnedDirectory;
  /** Releases the directory. Calling it twice is harmless. */
  close(): void;
}

/** A name inside a pinned directory: I/O on a place cannot leave that directory. */
export interface Place {
  readonly path: ResolvedPath;
  readonly dir: PinnedDirectory;
  /** One path component, never `..`, never empty (`.` for a root itself). */
  readonly name: string;
  /**
   * If set, a file that this user owns is opened even if its mode denies reading. A change needs
   * this to save the bytes that it replaces.
   */
  readonly opensOwn?: true;
}

/** The path to pass to a system call on a place (a name in an open directory). */
export function at(place: Pick<Place, 'dir' | 'name'>): string {
  return `${place.dir.prefix}/${place.name}`;
}

/** True for the folder itself and everything in it. Both paths are canonical; the folder may be `/`. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || isBelow(path, folder);
}

/** True for everything in the folder, but not for the folder itself. */
export function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** All folders above the given paths, except `/`. */
export function foldersAbove(paths: Iterable<string>): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const path of paths)
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  return folders;
}

export type FileKind = 'file' | 'directory' | 'link' | 'fifo' | 'socket' | 'device';

/** A path with this prefix names the stored output of a command, which can only be read. */
export const OUTPUT_SCHEME = 'lookfirst-output:';

export function isOutputPath(path: unknown): path is string {
  return typeof path === 'string' && path.startsWith(OUTPUT_SCHEME);
}

/**
 * The variable that names the state folder for a command that runs on a layer. The folder is hidden
 * from that command.
 */
export const HIDDEN_STATE_VARIABLE = 'LOOKFIRST_HIDDEN_STATE';

/** The folder at the top of the file system in which a path is; undefined for a path at the top. */
export function topOf(path: string): string | undefined {
  return /^(\/[^/]+)\/./.exec(path)?.[1];
}

/** True if a recorded path is outside the workspace: it is recorded relative to the folder at the top. */
export function isOutside(
  { key, relative }: { readonly key: string; readonly relative: string },
  roots: readonly string[],
): boolean {
  const top = topOf(key);
  return top !== undefined && key === `${top}/${relative}` && !roots.includes(top);
}
