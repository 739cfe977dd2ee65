import { unifiedDiff } from '../../text/unified.ts';
import { type Client, type ClientPlaces, type ConfigScope, withheldBy } from './client.ts';
import { type ConfigFile, readConfig, writeConfig } from './config-file.ts';
import { addServer, removeServer, unwrapServer, wrapServer } from './config-text.ts';
import type { EditedConfig } from './edit.ts';
import type { FormerFiles } from './former.ts';
import { type ClientHooks, HOOK_SETTINGS, type HookFiles, type HookPiece } from './hook-settings.ts';
import { addPieces, hasPiece, nameOfPiece, namesUs, removePieces } from './json-pieces.ts';
import { proxyLaunch, type Starter, serveLaunch } from './launch.ts';

export interface ConfigureRequest {
  readonly action: 'init' | 'remove';
  readonly client: Client;
  readonly places: ClientPlaces;
  /** The full path of the folder that our server serves, or whose files our proxy guards. */
  readonly dir: string;
  /**
   * Selects the user's file or the project's file. Default for `init`: the client's default scope.
   * Default for `remove` and `proxy`: the scope in which the entry is found.
   */
  readonly scope?: ConfigScope;
  /**
   * The name of a server in the client's configuration. If given, `init` puts our proxy before this
   * server and does not add our own server. `remove` then removes only that proxy.
   */
  readonly proxy?: string;
  /** If given, hooks are added to the client's settings; for `remove`, they are removed. */
  readonly hooks?: HookRequest;
  readonly dryRun: boolean;
  /** The command with which the client starts our server; default: npx. */
  readonly starter?: Starter;
  /** Keeps the former contents of the files for a later `remove`. If absent, they are not kept. */
  readonly former?: FormerFiles;
}

/** The hooks to add to the client's settings besides our server. */
interface HookRequest {
  readonly files: HookFiles;
  /** True to add hooks that check every call of the client's own tools. */
  readonly gate: boolean;
  /** True to also deny the client's own edit tools. */
  readonly only: boolean;
  /**
   * `layer`: the client's shell runs on a layer (a copy-on-write view of the workspace), if the
   * client has a setting for it. `images`: hooks compare the files before and after each command.
   */
  readonly shell: 'layer' | 'images';
}

/** The change of one configuration file. In a dry run, the file was not changed. */
export type ConfigureReport =
  | {
      readonly ok: true;
      readonly file: string;
      readonly did: 'create' | 'change' | 'delete' | 'nothing';
      /** A unified diff; empty if nothing changes. */
      readonly diff: string;
      /** The user's next step after `init`; empty after `remove`. */
      readonly next: string;
    }
  /** `file`: the file that cannot be edited. Absent if no file is the cause. */
  | { readonly ok: false; readonly file?: string; readonly reason: string; readonly line?: number };

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
  const failed = reports.filter((report) => !report.ok);
  if (failed.length > 0)
    return failed.filter(({ file }, index) => failed.findIndex((other) => other.file === file) === index);
  return (request.dryRun ? undefined : plan.commit()) ?? reports;
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

interface PlannedFile {
  readonly file: ConfigFile;
  readonly text: string | undefined;
  /** Names of the pieces (hooks, denied tools) that `init` adds to the file. */
  readonly added: readonly string[];
}

interface ChangeOptions {
  readonly next?: string;
  /** Returns the names of the pieces (hooks, denied tools) that the change adds to a text. */
  readonly added?: (text: string | undefined) => readonly string[];
  /**
   * Treatment of a file that cannot be read or parsed. `report` (default): the plan fails. `skip`:
   * the plan ignores an unreadable file if `init` has no record of it, and a file with a syntax
   * error if it does not contain our name.
   */
  readonly broken?: 'skip' | 'report';
}

/**
 * Planned edits of files. A later edit of a file starts from the text that the earlier edit left.
 * Nothing is written before `commit`.
 */
class Plan {
  readonly #request: ConfigureRequest;
  readonly #files = new Map<string, PlannedFile>();

  constructor(request: ConfigureRequest) {
    this.#request = request;
  }

  change(
    path: string,
    change: (text: string | undefined, path: string) => EditedConfig,
    more: ChangeOptions = {},
  ): ConfigureReport {
    const { former } = this.#request;
    const { next = '', broken } = more;
    const nothing = { ok: true, file: path, did: 'nothing', diff: '', next } as const;
    const file = readConfig(path);
    if ('reason' in file) {
      const isForeign = broken === 'skip' && former?.added(path) === undefined;
      return isForeign ? nothing : { ok: false, file: path, reason: file.reason };
    }
    const planned = this.#files.get(file.path);
    const text = planned === undefined ? file.text : planned.text;
    const edit = formerOf(this.#request, file) ?? change(text, file.path);
    if (!edit.ok && broken === 'skip' && text?.includes('lookfirst') !== true) return nothing;
    if (!edit.ok) return { ...edit, file: path };
    if (edit.text !== text && file.isReadOnly) return { ok: false, file: path, reason: 'it is read-only' };
    const added = [...(planned?.added ?? []), ...(more.added?.(text) ?? [])];
    this.#files.set(file.path, { file, text: edit.text, added });
    const diff = unifiedDiff(text ?? '', edit.text ?? '', { maxLines: 200, context: 2 }).text;
    return { ok: true, file: path, did: didOf(text, edit.text), diff, next };
  }

  /** Writes all files, or none. Returns a failure if another program changed one of them since it was read. */
  commit(): readonly ConfigureReport[] | undefined {
    const { action, former } = this.#request;
    const changed = [...this.#files.values()].filter(({ file, text }) => text !== file.text);
    const takeBack: (() => void)[] = [];
    let isDone = false;
    try {
      for (const { file, text, added } of changed) {
        if (former !== undefined && action === 'init' && text !== undefined) {
          takeBack.push(former.restorer(file.path));
          former.keep(file.path, file.text, { next: text, added });
        }
        if (!writeConfig(file, text))
          return [{ ok: false, file: file.path, reason: 'it was changed meanwhile; try again' }];
        takeBack.push(() => writeConfig({ ...file, text }, file.text));
      }
      isDone = true;
    } finally {
      if (!isDone) for (const step of takeBack.toReversed()) attempt(step);
    }
    for (const { file, text } of changed) {
      if (action === 'remove') former?.forget(file.path);
      if (text === undefined) former?.dropFolders(file.path);
    }
    return undefined;
  }
}

/** Runs a step that reverts a change. Ignores its errors, because the caller reports the original error. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // Ignore the error, so that the remaining steps still run.
  }
}

/**
 * The file's content before the first `init`, which `remove` restores. Undefined if there is no
 * record of it, if the file has changed since `init`, or if the request is `init` or removes only
 * one proxy.
 */
function formerOf({ action, proxy, former }: ConfigureRequest, file: ConfigFile): EditedConfig | undefined {
  if (action !== 'remove' || proxy !== undefined) return undefined;
  const kept = former?.of(file.path, file.text);
  return kept === undefined ? undefined : { ok: true, text: kept.text };
}

function editOf(request: ConfigureRequest, candidate: Candidate, text: string | undefined): EditedConfig {
  const { action, client, places, proxy, starter } = request;
  const dir = dirOf(request, candidate.scope);
  if (action === 'init' && proxy === undefined)
    return addServer(
      client,
      text,
      client.entry({ ...serveLaunch(dir, places.platform, starter), ...withheldBy(client, places) }),
    );
  if (text === undefined) return action === 'remove' ? { ok: true, text } : { ok: false, reason: NO_FILE };
  if (action === 'init' && proxy !== undefined)
    return wrapServer(client, text, { name: proxy, prefix: proxyLaunch(dir, places.platform, starter) });
  return proxy === undefined ? removeServer(client, text) : unwrapServer(client, text, proxy);
}

/**
 * The text that names the folder `dir` in the client's file. For the project's folder it is `.` or
 * a placeholder, if the client supports that. The file then works in every checkout.
 */
function dirOf({ client, dir, places }: ConfigureRequest, scope: ConfigScope): string {
  if (dir !== places.project) return dir;
  return (scope === 'project' ? client.projectDir : client.userDir) ?? dir;
}

function didOf(
  before: string | undefined,
  after: string | undefined,
): 'create' | 'change' | 'delete' | 'nothing' {
  if (after === before) return 'nothing';
  if (before === undefined) return 'create';
  return after === undefined ? 'delete' : 'change';
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
  return request.dryRun
    ? `would ${report.did} ${report.file}\n${report.diff}\n`
    : `${DONE[report.did]} ${report.file}\n`;
}
