import { dirname, join } from 'node:path';
import type { ClientName, ClientPlaces, ConfigScope } from '../clients/client.ts';
import { readConfig } from '../clients/config-file.ts';
import { jsonValue } from '../clients/json-entry.ts';
import { isObject, type JsonValue } from '../clients/json-style.ts';
import { ScanProblem } from '../clients/node.ts';
import { scanToml } from '../clients/toml-scan.ts';
import { type DoctorCheck, warn } from './check.ts';

/** Reports an entry of a project that its client ignores until the user approves it or trusts the folder. */
export function checkTrust(name: ClientName, scope: ConfigScope, places: ClientPlaces): DoctorCheck[] {
  const reason = scope === 'project' ? UNTRUSTED[name]?.(places) : undefined;
  return reason === undefined ? [] : [warn(name, reason)];
}

/** Per client, the reason why the entry of a project is not in force; undefined if it is. */
const UNTRUSTED: Readonly<Partial<Record<ClientName, (places: ClientPlaces) => string | undefined>>> = {
  'claude-code': claudePending,
  codex: codexUntrusted,
  gemini: geminiUntrusted,
};

const SERVER = 'lookfirst';

/**
 * Claude Code keeps the user's answer per project, or takes it from its settings. Only the user's own settings count in a
 * folder that is not trusted. A run without a terminal (`-p`) asks for neither.
 */
function claudePending({ home, project, env }: ClientPlaces): string | undefined {
  const folder = env['CLAUDE_CONFIG_DIR'];
  const kept = at(jsonOf(join(folder ?? home, '.claude.json')), 'projects', project);
  const user = [jsonOf(join(folder ?? join(home, '.claude'), 'settings.json'))];
  const local = ['settings.local.json', 'settings.json'].map((name) =>
    jsonOf(join(project, '.claude', name)),
  );
  const named = (answers: readonly (JsonValue | undefined)[], key: string): boolean =>
    answers.some((answer) => listOf(at(answer, key)).includes(SERVER));
  const approves = (answers: readonly (JsonValue | undefined)[]): boolean =>
    answers.some((answer) => at(answer, 'enableAllProjectMcpServers') === true) ||
    named(answers, 'enabledMcpjsonServers');
  if (named([kept, ...local, ...user], 'disabledMcpjsonServers'))
    return 'the server is switched off in this project: /mcp in Claude Code switches it on';
  if (approves(user)) return undefined;
  if (!approves([kept, ...local]))
    return (
      'the server waits for approval in this project: start Claude Code here and allow it, or add ' +
      '"enabledMcpjsonServers": ["lookfirst"] to .claude/settings.local.json'
    );
  if (at(kept, 'hasTrustDialogAccepted') === true) return undefined;
  return 'Claude Code does not trust this folder, so the approval in it does not count: start Claude Code here and trust it';
}

/** Codex ignores the configuration of a project that it does not trust. */
function codexUntrusted({ home, project, env }: ClientPlaces): string | undefined {
  const file = join(env['CODEX_HOME'] || join(home, '.codex'), 'config.toml');
  const trusted = tomlTables(file)
    .filter(({ path }) => path.length === 2 && path[0] === 'projects')
    .filter(({ keys }) =>
      keys.some(
        ({ path, value }) => path[0] === 'trust_level' && 'value' in value && value.value === 'trusted',
      ),
    )
    .map(({ path }) => path[1] ?? '');
  if (trusted.some((folder) => isAtOrBelow(project, folder))) return undefined;
  return `Codex does not trust this folder and ignores its configuration: start Codex here and trust it, or add [projects.${JSON.stringify(project)}] with trust_level = "trusted" to ${file}`;
}

/** Gemini CLI ignores the settings of a folder that it does not trust, unless folder trust is switched off. */
function geminiUntrusted(places: ClientPlaces): string | undefined {
  const { project, env } = places;
  const trust = env['GEMINI_RESTRICTED_MODE'] === 'true' ? 'false' : env['GEMINI_CLI_TRUST_WORKSPACE'];
  if (trust === 'true') return undefined;
  if (trust === 'false')
    return 'Gemini CLI is told by its environment to trust no folder and ignores its settings';
  const home = env['GEMINI_CLI_HOME'] || places.home;
  const settings = jsonOf(join(home, '.gemini', 'settings.json'));
  if (at(settings, 'security', 'folderTrust', 'enabled') === false) return undefined;
  const file = env['GEMINI_CLI_TRUSTED_FOLDERS_PATH'] || join(home, '.gemini', 'trustedFolders.json');
  const rules = jsonOf(file);
  const folders = rules !== undefined && isObject(rules) ? Object.entries(rules) : [];
  const applies = ([folder, rule]: readonly [string, JsonValue]) =>
    isAtOrBelow(project, rule === 'TRUST_PARENT' ? dirname(folder) : folder);
  // The rule of the innermost folder decides.
  const [, rule] = folders.filter(applies).sort(([a], [b]) => b.length - a.length)[0] ?? [];
  if (rule === 'TRUST_FOLDER' || rule === 'TRUST_PARENT') return undefined;
  return `Gemini CLI does not trust this folder and ignores its settings: start Gemini CLI here and trust it (/permissions), which writes ${file}`;
}

function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function at(value: JsonValue | undefined, ...keys: readonly string[]): JsonValue | undefined {
  return keys.reduce<JsonValue | undefined>(
    (node, key) => (node !== undefined && isObject(node) ? node[key] : undefined),
    value,
  );
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/**
 * The value of a JSON file; undefined if it is missing or broken. The client itself complains about
 * a broken file.
 */
function jsonOf(path: string): JsonValue | undefined {
  return understood(path, jsonValue);
}

function tomlTables(path: string): ReturnType<typeof scanToml> {
  return understood(path, scanToml) ?? [];
}

function understood<T>(path: string, parse: (text: string) => T): T | undefined {
  const file = readConfig(path);
  if ('reason' in file || file.text === undefined) return undefined;
  try {
    return parse(file.text);
  } catch (error) {
    if (!(error instanceof ScanProblem)) throw error;
    return undefined;
  }
}
