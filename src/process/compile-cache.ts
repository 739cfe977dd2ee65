import { hash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import module, { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { Script } from 'node:vm';
import { errnoOf, isTaken } from '../model/fault.ts';

/** `enableCompileCache` exists since Node 22.8; the types of Node 20 lack it. */
interface CompileCache {
  readonly enableCompileCache?: (folder: string) => unknown;
}

interface CompiledCodeOptions {
  /** Folders that no other user may write to. The last one holds the compiled code. */
  readonly folders: readonly string[];
  /** The folder of the bundled CommonJS files. */
  readonly sources: string;
  /**
   * The name of one set of compiled code. It differs for each build, and for each kind of command
   * that the program is started with.
   */
  readonly name: string;
}

/**
 * Keeps compiled code in a private folder, so that later starts need not compile it again. Does
 * nothing if another user can write to the folder, because code from it is run. Node 22.8 and later
 * store the code themselves. For older versions, returns a function that stores it: call it before
 * the process ends. On Node 20, this saves a fifth of the CPU that a server uses up to its first read.
 */
export function keepCompiledCode({ folders, sources, name }: CompiledCodeOptions): (() => void) | undefined {
  const folder = folders.at(-1);
  if (folder === undefined || !folders.slice(0, -1).every(isPrivate)) return undefined;
  if (!isMade(folder) || !isPrivate(folder)) return undefined;
  // The cast is safe: it only adds a member that may be absent.
  const { enableCompileCache } = module as CompileCache;
  if (enableCompileCache !== undefined) {
    enableCompileCache(folder);
    return undefined;
  }
  // Use no compiled code if Node was started with flags, because V8 rejects code compiled under
  // other flags. Also off while coverage is measured: V8 counts only code that it compiled itself.
  if (process.execArgv.length > 0 || process.env['NODE_OPTIONS'] || process.env['NODE_V8_COVERAGE'])
    return undefined;
  const { arch, versions } = process;
  const code = new CompiledCode(join(folder, `${name}-${versions.v8}-${arch}${SUFFIX}`), sources);
  code.load();
  return () => code.save();
}

/** Removes all compiled code. The next start of the program compiles it again. */
export function dropCompiledCode(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Creates the folder, but not its parents. True if it exists afterwards. */
function isMade(folder: string): boolean {
  try {
    mkdirSync(folder, 0o700);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return isTaken(error);
  }
}

/**
 * True for a folder of this user that no other user can write to. On Windows, which has no such permission bits, true
 * for every folder.
 */
function isPrivate(folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && isOurs(stats);
}

function isOurs({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
}

const SUFFIX = '.code';
/** Age after which compiled code of other builds and Node versions is removed. */
const MAX_AGE_MS = 30 * 24 * 3_600_000;

/** The compiled code of one source file. It has a digest, because V8 would also run damaged code. */
interface Part {
  readonly mtimeMs: number;
  readonly sha256: string;
  readonly data: Buffer;
}

interface Loader {
  _compile(this: NodeJS.Module, text: string, file: string): unknown;
}

/**
 * A cache file with the compiled code of the bundled files, by file name. Saved when the process
 * ends, so that it holds the functions that were used.
 */
class CompiledCode {
  readonly #file: string;
  readonly #sources: string;
  readonly #scripts = new Map<string, Script>();
  #parts = new Map<string, Part>();
  #isComplete = true;

  constructor(file: string, sources: string) {
    this.#file = file;
    this.#sources = sources;
  }

  /** Makes Node run the bundled files from compiled code from now on. */
  load(): void {
    this.#parts = readParts(this.#file);
    // Node 20 has no other way to compile a required file from a cache. The loader of Node 20 no longer changes, so its
    // internals are safe to use.
    const loader = module.prototype as unknown as Loader;
    const compile = loader._compile;
    const run = (from: NodeJS.Module, text: string, file: string): unknown => this.#run(from, text, file);
    const sources = this.#sources;
    loader._compile = function (this: NodeJS.Module, text: string, file: string): unknown {
      // Leave out files that contain `import()`, because it does not work in a script made by `vm`.
      const isCached = dirname(file) === sources && !text.includes('import(');
      return isCached ? run(this, text, file) : Reflect.apply(compile, this, [text, file]);
    };
  }

  /**
   * Writes the compiled code if a source file had no valid code in the cache. A failure costs only
   * time at the next start.
   */
  save(): void {
    if (this.#isComplete) return;
    try {
      for (const [file, script] of this.#scripts) {
        const data = script.createCachedData();
        const { mtimeMs } = statSync(file);
        this.#parts.set(basename(file), { mtimeMs, sha256: hash('sha256', data), data });
      }
      removeOld(dirname(this.#file));
      const temporary = `${this.#file}.${process.pid}.tmp`;
      writeFileSync(temporary, serialize(this.#parts), { mode: 0o600, flag: 'wx', flush: true });
      renameSync(temporary, this.#file);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }

  #run(from: NodeJS.Module, text: string, file: string): unknown {
    const part = this.#parts.get(basename(file));
    const isWhole = part?.mtimeMs === statSync(file).mtimeMs && part.sha256 === hash('sha256', part.data);
    const cachedData = isWhole ? part.data : undefined;
    const script = new Script(`(function(exports,require,module,__filename,__dirname){${text}\n})`, {
      filename: file,
      cachedData,
    });
    if (cachedData === undefined || script.cachedDataRejected === true) this.#isComplete = false;
    this.#scripts.set(file, script);
    // The cast is safe: the script's text is a function with the parameters of a CommonJS module.
    const body = script.runInThisContext() as (...around: unknown[]) => unknown;
    return Reflect.apply(body, from.exports, [from.exports, createRequire(file), from, file, dirname(file)]);
  }
}

/**
 * Reads the compiled code of each source file from a cache file. Returns none if the cache file is
 * missing, damaged or no regular file, has a second hard link, or can be written by another user.
 */
function readParts(file: string): Map<string, Part> {
  try {
    const fd = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.nlink !== 1 || !isOurs(stats)) return new Map();
      // The cast is safe: `save` wrote the file, and only this user can write to it.
      return deserialize(readFileSync(fd)) as Map<string, Part>;
    } finally {
      closeSync(fd);
    }
  } catch {
    return new Map();
  }
}

function removeOld(folder: string): void {
  const oldest = Date.now() - MAX_AGE_MS;
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(SUFFIX) && !name.endsWith('.tmp')) continue;
    const file = join(folder, name);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats !== undefined && stats.mtimeMs < oldest) unlinkSync(file);
  }
}
