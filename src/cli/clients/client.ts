import { posix, win32 } from 'node:path';
import { stateFolder } from '../../config/home.ts';
import type { ConfigTable } from './config-value.ts';
import type { Launch } from './launch.ts';

/** The clients that `init` knows, by the names that users type. */
export const CLIENT_NAMES = [
  'claude-code',
  'claude-desktop',
  'codex',
  'gemini',
  'cursor',
  'vscode',
  'zed',
  'opencode',
] as const;
export type ClientName = (typeof CLIENT_NAMES)[number];

/** `user`: a file of one user of this machine. `project`: a file in the project's folder. */
export type ConfigScope = 'user' | 'project';

/** The facts that determine the location of a client's files. */
export interface ClientPlaces {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly project: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Our server, offered over HTTP. */
export interface Remote {
  readonly url: string;
  readonly token: string;
}

/**
 * One MCP client, such as Cursor: where its configuration is, and how an entry for our server looks. Pure data, no
 * I/O.
 */
export interface Client {
  readonly name: ClientName;
  /** The client's name as its vendor writes it. */
  readonly title: string;
  readonly format: 'json' | 'toml';
  /** The key of the configuration file under which the entries of servers are. */
  readonly servers: string;
  /** The scope that `init` uses by default. */
  readonly defaultScope: ConfigScope;
  /**
   * Candidate paths in order: `init` edits the first that exists, or creates the first. Empty if
   * the client has no file of this scope.
   */
  files(scope: ConfigScope, places: ClientPlaces): readonly string[];
  /** The client's program, as it is found on PATH. Claude Desktop has none. */
  readonly program?: string;
  /**
   * The text by which a project file names the project's folder, such as `.` or
   * `${workspaceFolder}`. Undefined if only a full path is reliable.
   */
  readonly projectDir: string | undefined;
  /**
   * The text by which the user's file names the current project's folder. If absent, the file
   * contains the folder's full path.
   */
  readonly userDir?: string;
  /** The environment variables that the client's servers inherit. If absent, they inherit all of them. */
  readonly inherits?: readonly string[];
  /**
   * The entry that starts our server. If the client's file is TOML, the entry's values are strings,
   * lists of strings and flat tables.
   */
  entry(launch: Launch): ConfigTable;
  /** The entry that connects to our server over HTTP; undefined if the client's file has no form for it. */
  remote(remote: Remote): ConfigTable | undefined;
  /** The next step for the user, which `init` prints. */
  readonly next: string;
  /**
   * The ways around the gate in a client with our server (`server`), and in one that also has our
   * hooks (`hooks`). If the client has no hooks, `hooks` is absent.
   */
  readonly around?: { readonly server: string; readonly hooks?: string };
}

/**
 * The environment that a server inherits from the client, without the variables that the server's
 * entry sets.
 */
export function inheritedBy(client: Client, env: ClientPlaces['env']): ClientPlaces['env'] {
  const { inherits } = client;
  if (inherits === undefined) return env;
  return Object.fromEntries(Object.entries(env).filter(([key]) => inherits.includes(key)));
}

/** Matches a URL with a password, which must not be written into a configuration file. */
const WITH_PASSWORD = /^\w+:\/\/[^/?#@]*:[^/?#@]*@|[?&]password=/i;

/**
 * The variables that our entry in the client's file must contain, because the client does not pass
 * them to its servers: the state folder and the store. Without them, our server and the `lookfirst`
 * command would use different records. A store URL with a password must not be in the file. The
 * entry then only names the variable (`forwards`).
 */
export function withheldBy(client: Client, places: ClientPlaces): Pick<Launch, 'env' | 'forwards'> {
  const { platform, home: homeFolder, env } = places;
  if (client.inherits === undefined) return {};
  const home = stateFolder({ platform, homeFolder, env });
  const theirs = stateFolder({ platform, homeFolder, env: inheritedBy(client, env) });
  const store = env['LOOKFIRST_STORE'] || undefined;
  const isSecret = store !== undefined && WITH_PASSWORD.test(store);
  return {
    env: {
      ...(home === theirs ? {} : { LOOKFIRST_HOME: home }),
      ...(store === undefined || isSecret ? {} : { LOOKFIRST_STORE: store }),
    },
    forwards: isSecret ? ['LOOKFIRST_STORE'] : [],
  };
}

/** The folders in which clients keep files; see `FOLDERS`. */
type ClientFolder =
  | 'project'
  | 'home'
  | 'settings'
  | 'xdg'
  | 'claude'
  | 'claudeState'
  | 'codex'
  | 'gemini'
  | 'zed';

/** A path in one of the folders of clients. */
export type ClientPath = `${ClientFolder}/${string}`;

const FOLDERS: Readonly<Record<ClientFolder, (places: ClientPlaces) => string>> = {
  project: ({ project }) => project,
  home: ({ home }) => home,
  /** The platform's folder for the settings of applications. */
  settings: (places) => {
    const { platform, env } = places;
    if (platform === 'win32') return env['APPDATA'] || clientPath(places, 'home/AppData/Roaming');
    return clientPath(places, platform === 'darwin' ? 'home/Library/Application Support' : 'xdg/');
  },
  /** The folder for the settings of Unix programs, also on macOS. */
  xdg: (places) => places.env['XDG_CONFIG_HOME'] || clientPath(places, 'home/.config'),
  claude: (places) => places.env['CLAUDE_CONFIG_DIR'] || clientPath(places, 'home/.claude'),
  /** The folder of `.claude.json`, Claude Code's file with the user's servers and the state of each project. */
  claudeState: ({ env, home }) => env['CLAUDE_CONFIG_DIR'] || home,
  codex: (places) => places.env['CODEX_HOME'] || clientPath(places, 'home/.codex'),
  /** The folder in which Gemini CLI has its user folder `.gemini`. */
  gemini: ({ env, home }) => env['GEMINI_CLI_HOME'] || home,
  zed: (places) => clientPath(places, places.platform === 'win32' ? 'settings/Zed' : 'xdg/zed'),
};

/** The full path of a client's file, with the platform's separators. */
export function clientPath(places: ClientPlaces, path: ClientPath): string {
  const [folder = '', ...names] = path.split('/');
  // The cast is safe: the type of `path` says that it begins with one of these names.
  const base = FOLDERS[folder as ClientFolder](places);
  return (places.platform === 'win32' ? win32 : posix).join(base, ...names);
}

/**
 * The HTTP header with which a client sends the token of our server. All clients but Codex expect
 * this form.
 */
export function bearer(token: string): ConfigTable {
  return { Authorization: `Bearer ${token}` };
}
