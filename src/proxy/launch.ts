import { basename, isAbsolute, resolve } from 'node:path';
import type { ServerTable } from '../dialect/calls/table.ts';

/** How a server is started. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** Programs that run what they are given here, in the folder they were started in. */
const PLAIN = new Set('node nodejs bun npx bunx pnpx uvx pipx python python3'.split(' '));
/** Programs that run it here, perhaps in another folder. */
const LOCAL = new Set([...PLAIN, 'uv', 'serena']);
const OTHER_FOLDER = /^(-C|--(cwd|directory|prefix|chdir|dir|workdir))(=|$)/;

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
