import { hostname, networkInterfaces } from 'node:os';
import { basename, isAbsolute, join, normalize, resolve } from 'node:path';
import type { ServerTable } from '../dialect/calls/table.ts';
import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { isFileAddress, isHomePath, upstreamPath } from './paths.ts';
import { metaOf, paramsOf } from './rpc.ts';

/** What is known of where the upstream's relative paths start. */
export interface Whereabouts {
  /** The first root of our workspace, canonical; our own relative paths start there. */
  readonly root: string;
  /** Other names of the same folder. */
  readonly rootNames?: readonly string[];
  /** The upstream's working directory. */
  readonly cwd: string;
  /** How it is started, or where it is reached. */
  readonly upstream:
    | { readonly command: string; readonly args: readonly string[] }
    | { readonly url: string };
}

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** How a server is started. */
interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** Programs that run what they are given here, in the folder they were started in. */
const PLAIN = new Set('node nodejs bun npx bunx pnpx uvx pipx python python3'.split(' '));
/** Programs that run it here, perhaps in another folder. */
const LOCAL = new Set([...PLAIN, 'uv', 'serena']);
const OTHER_FOLDER = /^(-C|--(cwd|directory|prefix|chdir|dir|workdir))(=|$)/;

/**
 * Knows which paths the upstream surely takes to be the files we judge; all others go to it as the absolute paths that were
 * judged. One for each connection, for clients can move a server.
 */
export class Bearings {
  readonly #where: Whereabouts;
  readonly #remote: boolean;
  #rootsGiven = false;
  #moved = false;

  constructor(where: Whereabouts) {
    this.#where = where;
    this.#remote = 'url' in where.upstream && !isThisMachine(new URL(where.upstream.url).hostname);
  }

  /** Grows whenever relative paths may have come to mean something else. */
  get edition(): number {
    return Number(this.#rootsGiven) + Number(this.#moved);
  }

  /** Takes a request in which a client says what it is able to do. */
  sawClient(message: JsonRecord): void {
    const modern = metaOf(message)[CAPABILITIES];
    const capabilities = isRecord(modern) ? modern : fieldOf(paramsOf(message), 'capabilities');
    if (isRecord(capabilities) && capabilities['roots'] !== undefined) this.sawRoots();
  }

  /** The client names, or may name, the server's folders. */
  sawRoots(): void {
    this.#rootsGiven = true;
  }

  /** A tool is called that may be one that moves the server. */
  sawCall(tool: string, table: ServerTable | undefined): void {
    this.#moved ||= table?.elsewhere?.includes(tool) === true;
  }

  /** True when nothing needs to be looked at: the path says by itself where it leads, to whomever. */
  static isPlain(path: string): boolean {
    return isAbsolute(path) && !climbs(path);
  }

  /** The path as the upstream must get it, so that it opens the file that we judge. */
  forwarded(path: string, table: ServerTable): string {
    if (Bearings.isPlain(path) || this.#remote || table.onlyRelative === true) return path;
    const { cwd, root } = this.#where;
    const placed = upstreamPath(path, { ...table, cwd });
    const judged = isAbsolute(placed) ? normalize(placed) : join(root, placed);
    // Names cancelled by dots are not the same to a server that follows links first; addresses are not paths to most.
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

/** Another machine's absolute paths are not ours; what is reached under a name of this one is taken to see our files. */
function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || name.startsWith('127.')) return true;
  if (name === hostname().toLowerCase()) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === name));
}

/** True when the server surely runs in the folder it is started in: no shell, container or wrapper can say otherwise. */
export function keepsFolder({ command, args }: Launch, table: ServerTable): boolean {
  const name = programOf(command);
  const known = PLAIN.has(name) || name === table.id || table.serverNames.includes(name);
  return known && !args.some((arg) => OTHER_FOLDER.test(arg));
}

/** The folder its command line says that relative paths start at; undefined: it does not, or not beyond doubt. */
export function folderOf(launch: Launch, table: ServerTable): string | undefined {
  const { folder } = table;
  if (folder === undefined) return undefined;
  return 'after' in folder ? folderAfter(launch, folder.after, table) : folderOption(launch, folder.option);
}

/** Only options may stand before the server's own name: an argument there might be a server of another name. */
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
  // A relative value may as well be a name.
  return only !== undefined && values.length === 1 && isAbsolute(only) ? resolve(only) : undefined;
}

/** A package, its command or its program: `NAME`, `mcp-NAME`, `@scope/NAME@1.2`, `…/NAME/dist/index.js`. */
function isNamed(word: string, name: string): boolean {
  const parts = word.replace(/[/\\]dist[/\\]index\.js$/, '').split(/[/\\]/);
  const last = (parts.at(-1) ?? '').replace(/@.*$/, '').replace(/\.(cmd|exe)$/i, '');
  return last === name || last === `mcp-${name}`;
}

function programOf(command: string): string {
  return basename(command).replace(/\.(cmd|exe)$/i, '');
}
