import { parse, sep } from 'node:path';
import { type Interpretation, interpret, stringsOf } from '../dialect/calls/interpret.ts';
import type { Arguments } from '../dialect/calls/rule-scope.ts';
import { pathsOfTouch, type ReadTouch, type Touch } from '../dialect/calls/touch.ts';
import { ClientCall } from '../model/call.ts';
import { type HostIntent, locatedIntent } from '../model/intent.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import type { Action, Refusal } from '../model/verdict.ts';
import { canonicalPath } from '../records/scope.ts';
import type { HostSession } from '../session/gated-session.ts';
import { straightenContent } from '../text/quotes/quotes.ts';
import { paramsOf } from '../wire/rpc.ts';
import type { Catalogue } from './catalogue.ts';
import type { GateSettings } from './gate-settings.ts';
import { forwardedPath, upstreamPath } from './upstream-paths.ts';

/** A request that can be answered: its message, and the JSON text of its id, which also identifies it. */
export interface Answerable {
  readonly message: JsonRecord;
  readonly id: string;
}

/**
 * One `tools/call` as it will be forwarded. The message is serialised again before it is sent, so
 * the server gets exactly what was judged.
 */
export interface ProxyCall extends Answerable {
  readonly tool: string;
  readonly args: Arguments;
  readonly meaning: CallMeaning;
  /** The number of typographic quotes that were straightened in the call's texts. */
  readonly straightened: number;
  readonly times: ClientCall;
}

/** The effects of a call, how certain they are, and the files it concerns. */
export interface CallMeaning extends Interpretation {
  /** The file that the upstream will open, for each path as the call names it. */
  readonly places: ReadonlyMap<string, string>;
  /** The changes that the call will make, with paths as the upstream resolves them. */
  readonly intents: readonly HostIntent[];
  readonly reads: readonly ReadTouch[];
  /** The journal's name for a call that runs a command or has unknown effects. */
  readonly command: string | undefined;
}

/** A new value for one string in a call's arguments. */
interface StringEdit {
  /** Keys and indexes on the path to the string, outermost first. */
  readonly at: readonly (string | number)[];
  readonly value: string;
}

/**
 * Reads a call and rewrites it so that it means the same to the upstream as to us. Removes our own
 * arguments, and replaces paths that the upstream might resolve differently by absolute ones.
 */
export function readProxyCall(
  settings: Pick<GateSettings, 'catalogue' | 'where' | 'quotes'>,
  { id, message }: Answerable,
): ProxyCall {
  const { catalogue, where } = settings;
  const params = paramsOf(message);
  const tool = typeof params['name'] === 'string' ? params['name'] : '';
  const given = isRecord(params['arguments']) ? params['arguments'] : {};
  const understood = understand(catalogue, { tool, args: given }, where.cwd);
  const { edits, straightened } = rewritten(settings, { tool, args: given, meaning: understood });
  const args = edits.reduce(withString, given);
  const times = new ClientCall();
  times.tool = tool;
  return {
    id,
    message: args === given ? message : { ...message, params: { ...params, arguments: args } },
    tool,
    args,
    meaning: edits.length === 0 ? understood : understand(catalogue, { tool, args }, where.cwd),
    straightened,
    times,
  };
}

/**
 * The edits that make a call mean the same to the upstream as to us, and the number of straightened
 * quotes. Paths are replaced only for a tool that Lookfirst has a description of, because the
 * argument `path` of another one may be something else. A text that is only a part of a file is
 * straightened only in the mode `all`, because Lookfirst cannot know whether the part is code.
 */
function rewritten(
  { catalogue, where, quotes }: Pick<GateSettings, 'catalogue' | 'where' | 'quotes'>,
  { tool, args, meaning }: Pick<ProxyCall, 'tool' | 'args' | 'meaning'>,
): { readonly edits: readonly StringEdit[]; readonly straightened: number } {
  const { table } = catalogue;
  const rules = catalogue.rulesOf(tool);
  const placed = (path: string): string =>
    table === undefined || rules === undefined ? path : forwardedPath(path, table, where);
  const mayChange = quotes !== 'off' && meaning.intents.length > 0;
  if (!mayChange && [...meaning.places.keys()].every((path) => placed(path) === path))
    return { edits: [], straightened: 0 };
  let straightened = 0;
  const edits = stringsOf({ tool: catalogue.traitsOf(tool), args }, rules).flatMap((string) => {
    const { at, value, is } = string;
    if (is === 'path') return placed(value) === value ? [] : [{ at, value: placed(value) }];
    if (quotes === 'off' || (string.extent === 'part' && quotes !== 'all')) return [];
    const { text, count } = straightenContent(string.path, value, { mode: quotes });
    straightened += count;
    return count === 0 ? [] : [{ at, value: text }];
  });
  return { edits, straightened };
}

function withString(args: Arguments, { at, value }: StringEdit): Arguments {
  // The cast is safe: a record stays a record if a value inside it is replaced.
  return replaced(args, at, value) as Arguments;
}

/**
 * A copy of a JSON value with the string at a place replaced. An argument may itself be JSON text;
 * the rest of the path then leads into it. A place without a string stays unchanged.
 */
function replaced(value: unknown, at: readonly (string | number)[], text: string): unknown {
  const [step, ...rest] = at;
  if (step === undefined) return typeof value === 'string' ? text : value;
  if (typeof value === 'string') {
    const inner = parseJson(value);
    return inner === undefined ? value : JSON.stringify(replaced(inner, at, text));
  }
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === String(step) ? replaced(item, rest, text) : item));
  if (!isRecord(value) || !Object.hasOwn(value, step)) return value;
  return { ...value, [step]: replaced(value[step], rest, text) };
}

/** Interprets a call by Lookfirst's description of the tool. Without a description, guesses. */
export function understand(
  catalogue: Catalogue,
  { tool, args }: { readonly tool: string; readonly args: Arguments },
  cwd: string,
): CallMeaning {
  const { relativeTo = 'cwd', expandsHome = true } = catalogue.table ?? {};
  const place = (path: string): string => upstreamPath(path, { relativeTo, expandsHome, cwd });
  const meaning = interpret({ tool: catalogue.traitsOf(tool), args }, catalogue.rulesOf(tool));
  const touches = meaning.guessed
    ? meaning.touches.filter((touch) => !isPartOfUrl(touch, place))
    : meaning.touches;
  return withPlaces({ ...meaning, touches, command: commandOf(meaning, tool) }, place);
}

/** The meaning, with the file that `place` gives for each path. */
function withPlaces(
  meaning: Interpretation & Pick<CallMeaning, 'command'>,
  place: (path: string) => string,
): CallMeaning {
  const places = new Map<string, string>();
  const intents: HostIntent[] = [];
  const reads: ReadTouch[] = [];
  for (const touch of meaning.touches) {
    for (const path of pathsOfTouch(touch)) places.set(path, place(path));
    if (touch.does === 'change') intents.push(locatedIntent(place, touch.intent));
    else if (touch.does === 'read') reads.push(touch);
  }
  return { ...meaning, places, intents, reads };
}

const ASCII = /^[\0-\x7f]*$/;
/** Matches ASCII texts without `;`, `K` and the backtick, which have a second form in Unicode. */
const UNMISTAKABLE = /^[\0-:<-JL-_a-\x7f]*$/;

/**
 * The meaning, with each path spelled as the file's name on disk if the upstream may open a file
 * whose name differs from the given one in its Unicode form. For a change, this includes names with
 * `K`: the file's name may contain the Kelvin sign instead.
 */
export function spelledAsOnDisk(
  meaning: CallMeaning,
  { table }: Pick<Catalogue, 'table'>,
  session: Pick<HostSession, 'pathOnDisk'>,
): CallMeaning {
  if (table?.equalNames !== true || meaning.guessed) return meaning;
  const plain = meaning.intents.length > 0 ? UNMISTAKABLE : ASCII;
  if ([...meaning.places.keys()].every((path) => plain.test(path))) return meaning;
  const onDisk = new Map([...meaning.places].map(([path, place]) => [path, session.pathOnDisk(place)]));
  return withPlaces(meaning, (path) => onDisk.get(path) ?? path);
}

function commandOf({ touches, unexplained }: Interpretation, tool: string): string | undefined {
  const run = touches.find((touch) => touch.does === 'run');
  if (run !== undefined) return `${tool}: ${run.command}`;
  return unexplained ? tool : undefined;
}

/**
 * Matches an absolute path without `..` and `%`, which could lead a server from a missing folder to
 * an existing one.
 */
const PLAIN_URL_PATH = /^(?:\/(?!\.\.?(?:\/|$))[\w.:@{}-]+)+\/?$/;

/**
 * True if a guessed path is probably a part of a URL, such as `/v1/users`: the call does not change
 * it, and its first folder does not exist on this machine. So the call cannot show a file at this
 * path.
 */
function isPartOfUrl(touch: Touch, place: (path: string) => string): boolean {
  if (touch.does !== 'look' && touch.does !== 'read' && touch.does !== 'list') return false;
  if (!PLAIN_URL_PATH.test(touch.path)) return false;
  const path = place(touch.path);
  const { root } = parse(path);
  const [first = ''] = path.slice(root.length).split(sep);
  return first !== '' && canonicalPath(root, first).kind === 'missing';
}

/** The action of a call on a path. `path` is the path as the upstream resolves it. */
export function actionAt({ intents }: CallMeaning, path: string): Action {
  for (const intent of intents) {
    const names = intent.kind === 'move' ? [intent.source, intent.destination] : [intent.path];
    if (!names.includes(path)) continue;
    if (intent.kind === 'write') return 'overwrite';
    return intent.kind === 'touch' ? 'edit' : intent.kind;
  }
  return 'read';
}

/**
 * The call without the files that it may not read. Undefined if the call does more than read the
 * files of one list, or if no file would be left: the gate then refuses the whole call.
 */
export function withoutFiles(call: ProxyCall, leftOut: ReadonlyMap<string, Refusal>): ProxyCall | undefined {
  const { meaning, message } = call;
  const list = fileListOf(call);
  const items = list === undefined ? undefined : call.args[list];
  const left = Array.isArray(items) ? items.filter((item) => !leftOut.has(item)) : [];
  if (list === undefined || left.length === 0) return undefined;
  const touches = meaning.touches.filter((touch) => pathsOfTouch(touch).every((path) => !leftOut.has(path)));
  const args = { ...call.args, [list]: left };
  return {
    ...call,
    args,
    message: { ...message, params: { ...paramsOf(message), arguments: args } },
    meaning: withPlaces({ ...meaning, touches }, (path) => meaning.places.get(path) ?? path),
  };
}

/** The argument that lists the files, for a call that only reads files. Undefined if there is no such argument. */
function fileListOf({ meaning, args }: ProxyCall): string | undefined {
  const { touches, unexplained, places } = meaning;
  if (unexplained || !touches.every(({ does }) => does === 'read' || does === 'look')) return undefined;
  const lists = Object.keys(args).filter((key) => {
    const list = args[key];
    return Array.isArray(list) && list.length > 1 && list.every((item) => places.has(item));
  });
  return lists.length === 1 ? lists[0] : undefined;
}
