import { writtenTexts } from '../dialect/calls/interpret.ts';
import { type Arguments, pathArguments } from '../dialect/calls/rule-scope.ts';
import { pathsOfTouch } from '../dialect/calls/touch.ts';
import type { JsonRecord } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { straightenContent } from '../text/quotes/quotes.ts';
import {
  errorLine,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isSpace,
  paramsOf,
  parseRecord,
  rpcMeta,
  skipSpace,
} from '../wire/rpc.ts';
import { idOfRequest, type ProxyCall, toolOf } from './call.ts';
import { type InterceptOptions, inWords } from './intercept-options.ts';
import { withoutRevision } from './receipt-tools.ts';
import type { Wire } from './received.ts';
import { type CallMeaning, givenPaths, understand } from './understand.ts';
import { UpstreamPaths, upstreamPath } from './upstream-paths.ts';

/** A call as it will be forwarded, with its interpretation. */
type IncomingCall = Pick<
  ProxyCall,
  'line' | 'message' | 'tool' | 'args' | 'meaning' | 'revision' | 'pathsVersion' | 'straightened'
>;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** A replacement for one string in a message. */
interface Splice {
  /** Keys and indexes on the path to the string, outermost first. */
  readonly at: readonly (string | number)[];
  readonly value: string;
}

/** A string to be replaced, by its position in the line. */
interface Found {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

interface Walk {
  readonly line: Buffer;
  readonly found: Found[];
}

interface Tree {
  value: string | undefined;
  readonly below: Map<string, Tree>;
}

/**
 * Reads a call and rewrites it so that it means the same to the upstream as to us. Removes our own
 * arguments, and replaces paths that the upstream might resolve differently by absolute ones.
 */
export function readIncoming(
  options: Pick<InterceptOptions, 'receipts' | 'catalogue' | 'where' | 'quotes'>,
  upstreamPaths: UpstreamPaths,
  given: { readonly line: Buffer; readonly message: JsonRecord },
): IncomingCall {
  const { catalogue, where, receipts } = options;
  upstreamPaths.sawClient(given.message);
  const { line, message, revision } = receipts
    ? withoutRevision(given.line, given.message, catalogue.rulesOf(toolOf(given.message).tool))
    : { ...given, revision: undefined };
  const request = toolOf(message);
  const meaning = understand(catalogue, request, where.cwd);
  upstreamPaths.sawCall(request.tool, catalogue.table);
  const call = { line, message, ...request, meaning, revision };
  const pathsVersion = pathsVersionOf(meaning, upstreamPaths);
  const straight = straightened(options, request);
  const { count } = straight;
  const paths = pathsVersion === undefined ? [] : splicesFor(options, upstreamPaths, request);
  const splices = inJsonText([...paths, ...straight.splices], request.args);
  if (splices.length === 0) return { ...call, pathsVersion, straightened: 0 };
  // Parse the rewritten message again, so that the gate judges exactly what is sent.
  const sent = spliceStrings(line, splices);
  const again = parseRecord(sent);
  const asked = toolOf(again);
  const meant = understand(catalogue, asked, where.cwd);
  const left = pathsVersionOf(meant, upstreamPaths);
  return {
    line: sent,
    message: again,
    ...asked,
    meaning: meant,
    revision,
    pathsVersion: left,
    straightened: count,
  };
}

/**
 * The replacements that straighten typographic quotes in a call's texts, and the number of these
 * quotes. A text that is only a part of a file is changed only in the mode `all`, because Lookfirst
 * cannot know whether the part is code.
 */
function straightened(
  { catalogue, quotes }: Pick<InterceptOptions, 'catalogue' | 'quotes'>,
  { tool, args }: Pick<ProxyCall, 'tool' | 'args'>,
): { readonly splices: readonly Splice[]; readonly count: number } {
  const call = { tool: catalogue.traitsOf(tool), args };
  const texts = quotes === 'off' ? [] : writtenTexts(call, catalogue.rulesOf(tool));
  const changed = texts.flatMap(({ at, path, text, extent }) => {
    if (extent === 'part' && quotes !== 'all') return [];
    const straight = straightenContent(path, text, { mode: quotes });
    return straight.count === 0 ? [] : [{ at, straight }];
  });
  return {
    splices: changed.map(({ at, straight }) => ({
      at: ['params', 'arguments', ...at],
      value: straight.text,
    })),
    count: changed.reduce((sum, { straight }) => sum + straight.count, 0),
  };
}

/**
 * The present `UpstreamPaths.version`. Undefined if the meaning of the call's paths cannot change,
 * or if Lookfirst only guesses which arguments are paths.
 */
function pathsVersionOf(meaning: CallMeaning, { version }: UpstreamPaths): number | undefined {
  const relies = !meaning.guessed && !givenPaths(meaning).every(UpstreamPaths.isPlain);
  return relies ? version : undefined;
}

/**
 * The path replacements for a call. Empty for a tool that Lookfirst has no description of, because
 * its argument `path` may be something else.
 */
function splicesFor(
  { catalogue }: Pick<InterceptOptions, 'catalogue'>,
  upstreamPaths: UpstreamPaths,
  { tool, args }: Pick<ProxyCall, 'tool' | 'args'>,
): Splice[] {
  const { table } = catalogue;
  const rules = catalogue.rulesOf(tool);
  if (table === undefined || rules === undefined) return [];
  return pathArguments(rules, args).flatMap(({ at, path }) => {
    const value = upstreamPaths.forwarded(path, table);
    return value === path ? [] : [{ at: ['params', 'arguments', ...at], value }];
  });
}

/**
 * Merges all splices inside an argument that is itself JSON text into one splice, which replaces
 * the whole argument. Other splices stay as they are.
 */
function inJsonText(splices: readonly Splice[], args: Arguments): Splice[] {
  const result: Splice[] = [];
  const texts = new Map<string, Splice[]>();
  for (const splice of splices) {
    const [, , key, ...inner] = splice.at;
    const isInText = inner.length > 0 && typeof args[String(key)] === 'string';
    if (isInText) texts.set(String(key), [...(texts.get(String(key)) ?? []), { ...splice, at: inner }]);
    else result.push(splice);
  }
  for (const [key, inner] of texts)
    result.push({
      at: ['params', 'arguments', key],
      value: spliceStrings(Buffer.from(String(args[key])), inner).toString(),
    });
  return result;
}

/**
 * The argument that lists the files, for a call that only reads files. Refused files can be removed
 * from the list. Undefined if there is no such argument. The gate then refuses the whole call if
 * one file is refused.
 */
export function fileListOf({ meaning, args, message }: ProxyCall): string | undefined {
  const { touches, unexplained } = meaning;
  const id = message['id'];
  const onlyReads = touches.every(({ does }) => does === 'read' || does === 'look');
  // Remove no file if the id is a number that JavaScript cannot represent exactly: rewriting the
  // call would change the id.
  if (!onlyReads || unexplained || (typeof id === 'number' && !Number.isSafeInteger(id))) return undefined;
  const given = new Set(givenPaths(meaning));
  const lists = Object.keys(args).filter((key) => {
    const list = args[key];
    return Array.isArray(list) && list.length > 1 && list.every((item) => given.has(item));
  });
  return lists.length === 1 ? lists[0] : undefined;
}

/** Removes from a call the files that it may not read. Returns false if no file would be left. */
export function leaveOut(call: ProxyCall, list: string, leftOut: ReadonlyMap<string, Refusal>): boolean {
  const { meaning, message } = call;
  const items = call.args[list];
  const left = Array.isArray(items) ? items.filter((item) => !leftOut.has(item)) : [];
  if (left.length === 0) return false;
  const touches = meaning.touches.filter((touch) => pathsOfTouch(touch).every((path) => !leftOut.has(path)));
  const params = { ...paramsOf(message), arguments: { ...call.args, [list]: left } };
  call.line = Buffer.from(JSON.stringify({ ...message, params }));
  call.meaning = { ...meaning, touches };
  call.leftOut = leftOut;
  return true;
}

/**
 * The refusal of a call with relative paths, if the folder at which the server's relative paths
 * start changed while the call waited.
 */
export function movedRefusal({ tool }: ProxyCall): Refusal {
  const detail = { reason: "the server's folders changed while the call waited" };
  return { code: 'UNVERIFIABLE', action: 'call', path: tool, next: 'retry_later', detail };
}

/**
 * Replaces strings at given places in a line of valid JSON, and keeps every other byte. If an
 * object has a key twice, replaces both values, because readers differ in which one they use.
 */
export function spliceStrings(line: Buffer, splices: readonly Splice[]): Buffer {
  const found: Found[] = [];
  follow({ line, found }, skipSpace(line, 0), treeOf(splices));
  const parts: Buffer[] = [];
  let from = 0;
  for (const { start, end, value } of found) {
    parts.push(line.subarray(from, start), Buffer.from(JSON.stringify(value)));
    from = end;
  }
  return Buffer.concat([...parts, line.subarray(from)]);
}

function treeOf(splices: readonly Splice[]): Tree {
  const root: Tree = { value: undefined, below: new Map() };
  for (const { at, value } of splices) {
    let tree = root;
    for (const step of at) {
      const next = tree.below.get(String(step)) ?? { value: undefined, below: new Map() };
      tree.below.set(String(step), next);
      tree = next;
    }
    tree.value = value;
  }
  return root;
}

/**
 * Walks a value that contains strings to replace, and notes their positions. Skips parts without
 * such strings. Returns the end of the value.
 */
function follow(walk: Walk, start: number, tree: Tree): number {
  const first = walk.line[start];
  if (first === OPEN_OBJECT) return followObject(walk, start, tree);
  if (first === OPEN_ARRAY) return followArray(walk, start, tree);
  const end = skipValue(walk.line, start);
  if (first === QUOTE && tree.value !== undefined) walk.found.push({ start, end, value: tree.value });
  return end;
}

function followObject(walk: Walk, start: number, tree: Tree): number {
  const { line } = walk;
  let at = skipSpace(line, start + 1);
  while (at < line.length && line[at] !== CLOSE_OBJECT) {
    const keyEnd = skipString(line, at);
    // The cast is safe: a key of valid JSON parses to a string.
    const key = JSON.parse(line.toString('utf8', at, keyEnd)) as string;
    const colon = skipSpace(line, keyEnd);
    at = followNext(walk, skipSpace(line, colon + 1), tree.below.get(key));
  }
  return at + 1;
}

function followArray(walk: Walk, start: number, tree: Tree): number {
  const { line } = walk;
  let at = skipSpace(line, start + 1);
  for (let index = 0; at < line.length && line[at] !== CLOSE_ARRAY; index++)
    at = followNext(walk, at, tree.below.get(String(index)));
  return at + 1;
}

/** Walks one member of an object or one item of an array, and the comma after it. */
function followNext(walk: Walk, start: number, tree: Tree | undefined): number {
  const { line } = walk;
  const end = tree === undefined ? skipValue(line, start) : follow(walk, start, tree);
  const at = skipSpace(line, end);
  return line[at] === COMMA ? skipSpace(line, at + 1) : at;
}

function skipValue(line: Buffer, start: number): number {
  const first = line[start];
  if (first === QUOTE) return skipString(line, start);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipScalar(line, start);
  let depth = 0;
  for (let at = start; at < line.length; at++) {
    const byte = line[at];
    if (byte === QUOTE) at = skipString(line, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) return at + 1;
  }
  return line.length;
}

function skipScalar(line: Buffer, start: number): number {
  let at = start;
  while (at < line.length && !isEnd(line[at])) at++;
  return at;
}

function isEnd(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || isSpace(byte);
}

/** The end of a string. A quote after an odd number of backslashes belongs to the string. */
function skipString(line: Buffer, start: number): number {
  for (let quote = line.indexOf(QUOTE, start + 1); quote >= 0; quote = line.indexOf(QUOTE, quote + 1)) {
    let before = quote - 1;
    while (line[before] === BACKSLASH) before--;
    if ((quote - before) % 2 === 1) return quote + 1;
  }
  return line.length;
}

/**
 * Matches a URL that contains `..`. Such a URL is refused as ambiguous, because some servers follow
 * links before they apply `..`.
 */
const CLIMBS = /(^|[/\\:]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i;

/**
 * The `file:` URL of a `resources/read`; undefined for any other URL. Removes the characters that
 * URL parsers ignore: spaces and control characters before the URL, tabs and newlines anywhere.
 */
export function fileAddress(message: JsonRecord): string | undefined {
  const uri = paramsOf(message)['uri'];
  if (typeof uri !== 'string') return undefined;
  const plain = uri.replace(/^[\0-\x20]+|[\t\n\r]/g, '');
  return /^file:/i.test(plain) ? plain : undefined;
}

/** Forwards a read of a `file:` URL if the file is inside the workspace. Otherwise answers with an error. */
export async function readResource(
  options: Pick<InterceptOptions, 'session' | 'wording' | 'catalogue' | 'where' | 'log'>,
  wire: Wire,
  request: { readonly line: Buffer; readonly message: JsonRecord; readonly uri: string },
): Promise<void> {
  const { line, message, uri } = request;
  const id = idOfRequest(line, message)?.id ?? 'null';
  if (CLIMBS.test(uri)) {
    wire.toClient(errorLine(id, INVALID_PARAMS, 'the URL of a file may not contain ".."'));
    return;
  }
  let ended: (() => void) | undefined;
  try {
    const session = await options.session(rpcMeta(message));
    ended = session.ended;
    // Check two forms of the path, because some servers decode the URL and others only remove its
    // scheme. Both forms must be inside the workspace.
    const reading = { relativeTo: 'cwd', expandsHome: true, cwd: options.where.cwd } as const;
    for (const path of [upstreamPath(uri, reading), uri.replace(/^file:(\/\/)?/i, '')]) {
      const located = await session.locate(path, 'read');
      if (located.ok) continue;
      const text = inWords(located.refusal, options);
      wire.toClient(errorLine(id, INVALID_PARAMS, text));
      return;
    }
    wire.toUpstream(line);
  } catch (error) {
    options.log(`refused ${uri}, because the check failed: ${String(error)}`);
    wire.toClient(errorLine(id, INTERNAL_ERROR, 'The check itself failed, so this read was refused.'));
  } finally {
    ended?.();
  }
}
