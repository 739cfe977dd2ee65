import { type Client, type ConfigScope, withheldBy } from './client.ts';
import { readConfig } from './config-file.ts';
import { addServer, removeServer, unwrapServer, wrapServer } from './config-text.ts';
import type { EditedConfig } from './edit.ts';
import { type ClientHooks, HOOK_SETTINGS, type HookPiece } from './hook-settings.ts';
import { addPieces, hasPiece, nameOfPiece, namesUs, removePieces } from './json-pieces.ts';
import { type Launch, proxyLaunch, serveLaunch } from './launch.ts';
import { Plan } from './plan.ts';
import type { ConfigureReport, ConfigureRequest, HookRequest } from './request.ts';

/**
 * Adds our server and hooks to a client's configuration, or removes them. All other bytes of the
 * files stay. If any file cannot be edited, no file is changed, and only the failures are returned.
 */
export function configureClient(request: ConfigureRequest): readonly ConfigureReport[] {
  const plan = new Plan(request);
  const { hooks } = request;
  const reports = [
    ...planServer(request, plan),
    ...(hooks === undefined ? [] : planHooks(request, hooks, plan)),
  ];
  const failed = [...reports, ...plan.exposed()].filter((report) => !report.ok);
  if (failed.length > 0)
    return failed.filter(({ file }, index) => failed.findIndex((other) => other.file === file) === index);
  const all = [...reports, ...plan.exclude()];
  return (request.dryRun ? undefined : plan.commit()) ?? all;
}

function planServer(request: ConfigureRequest, plan: Plan): readonly ConfigureReport[] {
  const candidates = candidatesOf(request);
  const [first] = candidates;
  if (first === undefined) {
    const { client, scope } = request;
    return [{ ok: false, file: client.title, reason: `${client.title} has no ${scope} configuration` }];
  }
  if (request.action === 'remove') {
    const planned = (broken: 'skip' | 'report') =>
      candidates.map((candidate) => configureFile(request, candidate, plan, broken));
    const worthTelling = (reports: readonly ConfigureReport[]) =>
      reports.filter((report) => !report.ok || report.did !== 'nothing');
    const ours = worthTelling(planned('skip'));
    if (ours.length > 0) return ours;
    const all = planned('report');
    return worthTelling(all).length > 0 ? worthTelling(all) : all.slice(0, 1);
  }
  if (request.proxy === undefined) return [configureFile(request, first, plan)];
  const reports = candidates.map((candidate) => configureFile(request, candidate, new Plan(request)));
  const found = candidates[reports.findIndex((report) => report.ok)];
  if (found !== undefined) return [configureFile(request, found, plan)];
  const readable = reports.filter((report) => !report.ok && report.reason !== NO_FILE);
  return readable.length > 0 ? readable : reports.slice(0, 1);
}

const NO_FILE = 'there is no such file';

interface Candidate {
  readonly scope: ConfigScope;
  readonly path: string;
}

/** Plans adding our hooks to a client's settings, or removing them from every scope. */
function planHooks(request: ConfigureRequest, hooks: HookRequest, plan: Plan): readonly ConfigureReport[] {
  const { action, client, places, scope, former } = request;
  const settings = HOOK_SETTINGS[client.name];
  if (settings === undefined) {
    const reason = `${client.title} has no hooks. Without --hooks, lookfirst init ${client.name} adds the MCP server`;
    return action === 'remove' ? [] : [{ ok: false, reason }];
  }
  if (action === 'init') {
    const file = settings.file(scope ?? settings.defaultScope, places);
    const pieces = piecesOf(settings, hooks);
    const next = hooks.gate ? settings.next : `Start ${client.title} again.`;
    const added = (text: string | undefined) =>
      pieces.filter((piece) => !hasPiece(text, piece)).map(nameOfPiece);
    return [plan.change(file, (text) => addPieces(text, pieces, settings.header), { next, added })];
  }
  const pieces = piecesOf(settings, { ...hooks, gate: true, only: true, shell: 'layer' });
  const scopes: readonly ConfigScope[] = scope === undefined ? ['project', 'user'] : [scope];
  return scopes
    .map((each) => settings.file(each, places))
    .map((file) =>
      plan.change(file, (text, path) => removedHooks(text, ourPieces(text, pieces, former?.added(path))), {
        broken: 'skip',
      }),
    )
    .filter((report) => !report.ok || report.did !== 'nothing');
}

/**
 * The pieces that `remove` takes out of `text`. Pieces that name Lookfirst are ours. Other pieces
 * (denied tools) are ours if `added`, the record of `init`, lists them. Without a record, they are
 * ours if `text` contains all of them.
 */
function ourPieces(
  text: string | undefined,
  pieces: readonly HookPiece[],
  added: readonly string[] | undefined,
): readonly HookPiece[] {
  const nameless = pieces.filter((piece) => !namesUs(piece));
  const isOurs = (piece: HookPiece): boolean =>
    added === undefined ? nameless.every((each) => hasPiece(text, each)) : added.includes(nameOfPiece(piece));
  return pieces.filter((piece) => namesUs(piece) || isOurs(piece));
}

function piecesOf(settings: ClientHooks, { files, gate, only, shell }: HookRequest): readonly HookPiece[] {
  const layered = shell === 'layer' && settings.shell !== undefined ? [settings.shell(files)] : [];
  const gates = gate ? [...settings.pieces(files), ...layered] : [];
  return [...gates, ...(only ? (settings.only ?? []) : [])];
}

/**
 * Removes our hooks from a text. If nothing else is left, the result is undefined, which deletes
 * the file: `init` has probably created it.
 */
function removedHooks(text: string | undefined, pieces: readonly HookPiece[]): EditedConfig {
  const rest = removePieces(text, pieces);
  if (!rest.ok || rest.text === undefined || rest.text === text) return rest;
  const left = rest.text.replace(/"version": 1\b/, '').replace(/\s+/g, '');
  return left === '{}' ? { ok: true, text: undefined } : rest;
}

/**
 * For each scope, the files to edit. The client's default scope comes first. A client may have
 * several files in a scope, such as `opencode.json` and `opencode.jsonc`. `remove` and `proxy` use
 * all that exist. `init` uses the one with our entry, else the first that exists. If none exists,
 * the result is the first of the possible paths.
 */
function candidatesOf(request: ConfigureRequest): Candidate[] {
  const { action, client, places, proxy } = request;
  return scopesOf(request).flatMap((scope) => {
    const paths = client.files(scope, places);
    const existing = paths.filter(exists);
    const ours = existing.filter((path) => hasEntry(client, path));
    const isOne = existing.length === 0 || (action === 'init' && proxy === undefined);
    const wanted = isOne ? [...ours, ...existing, ...paths].slice(0, 1) : existing;
    return wanted.map((path) => ({ scope, path }));
  });
}

/** True if a file has an entry of ours, or our proxy before another server. */
function hasEntry(client: Client, path: string): boolean {
  const file = readConfig(path);
  if ('reason' in file || file.text === undefined) return false;
  const rest = removeServer(client, file.text);
  return rest.ok && rest.text !== file.text;
}

function scopesOf({ action, client, scope, proxy }: ConfigureRequest): readonly ConfigScope[] {
  if (scope !== undefined) return [scope];
  if (action === 'init' && proxy === undefined) return [client.defaultScope];
  return client.defaultScope === 'user' ? ['user', 'project'] : ['project', 'user'];
}

function exists(path: string): boolean {
  const file = readConfig(path);
  return 'reason' in file || file.text !== undefined;
}

function configureFile(
  request: ConfigureRequest,
  candidate: Candidate,
  plan: Plan,
  broken: 'skip' | 'report' = 'report',
): ConfigureReport {
  const next = request.action === 'init' ? request.client.next + withheldNote(request) : '';
  return plan.change(candidate.path, (text) => editOf(request, candidate, text), { next, broken });
}

/**
 * Tells the user to set variables that the client does not pass to the proxied server; empty if
 * there are none. `init` does not write them into the server's entry, because the environment of
 * that entry belongs to the user.
 */
function withheldNote({ client, places, proxy }: ConfigureRequest): string {
  if (proxy === undefined) return '';
  const { env = {}, forwards = [] } = withheldBy(client, places);
  const names = [...Object.keys(env), ...forwards].join(' and ');
  if (names === '') return '';
  return (
    ` ${client.title} does not pass ${names} to its servers: set the same in the environment of ` +
    `"${proxy}", else its calls are recorded in another place.`
  );
}

function editOf(request: ConfigureRequest, candidate: Candidate, text: string | undefined): EditedConfig {
  const { action, client, places, proxy, starter } = request;
  const dir = dirOf(request, candidate.scope);
  if (action === 'init' && proxy === undefined)
    return addServer(
      client,
      text,
      client.entry({ ...serveLaunch(dir, places.platform, starter), ...withheldOf(request) }),
    );
  if (text === undefined) return action === 'remove' ? { ok: true, text } : { ok: false, reason: NO_FILE };
  if (action === 'init' && proxy !== undefined)
    return wrapServer(client, text, { name: proxy, prefix: proxyLaunch(dir, places.platform, starter) });
  return proxy === undefined ? removeServer(client, text) : unwrapServer(client, text, proxy);
}

/**
 * The variables that our entry must pass on. A shared file names them without their values, which are
 * paths of this machine.
 */
function withheldOf({ client, places, sharing }: ConfigureRequest): Pick<Launch, 'env' | 'forwards'> {
  const withheld = withheldBy(client, places);
  if (sharing?.isShared !== true) return withheld;
  return { forwards: [...Object.keys(withheld.env ?? {}), ...(withheld.forwards ?? [])] };
}

/**
 * The text that names the folder `dir` in the client's file. For the project's folder it is `.` or
 * a placeholder, if the client supports that. The file then works in every checkout.
 */
function dirOf({ client, dir, places }: ConfigureRequest, scope: ConfigScope): string {
  if (dir !== places.project) return dir;
  return (scope === 'project' ? client.projectDir : client.userDir) ?? dir;
}

const DONE = { create: 'created', change: 'changed', delete: 'deleted' } as const;

/** The text that `init` and `remove` print for a report: one line, or the diff for a dry run. */
export function reportText(
  report: ConfigureReport,
  request: Pick<ConfigureRequest, 'action' | 'dryRun'>,
): string {
  if (!report.ok) {
    const line = report.line === undefined ? '' : ` (line ${report.line})`;
    const what = report.file === undefined ? '' : `cannot edit ${report.file}: `;
    return `${what}${report.reason}${line}. Nothing was changed.\n`;
  }
  if (report.did === 'nothing') {
    const why =
      request.action === 'init'
        ? 'it already has the entries of Lookfirst'
        : 'it has no entries of Lookfirst';
    return `nothing to do in ${report.file}: ${why}\n`;
  }
  const note = report.note === undefined ? '' : `: ${report.note}`;
  return request.dryRun
    ? `would ${report.did} ${report.file}${note}\n${report.diff}\n`
    : `${DONE[report.did]} ${report.file}${note}\n`;
}
