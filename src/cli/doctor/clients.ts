import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';
import { canonicalPath } from '../../records/canonical-path.ts';
import type { Cli } from '../cli.ts';
import type { Client, ClientName, Places, Scope } from '../clients/client.ts';
import { CLIENTS } from '../clients/clients.ts';
import { readConfig } from '../clients/config-file.ts';
import { ownCommand, removeServer, unwrapServer } from '../clients/config-text.ts';
import { servedFolder } from '../clients/launch.ts';
import { type Check, fail, ok, reasonOf, warn } from './check.ts';

/** What a client can still do to files without asking us. */
const AROUND: Readonly<Record<ClientName, string | undefined>> = {
  'claude-code': 'its own Edit, Write and Bash go past the gate unless its permissions deny them',
  'claude-desktop': undefined,
  codex: 'its own apply_patch and shell go past the gate',
  gemini: 'its own write_file, replace and shell go past the gate unless excluded in its settings',
  cursor: 'its own edit tools and terminal go past the gate',
  vscode: 'its own edit tools and terminal go past the gate unless switched off in the tool picker',
  zed: 'its own edit tools and terminal go past the gate unless its profile leaves them out',
  opencode: 'its own edit, write and bash go past the gate unless its configuration turns them off',
};
const PROXY_RACE =
  'between our check and the write of the server behind the proxy lies an instant that only that server could close';

/** For every client whether it is told of us, and what is not enforced there. */
export function checkClients(cli: Cli): Check[] {
  const { platform, env, cwd } = cli;
  const places: Places = { platform, env, home: homedir(), project: cwd };
  const checks = Object.values(CLIENTS).flatMap((client) => checkClient(client, places));
  if (checks.length > 0) return checks;
  return [warn('clients', 'none is configured for Lookfirst; lookfirst init CLIENT adds it')];
}

function checkClient(client: Client, places: Places): Check[] {
  const scopes: readonly Scope[] = ['project', 'user'];
  return scopes.flatMap((scope) => client.files(scope, places)).flatMap((file) => checkFile(client, file));
}

function checkFile(client: Client, file: string): Check[] {
  const { name } = client;
  try {
    const config = readConfig(file);
    if ('reason' in config) return [warn(name, `${file}: ${config.reason}`)];
    const { text } = config;
    if (text === undefined) return [];
    const without = removeServer(client, text);
    if (!without.ok) return [warn(name, `${file} cannot be understood: ${without.reason}`)];
    if (without.text === text) return [];
    const gone = missingFolder(client, text);
    if (gone !== undefined)
      return [fail(name, `Lookfirst cannot start from ${file}: there is no folder ${gone}`)];
    return [ok(name, `Lookfirst is in ${file}`), ...notEnforced(client, text)];
  } catch (error) {
    return [warn(name, reasonOf(error))];
  }
}

/** The folder our entry serves, if it is written in full and is not there; what others mean only the client knows. */
function missingFolder(client: Client, text: string): string | undefined {
  const folder = servedFolder(ownCommand(client, text) ?? []);
  if (folder === undefined || !isAbsolute(folder)) return undefined;
  return canonicalPath('/', folder).kind === 'folder' ? undefined : folder;
}

function notEnforced(client: Client, text: string): Check[] {
  const around = AROUND[client.name];
  const unwrapped = unwrapServer(client, text, undefined);
  const isProxied = unwrapped.ok && unwrapped.text !== text;
  return [
    ...(around === undefined ? [] : [warn(client.name, `not enforced: ${around}`)]),
    ...(isProxied ? [warn(client.name, `not enforced: ${PROXY_RACE}`)] : []),
  ];
}
