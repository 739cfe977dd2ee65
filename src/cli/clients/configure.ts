import { unifiedDiff } from '../../text/unified.ts';
import { type Client, type ClientPlaces, type ConfigScope, withheldBy } from './client.ts';
import { type ConfigFile, readConfig, writeConfig } from './config-file.ts';
import { addServer, removeServer, unwrapServer, wrapServer } from './config-text.ts';
import type { EditedConfig } from './edit.ts';
import type { FormerFiles } from './former.ts';
import { type ClientHooks, HOOK_SETTINGS, type HookFiles, type HookPiece } from './hook-settings.ts';
import { addPieces, removePieces } from './json-pieces.ts';
import { proxyLaunch, type Starter, serveLaunch } from './launch.ts';

export interface ConfigureRequest {
  readonly action: 'init' | 'remove';
  readonly client: Client;
  readonly places: ClientPlaces;
  /** The folder to serve or watch: a full path. */
  readonly dir: string;
  /**
   * Default: the client's default scope for `init`; for `remove` and `proxy`, the scope in which
   * the entry is found.
   */
  readonly scope?: ConfigScope;
  /** Put our proxy before this server of the client instead of adding our own server. */
  readonly proxy?: string;
  /** Also gate the client's own tools by hooks. `remove` always removes the hooks too. */
  readonly hooks?: HookRequest;
  readonly dryRun: boolean;
  /** The command with which the client starts our server; default: npx. */
  readonly starter?: Starter;
  /** The folder for former contents; absent if they are not kept. */
  readonly former?: FormerFiles;
}

/** The hooks to add to the client's settings besides our server. */
interface HookRequest {
  readonly files: HookFiles;
  /** Gate the client's own tools. */
  readonly gate: boolean;
  /** Also deny the client's own edit tools. */
  readonly only: boolean;
  /**
   * `layer`: run the client's shell on a layer (a copy-on-write view of the workspace), if the client has a setting
   * for it.
   */
  readonly shell: 'layer' | 'images';
}

/** The result for one file, or its preview. */
export type ConfigureReport =
  | {
      readonly ok: true;
      readonly file: string;
      readonly did: 'create' | 'change' | 'delete' | 'nothing';
      /** A unified diff; empty if nothing changes. */
      readonly diff: string;
      readonly next: string;
    }
  | { readonly ok: false; readonly file: string; readonly reason: string; readonly line?: number };

/**
 * Adds our server to a client's configuration, or removes it. All other bytes of the file stay. A
 * file that cannot be edited without guessing is refused and not touched.
 */
export function configureClient(request: ConfigureRequest): readonly ConfigureReport[] {
  const candidates = candidatesOf(request);
  const [first] = candidates;
  if (first === undefined) {
    const { client, scope } = request;
    return [{ ok: false, file: client.title, reason: `${client.title} has no ${scope} configuration` }];
  }
  if (request.action === 'remove') {
    const reports = candidates.map((candidate) => configureFile(request, candidate));
    const worthTelling = reports.filter((report) => !report.ok || report.did !== 'nothing');
    return worthTelling.length > 0 ? worthTelling : reports.slice(0, 1);
  }
  if (request.proxy === undefined) return [configureFile(request, first)];
  const reports = candidates.map((candidate) => configureFile({ ...request, dryRun: true }, candidate));
  const found = candidates[reports.findIndex((report) => report.ok)];
  if (found !== undefined) return [configureFile(request, found)];
  const readable = reports.filter((report) => !report.ok && report.reason !== NO_FILE);
  return readable.length > 0 ? readable : reports.slice(0, 1);
}

const NO_FILE = 'there is no such file';

interface Candidate {
  readonly scope: ConfigScope;
  readonly path: string;
}

/** Adds our hooks to a client's settings, or removes them from every scope. */
export function configureHooks(
  request: ConfigureRequest & { readonly hooks: HookRequest },
): readonly ConfigureReport[] {
  const { action, client, places, scope, hooks } = request;
  const settings = HOOK_SETTINGS[client.name];
  if (settings === undefined) {
    const reason = `${client.title} has no hooks`;
    return action === 'remove' ? [] : [{ ok: false, file: client.title, reason }];
  }
  if (action === 'init') {
    const file = settings.file(scope ?? settings.defaultScope, places);
    const pieces = piecesOf(settings, hooks);
    const next = hooks.gate ? settings.next : `Start ${client.title} again.`;
    return [changeFile(request, file, (text) => addPieces(text, pieces, settings.header), next)];
  }
  const pieces = piecesOf(settings, { ...hooks, gate: true, only: true, shell: 'layer' });
  const scopes: readonly ConfigScope[] = scope === undefined ? ['project', 'user'] : [scope];
  return scopes
    .map((each) => settings.file(each, places))
    .map((file) => changeFile(request, file, (text) => removedHooks(text, pieces), ''))
    .filter((report) => !report.ok || report.did !== 'nothing');
}

function piecesOf(settings: ClientHooks, { files, gate, only, shell }: HookRequest): readonly HookPiece[] {
  const layered = shell === 'layer' && settings.shell !== undefined ? [settings.shell(files)] : [];
  const gates = gate ? [...settings.pieces(files), ...layered] : [];
  return [...gates, ...(only ? (settings.only ?? []) : [])];
}

/** A file in which nothing else is left was created by `init`, so it is removed. */
function removedHooks(text: string | undefined, pieces: readonly HookPiece[]): EditedConfig {
  const rest = removePieces(text, pieces);
  if (!rest.ok || rest.text === undefined || rest.text === text) return rest;
  const left = rest.text.replace(/"version": 1\b/, '').replace(/\s+/g, '');
  return left === '{}' ? { ok: true, text: undefined } : rest;
}

/** The files to edit, most likely first: for each scope the file that exists, or the one to create. */
function candidatesOf(request: ConfigureRequest): Candidate[] {
  const { client, places } = request;
  return scopesOf(request).flatMap((scope) => {
    const paths = client.files(scope, places);
    const path = paths.find(exists) ?? paths[0];
    return path === undefined ? [] : [{ scope, path }];
  });
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

function configureFile(request: ConfigureRequest, candidate: Candidate): ConfigureReport {
  return changeFile(request, candidate.path, (text) => editOf(request, candidate, text), request.client.next);
}

function changeFile(
  request: ConfigureRequest,
  path: string,
  change: (text: string | undefined) => EditedConfig,
  next: string,
): ConfigureReport {
  const { dryRun } = request;
  const file = readConfig(path);
  if ('reason' in file) return { ok: false, file: path, reason: file.reason };
  const edit = formerOf(request, file) ?? change(file.text);
  if (!edit.ok) return { ...edit, file: path };
  if (edit.text !== file.text && file.isReadOnly) return { ok: false, file: path, reason: 'it is read-only' };
  if (edit.text !== file.text && !dryRun && !writeAndKeep(request, file, edit.text))
    return { ok: false, file: path, reason: 'it was changed meanwhile; try again' };
  return {
    ok: true,
    file: path,
    did: didOf(file, edit.text),
    diff: unifiedDiff(file.text ?? '', edit.text ?? '', { maxLines: 200, context: 2 }).text,
    next,
  };
}

/** The file's content before any `init`, for a `remove` of everything, if the file is unchanged since. */
function formerOf({ action, proxy, former }: ConfigureRequest, file: ConfigFile): EditedConfig | undefined {
  if (action !== 'remove' || proxy !== undefined) return undefined;
  const kept = former?.of(file.path, file.text);
  return kept === undefined ? undefined : { ok: true, text: kept.text };
}

/** Keeps the former content before `init` writes, and forgets it after `remove`. */
function writeAndKeep(
  { action, former }: ConfigureRequest,
  file: ConfigFile,
  text: string | undefined,
): boolean {
  if (action === 'init' && text !== undefined) former?.keep(file.path, file.text, text);
  const isWritten = writeConfig(file, text);
  if (isWritten && action === 'remove') former?.forget(file.path);
  if (isWritten && text === undefined) former?.dropFolders(file.path);
  return isWritten;
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
 * The folder as written in the file. It is relative if the client starts servers in the project's
 * folder, so that it fits every project.
 */
function dirOf({ client, dir, places }: ConfigureRequest, scope: ConfigScope): string {
  if (dir !== places.project) return dir;
  return (scope === 'project' ? client.projectDir : client.userDir) ?? dir;
}

function didOf(file: ConfigFile, text: string | undefined): 'create' | 'change' | 'delete' | 'nothing' {
  if (text === file.text) return 'nothing';
  if (file.text === undefined) return 'create';
  return text === undefined ? 'delete' : 'change';
}

const DONE = { create: 'created', change: 'changed', delete: 'deleted' } as const;

/** A report for the terminal. */
export function reportText(
  report: ConfigureReport,
  request: Pick<ConfigureRequest, 'action' | 'dryRun'>,
): string {
  if (!report.ok) {
    const line = report.line === undefined ? '' : ` (line ${report.line})`;
    return `cannot edit ${report.file}: ${report.reason}${line}. Nothing was changed.\n`;
  }
  if (report.did === 'nothing') {
    const why = request.action === 'init' ? 'Lookfirst is already there' : 'Lookfirst is not there';
    return `nothing to do in ${report.file}: ${why}\n`;
  }
  const head = request.dryRun ? `would ${report.did}` : DONE[report.did];
  const next = request.action === 'init' && !request.dryRun ? `${report.next}\n` : '';
  return `${head} ${report.file}\n${report.diff}\n${next}`;
}
