import { hostname, networkInterfaces } from 'node:os';
import { basename, isAbsolute, join, normalize, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requiredHome, userHome } from '../config/home.ts';
import type { ServerTable } from '../dialect/calls/table.ts';
import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { paramsOf, rpcMeta } from '../wire/rpc.ts';

/** The facts that determine where the upstream's relative paths start. */
export interface UpstreamLocation {
  /** The canonical first root of our workspace; our own relative paths start there. */
  readonly root: string;
  /** Other names of the folder `root`. */
  readonly rootNames?: readonly string[];
  /** The upstream's working directory. */
  readonly cwd: string;
  /** The upstream's command line, or its URL. */
  readonly upstream:
    | { readonly command: string; readonly args: readonly string[] }
    | { readonly url: string };
}

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** The command line and folder with which a server is started. */
interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** Programs that run a server on this machine, in the folder in which they were started. */
const PLAIN = new Set('node nodejs bun npx bunx pnpx uvx pipx python python3'.split(' '));
/** Programs that run a server on this machine, perhaps in another folder. */
const LOCAL = new Set([...PLAIN, 'uv', 'serena']);
const OTHER_FOLDER = /^(-C|--(cwd|directory|prefix|chdir|dir|workdir))(=|$)/;

/**
 * Chooses the paths to forward, so that the upstream opens the files that we judged. Replaces a
 * path that the upstream might resolve differently by an absolute one. Leaves all paths unchanged
 * for a remote server, and for a server that accepts only relative paths.
 */
export class UpstreamPaths {
  readonly #where: UpstreamLocation;
  readonly #remote: boolean;
  #rootsGiven = false;
  #moved = false;

  constructor(where: UpstreamLocation) {
    this.#where = where;
    this.#remote = 'url' in where.upstream && !isThisMachine(new URL(where.upstream.url).hostname);
  }

  /**
   * Increases when the folder at which the server's relative paths start may have changed: once when
   * the client names or may name its roots, and once when a tool that changes the folder is called.
   */
  get version(): number {
    return Number(this.#rootsGiven) + Number(this.#moved);
  }

  /**
   * Reads the client's capabilities from a request. If they include `roots`, the client may name
   * the server's folders; see `sawRoots`.
   */
  sawClient(message: JsonRecord): void {
    const modern = rpcMeta(message)[CAPABILITIES];
    const capabilities = isRecord(modern) ? modern : fieldOf(paramsOf(message), 'capabilities');
    if (isRecord(capabilities) && capabilities['roots'] !== undefined) this.sawRoots();
  }

  /** Records that the client names the server's folders, or has announced that it may. */
  sawRoots(): void {
    this.#rootsGiven = true;
  }

  /** Records a call to a tool that may change the folder at which the server's relative paths start. */
  sawCall(tool: string, table: ServerTable | undefined): void {
    this.#moved ||= table?.elsewhere?.includes(tool) === true;
  }

  /** True for an absolute path without `..`, which means the same to every server. */
  static isPlain(path: string): boolean {
    return isAbsolute(path) && !climbs(path);
  }

  /** The path to forward, so that the upstream opens the file we judge. */
  forwarded(path: string, table: ServerTable): string {
    if (UpstreamPaths.isPlain(path) || this.#remote || table.onlyRelative === true) return path;
    const { cwd, root } = this.#where;
    const placed = upstreamPath(path, { ...table, cwd });
    const judged = isAbsolute(placed) ? normalize(placed) : join(root, placed);
    // Forward the judged path instead of the given one. Servers treat `..` differently: some follow
    // links before they apply it. And most servers do not accept URLs as paths.
    if (climbs(path) || isFileAddress(path)) return judged;
    return this.#isSure(path, table) ? path : judged;
  }

  #isSure(path: string, table: ServerTable): boolean {
    const { upstream, cwd, root, rootNames = [] } = this.#where;
    if ('url' in upstream) return false;
    const launch = { ...upstream, cwd };
    if (table.relativeTo === 'cwd' || (table.expandsHome && isHomePath(path)))
      return keepsFolder(launch, table);
    if (this.#moved || (this.#rootsGiven && table.followsRoots === true)) return false;
    const folder = folderOf(launch, table);
    return folder !== undefined && (folder === root || rootNames.includes(folder));
  }
}

function climbs(path: string): boolean {
  return path.includes('..') && path.split(/[/\\]/).includes('..');
}

/** True if a host is this machine, and so sees the same files. */
function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || name.startsWith('127.')) return true;
  if (name === hostname().toLowerCase()) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === name));
}

/**
 * True if the server certainly runs in the folder in which it is started, without a shell,
 * container or wrapper in between.
 */
export function keepsFolder({ command, args }: Launch, table: ServerTable): boolean {
  const name = programOf(command);
  const known = PLAIN.has(name) || name === table.id || table.serverNames.includes(name);
  return known && !args.some((arg) => OTHER_FOLDER.test(arg));
}

/**
 * The folder in the server's command line at which its relative paths start. Undefined if there is
 * none, or if it is uncertain which argument it is.
 */
export function folderOf(launch: Launch, table: ServerTable): string | undefined {
  const { folder } = table;
  if (folder === undefined) return undefined;
  return 'after' in folder ? folderAfter(launch, folder.after, table) : folderOption(launch, folder.option);
}

/**
 * The folder that follows the server's name in the command line. Only options may precede the name:
 * any other argument there might be another server.
 */
function folderAfter(launch: Launch, name: string, table: ServerTable): string | undefined {
  const { command, args, cwd } = launch;
  const first = args.findIndex((arg) => !arg.startsWith('-'));
  const isServer = isNamed(command, name);
  if (!isServer && !(keepsFolder(launch, table) && isNamed(args[first] ?? '', name))) return undefined;
  const folder = isServer ? args[0] : args[first + 1];
  const plain = folder !== undefined && folder !== '' && !folder.startsWith('-') && !folder.startsWith('~');
  return plain ? resolve(cwd, folder) : undefined;
}

function folderOption({ command, args }: Launch, option: string): string | undefined {
  if (!LOCAL.has(programOf(command))) return undefined;
  const values = args.flatMap((arg, index) => {
    if (arg === option) return [args[index + 1] ?? ''];
    return arg.startsWith(`${option}=`) ? [arg.slice(option.length + 1)] : [];
  });
  const [only] = values;
  // A relative value might be a name rather than a path.
  return only !== undefined && values.length === 1 && isAbsolute(only) ? resolve(only) : undefined;
}

/**
 * True if a word is the server's package, command or program: `NAME`, `mcp-NAME`,
 * `@scope/NAME@1.2`, `…/NAME/dist/index.js`.
 */
function isNamed(word: string, name: string): boolean {
  const parts = word.replace(/[/\\]dist[/\\]index\.js$/, '').split(/[/\\]/);
  const last = (parts.at(-1) ?? '').replace(/@.*$/, '').replace(/\.(cmd|exe)$/i, '');
  return last === name || last === `mcp-${name}`;
}

function programOf(command: string): string {
  return basename(command).replace(/\.(cmd|exe)$/i, '');
}

/** The upstream server's interpretation of a path. */
interface UpstreamPathRules {
  readonly relativeTo: ServerTable['relativeTo'];
  readonly expandsHome: boolean;
  /** The upstream's working directory. */
  readonly cwd: string;
}

/**
 * The path that our session must judge: the one that the upstream will open. A path relative to the
 * root stays unchanged.
 */
export function upstreamPath(path: string, reading: UpstreamPathRules): string {
  if (isFileAddress(path)) return fromFileUrl(path);
  if (reading.expandsHome && isHomePath(path)) return join(requiredHome(userHome()), path.slice(1));
  // Servers that accept an empty path take it as the folder itself.
  if (isAbsolute(path) || reading.relativeTo === 'root') return path === '' ? '.' : path;
  return join(reading.cwd, path);
}

function isFileAddress(path: string): boolean {
  return /^file:/i.test(path);
}

/** True for `~` and for paths that begin with `~/`. Some servers replace the `~` by the home folder. */
function isHomePath(path: string): boolean {
  return path === '~' || path.startsWith('~/');
}

function fromFileUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    // The URL names another host or contains an encoded slash. Some servers use its path all the same.
    return URL.canParse(url) ? new URL(url).pathname : url;
  }
}
