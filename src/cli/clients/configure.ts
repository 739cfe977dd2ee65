import { unifiedDiff } from '../../text/unified.ts';
import { type Client, type ClientPlaces, type ConfigScope, withheldBy } from './client.ts';
import { type ConfigFile, readConfig, writeConfig } from './config-file.ts';
import { addServer, removeServer, unwrapServer, wrapServer } from './config-text.ts';
import { cannotEdit, type EditedConfig, edited, eolOf, type Splice, spliced } from './edit.ts';
import type { FormerFiles } from './former.ts';
import { type ClientHooks, HOOK_SETTINGS, type HookFiles, type HookPiece } from './hook-settings.ts';
import { insertFirst, newMember, removeMember } from './json-members.ts';
import { scanJson, skipJsonBlanks } from './json-scan.ts';
import { compact, type JsonValue, styleOf } from './json-style.ts';
import { proxyLaunch, type Starter, serveLaunch } from './launch.ts';
import { type ArrayNode, type ConfigNode, memberOf, type ObjectNode, ScanProblem } from './node.ts';

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

/** Matches the names of our files in the state folder, which mark our pieces in a client's settings. */
const OURS = /lookfirst-(?:hook|opencode|shell)\b/;

/** Adds pieces to a settings file. Existing pieces of ours are replaced; all other bytes stay. */
export function addPieces(
  text: string | undefined,
  pieces: readonly HookPiece[],
  header: Readonly<Record<string, JsonValue>> = {},
): EditedConfig {
  const clean = removePieces(text, pieces);
  if (!clean.ok) return clean;
  let result = clean.text ?? '';
  for (const piece of pieces) {
    const root = rootOf(result);
    if (root === undefined || root.members.length === 0) {
      const bare = JSON.stringify({ ...header, ...nested(piece.at, contentOf(piece)) }, null, 2);
      result =
        root === undefined ? `${bare}\n` : spliced(result, [{ from: root.from, to: root.to, put: bare }]);
      continue;
    }
    const splice = addition(result, root, piece);
    if (splice === 'set') continue;
    if (splice === undefined) return cannotEdit(`${piece.at.join('.')} is not a list`);
    result = spliced(result, [splice]);
  }
  return edited(result);
}

/** Removes our pieces, with lists and objects that become empty. All other bytes stay. */
export function removePieces(text: string | undefined, pieces: readonly HookPiece[]): EditedConfig {
  if (text === undefined) return edited(undefined);
  try {
    rootOf(text);
  } catch (error) {
    if (!(error instanceof ScanProblem)) throw error;
    return cannotEdit(`it is not valid JSON: ${error.message}`, text, error.at);
  }
  let result = text;
  for (const { at } of pieces) result = withoutOurs(result, at, pieces);
  return edited(result);
}

/** The document's object; undefined for a blank text. */
function rootOf(text: string): ObjectNode | undefined {
  const root = scanJson(text);
  if (root !== undefined && root.kind !== 'object')
    throw new ScanProblem('it does not hold a JSON object', root.from);
  return root;
}

function nested([key, ...rest]: readonly string[], value: JsonValue): { readonly [key: string]: JsonValue } {
  return { [key ?? '']: rest.length === 0 ? value : nested(rest, value) };
}

/** The text that a piece adds to an empty place. */
function contentOf({ kind, item }: HookPiece): JsonValue {
  return kind === 'member' ? item : [item];
}

/**
 * Adds a piece to its list, or creates the list or member in the deepest existing object. Returns `set` if the user
 * has already set the member, and undefined if the place holds something other than a list.
 */
function addition(text: string, root: ObjectNode, piece: HookPiece): Splice | 'set' | undefined {
  const { at, item, kind } = piece;
  let node: ConfigNode = root;
  for (const [depth, key] of at.entries()) {
    if (node.kind !== 'object') return undefined;
    const member = memberOf(node, key);
    if (member === undefined) {
      const rest = at.slice(depth + 1);
      const value = rest.length === 0 ? contentOf(piece) : nested(rest, contentOf(piece));
      const added = newMember(key, value, styleOf(text));
      if (node.members.length > 0) return insertFirst(text, node, added);
      return { from: node.from + 1, to: node.from + 1, put: `${JSON.stringify(key)}: ${compact(value)}` };
    }
    node = member.value;
  }
  if (kind === 'member') return 'set';
  return node.kind === 'array' ? newItem(text, node, item) : undefined;
}

/**
 * Adds an item in front of the others, in their layout, so that the text after the last item stays
 * unchanged.
 */
function newItem(text: string, list: ArrayNode, item: JsonValue): Splice {
  const at = list.from + 1;
  const [first] = list.items;
  if (first === undefined) return { from: at, to: at, put: compact(item) };
  const gap = text.slice(at, first.from);
  const lead = gap.includes('\n') ? `${eolOf(text)}${/[ \t]*$/.exec(gap)?.[0] ?? ''}` : gap;
  return { from: at, to: at, put: `${lead}${compact(item)},` };
}

function withoutOurs(text: string, at: readonly string[], pieces: readonly HookPiece[]): string {
  const root = rootOf(text);
  const list = root === undefined ? undefined : nodeAt(root, at);
  if (list?.kind === 'string') return isOurs(text, list, { at, pieces }) ? withoutMember(text, at) : text;
  if (list?.kind !== 'array') return text;
  const ours = list.items.filter((item) => isOurs(text, item, { at, pieces }));
  const [first] = ours;
  if (first === undefined) return text;
  if (ours.length === list.items.length) return withoutMember(text, at);
  return withoutOurs(spliced(text, [itemCut(text, list, first)]), at, pieces);
}

/**
 * Hooks and plugins are recognised by their file. A denied tool has no mark, so it is ours if `init
 * --only` adds it.
 */
function isOurs(
  text: string,
  item: ConfigNode,
  { at, pieces }: { readonly at: readonly string[]; readonly pieces: readonly HookPiece[] },
): boolean {
  if (OURS.test(text.slice(item.from, item.to))) return true;
  if (item.kind !== 'string') return false;
  return pieces.some((piece) => piece.at.join('\0') === at.join('\0') && piece.item === item.value);
}

/**
 * The range of an item with the blanks before it and one comma. Removing it is the exact reverse of
 * `newItem`.
 */
function itemCut(text: string, list: ArrayNode, item: ConfigNode): Splice {
  const index = list.items.indexOf(item);
  const previous = list.items[index - 1];
  const comma = skipJsonBlanks(text, item.to);
  const from = previous === undefined ? list.from + 1 : skipJsonBlanks(text, previous.to) + 1;
  if (text[comma] === ',') return { from, to: comma + 1, put: '' };
  return { from: previous === undefined ? from : from - 1, to: item.to, put: '' };
}

/** The text without a member, and without the objects around it that become empty. */
function withoutMember(text: string, at: readonly string[]): string {
  const parent = at.slice(0, -1);
  const root = rootOf(text);
  const object = root === undefined ? undefined : nodeAt(root, parent);
  const member = object?.kind === 'object' ? memberOf(object, at.at(-1) ?? '') : undefined;
  if (object?.kind !== 'object' || member === undefined) return text;
  if (object.members.length === 1 && parent.length > 0) return withoutMember(text, parent);
  return spliced(text, removeMember(text, object, member));
}

function nodeAt(root: ObjectNode, at: readonly string[]): ConfigNode | undefined {
  let node: ConfigNode | undefined = root;
  for (const key of at) node = node?.kind === 'object' ? memberOf(node, key)?.value : undefined;
  return node;
}
