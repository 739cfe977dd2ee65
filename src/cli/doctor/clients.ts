import { dirname, isAbsolute, join } from 'node:path';
import { requiredHome } from '../../config/home.ts';
import { errorText } from '../../model/fault.ts';
import { isWithin } from '../../model/path.ts';
import { canonicalPath } from '../../records/scope.ts';
import { placeSettings } from '../../session/configured.ts';
import type { Cli } from '../cli.ts';
import {
  type Client,
  type ClientName,
  type ClientPlaces,
  type ConfigScope,
  clientPath,
  inheritedBy,
} from '../clients/client.ts';
import { CLIENTS } from '../clients/clients.ts';
import { configText, readConfig } from '../clients/config-file.ts';
import { type ConfigTable, type ConfigValue, isTable, valueAt } from '../clients/config-value.ts';
import { CONFIG_SYNTAXES, valuesOf } from '../clients/edit-config.ts';
import { proxiedOn, servedFolder, servedOn } from '../clients/launch.ts';
import {
  clientValues,
  entryEnvironment,
  hasOurs,
  ownCommand,
  type ProxiedServer,
  proxiedServers,
} from '../clients/servers.ts';
import { blindWriteProblem, NO_TOOL } from '../server-process.ts';
import type { Stage } from '../stage.ts';
import { hooksFile } from './hooks.ts';
import { type DoctorCheck, fail, ok, warn } from './state.ts';

const PROXY_RACE =
  'the server behind the proxy writes a moment after our check, and a change by another program in that moment is not noticed';

/** A client's configuration file with entries of ours. */
interface Configured {
  readonly client: Client;
  readonly file: string;
  readonly have: ConfigTable;
  readonly scope: ConfigScope;
  readonly places: ClientPlaces;
  readonly stage: Stage;
}

/**
 * Checks for every client whether our server is configured, and whether it refuses to overwrite an
 * unread file. Also reports which tools of the client bypass our server.
 */
export async function* checkClients(
  { platform, env, cwd, homeFolder }: Pick<Cli, 'platform' | 'env' | 'cwd' | 'homeFolder'>,
  stage: Stage,
): AsyncGenerator<DoctorCheck> {
  const places: ClientPlaces = { platform, env, home: requiredHome(homeFolder), project: cwd };
  let count = 0;
  for (const client of Object.values(CLIENTS))
    for (const scope of ['project', 'user'] as const)
      for (const file of client.files(scope, places))
        for (const check of await checkFile(client, file, { scope, places, stage })) {
          count += 1;
          yield check;
        }
  if (count === 0)
    yield warn('clients', 'no client is configured for Lookfirst; lookfirst init CLIENT adds it');
}

async function checkFile(
  client: Client,
  file: string,
  where: Pick<Configured, 'scope' | 'places' | 'stage'>,
): Promise<DoctorCheck[]> {
  const { name } = client;
  try {
    const config = readConfig(file);
    if ('reason' in config) return [warn(name, `${file}: ${config.reason}`)];
    if (config.text === undefined) return [];
    const have = clientValues(client, config.text);
    if (have === undefined) return [warn(name, `${file} is not valid ${client.format.toUpperCase()}`)];
    return hasOurs(client, have) ? await checkEntries({ client, file, have, ...where }) : [];
  } catch (error) {
    return [warn(name, errorText(error))];
  }
}

async function checkEntries(configured: Configured): Promise<DoctorCheck[]> {
  const { client, file, have } = configured;
  const words = ownCommand(client, have);
  const gone = missingFolder(words);
  if (gone !== undefined)
    return [fail(client.name, `Lookfirst cannot start from ${file}: there is no folder ${gone}`)];
  const checks: DoctorCheck[] = [];
  if (words !== undefined)
    checks.push(
      await checkCommand(configured, words),
      ...checkTrust(configured),
      ...checkSameState(configured),
    );
  const proxied = proxiedServers(client, have);
  for (const server of proxied) checks.push(await checkProxied(configured, server));
  return [...checks, ...notEnforced(configured, proxied)];
}

/**
 * Starts Lookfirst with the command in the client's configuration file, as the client would, but on
 * a temporary folder. Checks that the server refuses to overwrite an unread file.
 */
async function checkCommand(configured: Configured, words: readonly string[]): Promise<DoctorCheck> {
  const { client, file, stage } = configured;
  const env = { ...serverEnvironment(configured), ...stage.env };
  const problem = await blindWriteProblem(servedOn(words, stage.workspace), { env, stage });
  return problem === undefined
    ? ok(client.name, `Lookfirst is in ${file}, and its command refused a blind write`)
    : fail(client.name, `the command in ${file} (${words.join(' ')}): ${problem}`);
}

/**
 * Starts an entry's proxy and the server behind it as the client would, but on a temporary folder.
 * Checks that the proxy refuses to overwrite an unread file.
 */
async function checkProxied(configured: Configured, server: ProxiedServer): Promise<DoctorCheck> {
  const { client, file, places, stage } = configured;
  const { project } = places;
  const subject = `the proxy before "${server.name}" in ${file}`;
  const env = { ...serverEnvironment(configured, server.name), ...stage.env };
  const words = server.words.map((word) => expanded(word, project, env));
  const unknown = words.find((word) => word.includes('${'));
  if (unknown !== undefined)
    return warn(client.name, `${subject} was not tried: only ${client.title} knows what ${unknown} means`);
  const command = proxiedOn(words, stage.workspace, project);
  const problem = await blindWriteProblem(command, { env, stage, cwd: project });
  const noTool = 'the server has no tool for writing files that Lookfirst knows';
  if (problem === NO_TOOL) return warn(client.name, `${subject} was not tried: ${noTool}`);
  return problem === undefined
    ? ok(client.name, `${subject} refused a blind write`)
    : fail(client.name, `${subject} (${server.words.join(' ')}): ${problem}`);
}

/**
 * Expands a word of a command as clients do: replaces placeholders for the project's folder and for
 * environment variables.
 */
function expanded(word: string, project: string, env: ClientPlaces['env']): string {
  return word
    .replaceAll(/\$\{workspaceFolder\}/g, project)
    .replace(
      /\$\{(?:env:)?(\w+)(?::-([^}]*))?\}/g,
      (all, name: string, otherwise?: string) => env[name] ?? otherwise ?? all,
    );
}

/** The environment that the client gives to the server with the entry `name`; default: our own server. */
function serverEnvironment({ client, have, places }: Configured, name?: string): ClientPlaces['env'] {
  const { env } = places;
  const own = entryEnvironment(client, have, name);
  const forwarded = own.forwards.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]]]));
  return { ...inheritedBy(client, env), ...Object.fromEntries(forwarded), ...own.env };
}

/** Warns if the client's server uses another state folder or store than this command. */
function checkSameState(configured: Configured): DoctorCheck[] {
  const { client, places } = configured;
  const theirs = stateOf(places, serverEnvironment(configured));
  const ours = stateOf(places, places.env);
  if (theirs === ours) return [];
  const cure =
    client.inherits === undefined ? 'change it in the entry' : `lookfirst init ${client.name} writes it`;
  const message = `its server keeps its state in ${theirs}, this command line in ${ours}: log, undo and status do not show its work (${cure})`;
  return [warn(client.name, message)];
}

/** The place of a server's state, for messages: the store without its password, or the state folder. */
function stateOf({ platform, home, project }: ClientPlaces, env: ClientPlaces['env']): string {
  const settings = placeSettings({ platform, env, cwd: project, homeFolder: home }, {});
  const key = env['LOOKFIRST_STORE'] ? 'store' : 'home';
  return String(settings.find((setting) => setting.key === key)?.value);
}

/**
 * The folder in our server's command, if its path is absolute and the folder
 * does not exist; otherwise undefined. Only the client knows which folders other paths mean.
 */
function missingFolder(words: readonly string[] = []): string | undefined {
  const folder = servedFolder(words);
  if (folder === undefined || !isAbsolute(folder)) return undefined;
  return canonicalPath('/', folder).kind === 'folder' ? undefined : folder;
}

function notEnforced({ client, places }: Configured, proxied: readonly ProxiedServer[]): DoctorCheck[] {
  const { name, around: { server, hooks } = {} } = client;
  const isHooked = hooks !== undefined && hooksFile(name, places) !== undefined;
  const cure = hooks === undefined || isHooked ? '' : `; lookfirst init ${name} --hooks checks them`;
  const around = isHooked ? hooks : server;
  return [
    ...(around === undefined ? [] : [warn(name, `not enforced: ${around}${cure}`)]),
    ...(proxied.length > 0 ? [warn(name, `not enforced: ${PROXY_RACE}`)] : []),
  ];
}

/**
 * Reports a project's entry that the client ignores until the user approves the entry or trusts the
 * folder.
 */
function checkTrust({ client: { name }, scope, places }: Configured): DoctorCheck[] {
  const reason = scope === 'project' ? UNTRUSTED[name]?.(places) : undefined;
  return reason === undefined ? [] : [warn(name, reason)];
}

/**
 * For each client, a function that returns the reason why the client ignores our entry in a
 * project's file; undefined if the client uses the entry.
 */
const UNTRUSTED: Readonly<Partial<Record<ClientName, (places: ClientPlaces) => string | undefined>>> = {
  'claude-code': claudePending,
  codex: codexUntrusted,
  gemini: geminiUntrusted,
};

const SERVER = 'lookfirst';

/**
 * The reason why Claude Code does not use our entry in a project; undefined if it does. The user
 * must have approved the server. In a folder that is not trusted, only approvals in the user's own
 * settings count.
 */
function claudePending(places: ClientPlaces): string | undefined {
  const { project } = places;
  const kept = valueAt(jsonOf(clientPath(places, 'claudeState/.claude.json')), 'projects', project);
  const user = [jsonOf(clientPath(places, 'claude/settings.json'))];
  const local = ['settings.local.json', 'settings.json'].map((name) =>
    jsonOf(join(project, '.claude', name)),
  );
  const named = (answers: readonly (ConfigValue | undefined)[], key: string): boolean =>
    answers.some((answer) => listOf(valueAt(answer, key)).includes(SERVER));
  const approves = (answers: readonly (ConfigValue | undefined)[]): boolean =>
    answers.some((answer) => valueAt(answer, 'enableAllProjectMcpServers') === true) ||
    named(answers, 'enabledMcpjsonServers');
  if (named([kept, ...local, ...user], 'disabledMcpjsonServers'))
    return 'the server is switched off in this project: /mcp in Claude Code switches it on';
  if (approves(user)) return undefined;
  if (!approves([kept, ...local]))
    return (
      'the server waits for approval in this project: start Claude Code here and allow it, or add ' +
      '"enabledMcpjsonServers": ["lookfirst"] to .claude/settings.local.json'
    );
  if (valueAt(kept, 'hasTrustDialogAccepted') === true) return undefined;
  return 'Claude Code does not trust this folder, so the approval in it does not count: start Claude Code here and trust it';
}

/**
 * Explains that Codex ignores the configuration of a project that it does not trust. Undefined if
 * Codex trusts the project.
 */
function codexUntrusted(places: ClientPlaces): string | undefined {
  const { project } = places;
  const file = clientPath(places, 'codex/config.toml');
  const projects = valueAt(valuesIn(file, 'toml'), 'projects');
  const trusted = Object.entries(isTable(projects) ? projects : {})
    .filter(([, settings]) => valueAt(settings, 'trust_level') === 'trusted')
    .map(([folder]) => folder);
  if (trusted.some((folder) => isWithin(project, folder))) return undefined;
  return `Codex does not trust this folder and ignores its configuration: start Codex here and trust it, or add [projects.${JSON.stringify(project)}] with trust_level = "trusted" to ${file}`;
}

/**
 * Explains that Gemini CLI ignores the settings of a folder that it does not trust. Undefined if it
 * trusts the folder, or if folder trust is switched off.
 */
function geminiUntrusted(places: ClientPlaces): string | undefined {
  const { project, env } = places;
  const trust = env['GEMINI_RESTRICTED_MODE'] === 'true' ? 'false' : env['GEMINI_CLI_TRUST_WORKSPACE'];
  if (trust === 'true') return undefined;
  if (trust === 'false')
    return 'Gemini CLI trusts no folder and ignores this project’s settings: GEMINI_CLI_TRUST_WORKSPACE or GEMINI_RESTRICTED_MODE is set';
  const settings = jsonOf(clientPath(places, 'gemini/.gemini/settings.json'));
  if (valueAt(settings, 'security', 'folderTrust', 'enabled') === false) return undefined;
  const file =
    env['GEMINI_CLI_TRUSTED_FOLDERS_PATH'] || clientPath(places, 'gemini/.gemini/trustedFolders.json');
  const rules = jsonOf(file);
  const folders = Object.entries(rules ?? {});
  const applies = ([folder, rule]: readonly [string, ConfigValue]) =>
    isWithin(project, rule === 'TRUST_PARENT' ? dirname(folder) : folder);
  // The rule of the innermost folder decides.
  const [, rule] = folders.filter(applies).sort(([a], [b]) => b.length - a.length)[0] ?? [];
  if (rule === 'TRUST_FOLDER' || rule === 'TRUST_PARENT') return undefined;
  return `Gemini CLI does not trust this folder and ignores its settings: start Gemini CLI here and trust it (/permissions), which writes ${file}`;
}

function listOf(value: ConfigValue | undefined): readonly ConfigValue[] {
  return Array.isArray(value) ? value : [];
}

/** The values of a file; undefined if it is missing or broken. The client itself complains about a broken file. */
function valuesIn(path: string, format: 'json' | 'toml'): ConfigTable | undefined {
  const text = configText(path);
  return text === undefined ? undefined : valuesOf(CONFIG_SYNTAXES[format], text);
}

function jsonOf(path: string): ConfigTable | undefined {
  return valuesIn(path, 'json');
}
