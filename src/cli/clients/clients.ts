import { delimiter, join } from 'node:path';
import { canonicalPath } from '../../records/scope.ts';
import {
  bearer,
  CLIENT_NAMES,
  type Client,
  type ClientName,
  type ClientPath,
  type ClientPlaces,
  type ConfigScope,
  clientPath,
  type Remote,
} from './client.ts';
import { type Launch, type Starter, serveLaunch, usualStarter } from './launch.ts';
import { newFile } from './servers.ts';

/**
 * The only environment variables that Codex, and programs built on the MCP library's client, pass
 * to servers.
 */
const FEW_VARIABLES = [
  'HOME LANG LC_ALL LOGNAME PATH SHELL TERM TMPDIR TZ USER',
  'APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE',
].flatMap((names) => names.split(' '));

function environmentOf({ env = {} }: Launch): { readonly env?: Readonly<Record<string, string>> } {
  return Object.keys(env).length === 0 ? {} : { env };
}

/** Makes the function `files` of a client from its candidate paths. */
function filesAt(paths: Readonly<Record<ConfigScope, readonly ClientPath[]>>): Client['files'] {
  return (scope, places) => paths[scope].map((path) => clientPath(places, path));
}

const LATER =
  'shell writes that the command line does not name are recorded and can be undone, but are not prevented';

/** Every client that `init` can configure. */
export const CLIENTS: { readonly [name in ClientName]: Client } = {
  // Claude Code asks the user before it uses a project's `.mcp.json` for the first time.
  'claude-code': {
    name: 'claude-code',
    title: 'Claude Code',
    program: 'claude',
    format: 'json',
    servers: 'mcpServers',
    defaultScope: 'project',
    files: filesAt({ user: ['claudeState/.claude.json'], project: ['project/.mcp.json'] }),
    // Claude Code starts servers in its own working directory, so `.` is the project.
    projectDir: '.',
    // Without `alwaysLoad`, the model must search for the tools before it can call them.
    entry: ({ command, args }) => ({ command, args, alwaysLoad: true }),
    remote: ({ url, token }) => ({ type: 'http', url, headers: bearer(token), alwaysLoad: true }),
    next:
      'Start Claude Code in the project, trust the folder and allow the server; /mcp shows it. Runs without a terminal ' +
      'can\'t approve tools: for them, put {"permissions":{"allow":["mcp__lookfirst"]},"enabledMcpjsonServers":["lookfirst"]} ' +
      'into .claude/settings.local.json.',
    around: {
      server: 'its own Edit, Write and Bash bypass Lookfirst unless its permissions deny them',
      hooks: 'background commands are recorded and can be undone, but are not prevented',
    },
  },
  // Claude Desktop has one file per user. The file can only name local servers to start, not servers to connect to.
  'claude-desktop': {
    name: 'claude-desktop',
    title: 'Claude Desktop',
    format: 'json',
    servers: 'mcpServers',
    defaultScope: 'user',
    files: filesAt({ user: ['settings/Claude/claude_desktop_config.json'], project: [] }),
    projectDir: undefined,
    inherits: FEW_VARIABLES,
    entry: (launch) => ({ command: launch.command, args: launch.args, ...environmentOf(launch) }),
    remote: () => undefined,
    next: 'Quit Claude Desktop and start it again.',
  },
  // Codex reads a project's file only if the project is trusted. Codex accepts no tokens in the
  // file: it takes them from the environment.
  codex: {
    name: 'codex',
    title: 'Codex',
    program: 'codex',
    format: 'toml',
    servers: 'mcp_servers',
    defaultScope: 'user',
    files: filesAt({ user: ['codex/config.toml'], project: ['project/.codex/config.toml'] }),
    projectDir: '.',
    userDir: '.',
    inherits: FEW_VARIABLES,
    entry: (launch) => ({
      command: launch.command,
      args: launch.args,
      ...environmentOf(launch),
      ...(launch.forwards?.length ? { env_vars: launch.forwards } : {}),
    }),
    remote: ({ url }) => ({ url, bearer_token_env_var: 'LOOKFIRST_TOKEN' }),
    next: 'Start Codex again; /mcp shows the server.',
    around: {
      server: 'its own apply_patch and shell bypass Lookfirst',
      hooks: `${LATER}; hooks that are not trusted in /hooks are skipped silently`,
    },
  },
  gemini: {
    name: 'gemini',
    title: 'Gemini CLI',
    program: 'gemini',
    format: 'json',
    servers: 'mcpServers',
    defaultScope: 'project',
    files: filesAt({ user: ['gemini/.gemini/settings.json'], project: ['project/.gemini/settings.json'] }),
    projectDir: '.',
    entry: ({ command, args }) => ({ command, args }),
    remote: ({ url, token }) => ({ httpUrl: url, headers: bearer(token) }),
    next: 'Start Gemini CLI again; /mcp shows the server.',
    around: {
      server: 'its own write_file, replace and shell bypass Lookfirst unless excluded in its settings',
      hooks: LATER,
    },
  },
  cursor: {
    name: 'cursor',
    title: 'Cursor',
    program: 'cursor',
    format: 'json',
    servers: 'mcpServers',
    defaultScope: 'project',
    files: filesAt({ user: ['home/.cursor/mcp.json'], project: ['project/.cursor/mcp.json'] }),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Cursor's own variable.
    projectDir: '${workspaceFolder}',
    entry: ({ command, args }) => ({ command, args }),
    remote: ({ url, token }) => ({ url, headers: bearer(token) }),
    next: 'Switch the server on in Cursor Settings under Tools & MCP.',
    around: { server: 'its own edit tools and terminal bypass Lookfirst', hooks: LATER },
  },
  // VS Code's files may contain comments, which an edit keeps.
  vscode: {
    name: 'vscode',
    title: 'VS Code',
    program: 'code',
    format: 'json',
    servers: 'servers',
    defaultScope: 'project',
    files: filesAt({ user: ['settings/Code/User/mcp.json'], project: ['project/.vscode/mcp.json'] }),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code's own variable.
    projectDir: '${workspaceFolder}',
    entry: ({ command, args }) => ({ type: 'stdio', command, args }),
    remote: ({ url, token }) => ({ type: 'http', url, headers: bearer(token) }),
    next: 'Start the server from the file itself or with "MCP: List Servers".',
    around: {
      server: 'its own edit tools and terminal bypass Lookfirst unless switched off in the tool picker',
      hooks: LATER,
    },
  },
  // Zed's file holds all settings of the editor, with comments. An edit by `init` keeps both.
  zed: {
    name: 'zed',
    title: 'Zed',
    program: 'zed',
    format: 'json',
    servers: 'context_servers',
    defaultScope: 'project',
    files: filesAt({ user: ['zed/settings.json'], project: ['project/.zed/settings.json'] }),
    projectDir: undefined,
    // Older versions of Zed require `source: custom` for servers that are not extensions; newer ones ignore it.
    entry: ({ command, args }) => ({ source: 'custom', command, args }),
    remote: ({ url, token }) => ({ url, headers: bearer(token) }),
    next: 'Zed starts the server when the file is saved; the Agent panel shows it.',
    around: {
      server: 'its own edit tools and terminal bypass Lookfirst unless its profile leaves them out',
    },
  },
  opencode: {
    name: 'opencode',
    title: 'opencode',
    program: 'opencode',
    format: 'json',
    servers: 'mcp',
    defaultScope: 'project',
    files: filesAt({
      user: ['xdg/opencode/opencode.json', 'xdg/opencode/opencode.jsonc'],
      project: ['project/opencode.json', 'project/opencode.jsonc'],
    }),
    projectDir: '.',
    entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
    remote: ({ url, token }) => ({ type: 'remote', url, enabled: true, headers: bearer(token) }),
    next: 'Start opencode again.',
    around: {
      server: 'its own edit, write and bash bypass Lookfirst unless its configuration turns them off',
      hooks: LATER,
    },
  },
};

/** The clients of this user: their program is on PATH, or their configuration file exists. */
export function detectedClients(places: ClientPlaces): readonly ClientName[] {
  const folders = (places.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return CLIENT_NAMES.filter((name) => {
    const { program, files } = CLIENTS[name];
    const onPath = program === undefined ? [] : folders.map((folder) => join(folder, program));
    return [...onPath, ...files('user', places)].some((path) => canonicalPath('/', path).kind === 'file');
  });
}

/** Text that a user can paste into a client's configuration. */
interface ReadyConfiguration {
  readonly title: string;
  /** The path of the client's configuration file, with `~` or `%APPDATA%` for the user's own folders. */
  readonly file: string;
  readonly language: 'json' | 'toml';
  readonly text: string;
}

/**
 * The text to paste into each client's configuration, to connect to a running server or to start one. `self`: the
 * full paths of Node and of this program.
 */
export function readyConfigurations({
  dir,
  http,
  self,
}: {
  readonly dir: string;
  readonly http: Remote;
  readonly self: readonly string[];
}): string {
  const { platform } = process;
  const starter = usualStarter(self);
  const connect = CLIENT_NAMES.filter((name) => CLIENTS[name].remote(http) !== undefined).map((name) => {
    // Name each client in the URL: our server remembers nothing between calls of a nameless client.
    const named = { ...http, url: `${http.url}/${name}` };
    const text = block(configurationFor(name, { dir, platform, http: named }));
    return name === 'codex' ? `${text}\n    # and start Codex with LOOKFIRST_TOKEN=${http.token}` : text;
  });
  const start = configurationFor('claude-desktop', { dir, platform, starter });
  const windows = configurationFor('claude-desktop', { dir: 'C:\\path\\to\\project', platform: 'win32' });
  return [
    'configurations to paste, which connect a client to this server while it runs:',
    ...connect,
    'a configuration that lets a client start its own server, without HTTP and token (every client can use this form; Claude Desktop has no other):',
    block(start),
    // The paths of a checkout are valid only on this machine.
    ...(starter === 'npx' ? ['on Windows:', block(windows)] : []),
  ].join('\n\n');
}

function block({ title, file, text }: ReturnType<typeof configurationFor>): string {
  return `${title}, in ${file}\n${text.trimEnd().replace(/^/gm, '    ')}`;
}

/**
 * The configuration for a client, ready to paste. With `http` it connects to a running server, if the client's file
 * can express that. Otherwise it starts a server on `dir`, which should be a full path.
 */
export function configurationFor(
  name: ClientName,
  options: {
    readonly dir: string;
    readonly platform: NodeJS.Platform;
    readonly http?: Remote;
    readonly starter?: Starter;
  },
): ReadyConfiguration {
  const client = CLIENTS[name];
  const { dir, platform, http, starter } = options;
  const remote = http === undefined ? undefined : client.remote(http);
  const [file = ''] = client.files('user', shownPlaces(platform));
  return {
    title: client.title,
    file,
    language: client.format,
    text: newFile(client, remote ?? client.entry(serveLaunch(dir, platform, starter))),
  };
}

function shownPlaces(platform: NodeJS.Platform): ClientPlaces {
  const home = platform === 'win32' ? '%USERPROFILE%' : '~';
  const env = platform === 'win32' ? { APPDATA: '%APPDATA%' } : {};
  return { platform, home, project: '.', env };
}
