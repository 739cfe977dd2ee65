import { hash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import module, { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
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
 * the process ends.
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
  // other flags. The same applies while coverage is counted: V8 counts only code that it compiled
  // itself.
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
/**
 * Running time in seconds after which a process has probably compiled functions that are not
 * in the cache. `save` then checks whether the code has grown.
 */
const LONG_S = 5;
const NOTABLY = 1.1;
/**
 * The code of each source begins in the cache file at a multiple of this number of bytes. V8 would
 * copy code that begins elsewhere.
 */
const ALIGNMENT = 8;

/** The compiled code of one source file. It has a digest, because V8 would also run damaged code. */
interface Part {
  readonly mtimeMs: number;
  readonly sha256: string;
  readonly data: Buffer;
}

/** The entry of one source file in the head of the cache file. */
interface Listed extends Omit<Part, 'data'> {
  readonly name: string;
  readonly at: number;
  readonly size: number;
}

interface Loader {
  _compile(this: NodeJS.Module, text: string, file: string): unknown;
}

/**
 * A cache file with the compiled code of the bundled files: the length of the head, the head as
 * JSON, then the code of each source. Saved when the process ends, so that it holds the functions
 * that were used.
 */
class CompiledCode {
  readonly #file: string;
  readonly #sources: string;
  readonly #parts = new Map<string, Part>();
  readonly #scripts = new Map<string, Script>();
  #isComplete = true;

  constructor(file: string, sources: string) {
    this.#file = file;
    this.#sources = sources;
  }

  /** Makes Node run the bundled files from compiled code from now on. */
  load(): void {
    for (const [name, part] of readParts(this.#file)) this.#parts.set(name, part);
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
   * Writes the compiled code if a source file had no valid code in the cache. After a long run,
   * also writes it if the code has grown notably. A failure costs only time at the next start.
   */
  save(): void {
    if (this.#isComplete && process.uptime() < LONG_S) return;
    const before = sizeOf(this.#parts);
    try {
      for (const [file, script] of this.#scripts) {
        const data = script.createCachedData();
        const { mtimeMs } = statSync(file);
        this.#parts.set(basename(file), { mtimeMs, sha256: hash('sha256', data), data });
      }
      if (this.#isComplete && sizeOf(this.#parts) < before * NOTABLY) return;
      removeOld(dirname(this.#file));
      writeParts(this.#file, this.#parts);
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

function sizeOf(parts: ReadonlyMap<string, Part>): number {
  return [...parts.values()].reduce((sum, { data }) => sum + data.length, 0);
}

/**
 * Reads the compiled code of each source file from a cache file. Returns none if the cache file is
 * missing, is not a regular file, has a second hard link, or can be written by another user.
 */
function readParts(file: string): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>();
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return parts;
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.nlink !== 1 || !isOurs(stats)) return parts;
    const bytes = readFileSync(fd);
    if (bytes.length < ALIGNMENT) return parts;
    const start = bytes.readUInt32LE(0);
    // The cast is safe: `writeParts` wrote the file, and only this user can write to it.
    const head = JSON.parse(bytes.toString('utf8', ALIGNMENT, start)) as readonly Listed[];
    for (const { name, mtimeMs, sha256, at, size } of head)
      parts.set(name, { mtimeMs, sha256, data: bytes.subarray(start + at, start + at + size) });
    return parts;
  } catch {
    return new Map();
  } finally {
    closeSync(fd);
  }
}

function writeParts(file: string, parts: ReadonlyMap<string, Part>): void {
  const head: Listed[] = [];
  const pieces: Buffer[] = [];
  let at = 0;
  for (const [name, { mtimeMs, sha256, data }] of parts) {
    head.push({ name, mtimeMs, sha256, at, size: data.length });
    const rest = paddingAfter(data.length);
    pieces.push(data, Buffer.alloc(rest));
    at += data.length + rest;
  }
  const text = Buffer.from(JSON.stringify(head));
  const begin = Buffer.alloc(ALIGNMENT + text.length + paddingAfter(text.length), ' ');
  begin.writeUInt32LE(begin.length, 0);
  text.copy(begin, ALIGNMENT);
  const temporary = `${file}.${process.pid}.tmp`;
  const fd = openSync(temporary, 'wx', 0o600);
  try {
    for (const piece of [begin, ...pieces]) writeWhole(fd, piece);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
}

function paddingAfter(size: number): number {
  return (ALIGNMENT - (size % ALIGNMENT)) % ALIGNMENT;
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
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
