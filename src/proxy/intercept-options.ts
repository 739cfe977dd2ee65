import { KNOWN_SERVERS } from '../dialect/calls/servers/known-servers.ts';
import type { ArgumentName, Rule, ServerTable } from '../dialect/calls/table.ts';
import { KeyedMutex, type LockMode } from '../model/awaitable.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import type { JsonRecord } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { explain } from '../report/explain.ts';
import { inTermsOf, type ToolNames } from '../report/tool-names.ts';
import { COMPACTED_METHOD } from '../tools/session-choice.ts';
import type { ProxyCall } from './call.ts';
import { Catalogue } from './catalogue.ts';
import { AskedOnce, isUnknownTool, type UnknownTools, unknownToolText } from './unknown-refusal.ts';
import type { UpstreamChoice } from './upstream.ts';
import type { UpstreamLocation } from './upstream-paths.ts';

/** Methods whose requests and answers the gate reads. */
export const JUDGED_METHODS: readonly string[] = [
  'tools/call',
  'tools/list',
  'initialize',
  'server/discover',
  'resources/read',
  COMPACTED_METHOD,
];

/** The complete options of the gate for tool calls. */
export interface InterceptOptions {
  /** The session of a request, by its `_meta`. */
  session(meta: JsonRecord): ForeignSession | Promise<ForeignSession>;
  readonly catalogue: Catalogue;
  /** The preset whose sentences refusals use. */
  readonly wording: PresetName;
  readonly unknownTools: UnknownTools;
  /**
   * True if a tool may be called only if a table describes it, because the session is read-only or
   * unknown tools are denied: the server's claim that a tool changes nothing is no proof.
   */
  readonly needsProof: boolean;
  /** The typographic quotes that are straightened in forwarded texts. */
  readonly quotes: Policy['quotes'];
  readonly where: UpstreamLocation;
  /** True if the proxy adds a receipt (path, lines and revision) to the result of a read. */
  readonly receipts: boolean;
  readonly shared: Shared;
  log(text: string): void;
}

/**
 * State that all connections of one proxy share. Their calls take turns at files, and the reads of
 * all connections are recorded before a change is judged.
 */
interface Shared {
  readonly turns: ProxyTurns;
  readonly asked: AskedOnce;
  readonly witnesses: Witnesses;
}

/**
 * Renders a refusal with the upstream's tool names. If the upstream has its own error message for
 * the case, that comes first.
 */
export function inWords(
  refusal: Refusal,
  options: Pick<InterceptOptions, 'wording' | 'catalogue' | 'where'>,
  call?: Pick<ProxyCall, 'tool' | 'meaning'>,
): string {
  if (isUnknownTool(refusal)) return unknownToolText(refusal);
  const { catalogue, wording } = options;
  const rules = catalogue.rulesOf(call?.tool ?? '') ?? [];
  const terms = argumentsOf(rules);
  const tools = withOldText(catalogue.words, terms['old_string']);
  const text = explain(inTermsOf(terms, refusal), { nowMs: Date.now(), tools, wording });
  const rule = rules.find(({ does }) => does === 'move');
  const own =
    refusal.code === 'ALREADY_EXISTS' && rule?.does === 'move'
      ? rule.taken
      : catalogue.table?.sentences?.[refusal.code];
  if (own === undefined) return text;
  const values = { PATH: refusal.path, ROOT: options.where.root, TEXT: oldTextOf(refusal, call) };
  return `${own.replace(/PATH|ROOT|TEXT/g, (name) => values[name as keyof typeof values] ?? '')}\n${text}`;
}

/** The old text of the refused edit; empty if the call makes no edit. */
function oldTextOf({ detail }: Refusal, call: Pick<ProxyCall, 'meaning'> | undefined): string {
  for (const touch of call?.meaning.touches ?? []) {
    if (touch.does === 'change' && touch.intent.kind === 'edit')
      return touch.intent.edits[detail?.index ?? 0]?.oldString ?? '';
  }
  return '';
}

/** Maps the argument names of Lookfirst's own edits and inserts to those of the called tool. */
function argumentsOf(rules: readonly Rule[]): Readonly<Record<string, string>> {
  const terms: Record<string, string> = {};
  const name = (ours: string, theirs: ArgumentName | undefined): void => {
    const [first] = theirs === undefined ? [] : [theirs].flat();
    if (first !== undefined) terms[ours] = first;
  };
  for (const rule of rules) {
    if (rule.does === 'edit') {
      name('old_string', rule.edit.old);
      name('new_string', rule.edit.new);
      name('replace_all', rule.edit.all);
    }
    if (rule.does === 'insert') name('after_line', rule.after?.argument);
  }
  return terms;
}

function withOldText(words: ToolNames, oldText: string | undefined): ToolNames {
  return oldText === undefined ? words : { ...words, arguments: { ...words.arguments, oldText } };
}

/**
 * The longest time in milliseconds before a read is recorded. Reads within this time are recorded
 * together.
 */
const LATEST_MS = 10;

/**
 * Records reads in the background after their answers were sent: within `LATEST_MS`, or at once by
 * `drain`. The delay is deliberate: work right after a request was forwarded would slow down the
 * server, which often runs on the same core. Tasks must not throw.
 */
export class Witnesses {
  #queued: (() => Promise<void>)[] = [];
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  later(task: () => Promise<void>): void {
    this.#queued.push(task);
    this.#timer ??= setTimeout(() => void this.drain(), LATEST_MS);
  }

  /** Runs everything queued; resolves when it and all earlier work is done. */
  drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const tasks = this.#queued;
    if (tasks.length > 0) {
      this.#queued = [];
      this.#running = this.#running.then(async () => {
        for (const task of tasks) await task();
      });
    }
    return this.#running;
  }
}

/** The caller's options for the gate in front of a server. */
export interface GateOptions {
  /**
   * The session of all requests, or a function that chooses one by a request's `_meta`. Equal
   * `_meta` must give the same session.
   */
  readonly session: ForeignSession | ((meta: JsonRecord) => ForeignSession | Promise<ForeignSession>);
  /** The preset whose sentences refusals use; default `default`. */
  readonly wording?: PresetName;
  /** The user's own descriptions of servers, tried before the built-in ones. */
  readonly tables?: readonly ServerTable[];
  /** Treatment of typographic quotes in texts for the upstream; default `off`. */
  readonly quotes?: Policy['quotes'];
  /**
   * Treatment of tools that may change something and that Lookfirst has no description of; default
   * `allow`.
   */
  readonly unknownTools?: UnknownTools;
  /** True if every session is read-only; default: what `session` says if it is one session. */
  readonly readOnly?: boolean;
  /**
   * True if the proxy adds a receipt (path, lines and revision) to the result of a read; default
   * false.
   */
  readonly receipts?: boolean;
  /** The canonical first root of the session's workspace, where its relative paths start. */
  readonly root: string;
  /** Other names of the folder `root`, such as the path the user gave. */
  readonly rootNames?: readonly string[];
}

type Choice = (meta: JsonRecord) => ForeignSession | Promise<ForeignSession>;

/** The maximum number of sessions in the cache of `remembered`; beyond it the oldest is removed. */
const KEPT = 100;

/** Completes the caller's options with defaults and with the state that all connections share. */
export function gateFor(
  options: GateOptions & UpstreamChoice,
  log: (text: string) => void,
): InterceptOptions {
  const { session, command = '', args = [], url, unknownTools = 'allow' } = options;
  const readOnly = options.readOnly ?? (typeof session === 'object' && session.readOnly);
  return {
    session: typeof session === 'function' ? remembered(session) : () => session,
    catalogue: new Catalogue(KNOWN_SERVERS, options.tables),
    wording: options.wording ?? 'default',
    unknownTools,
    needsProof: readOnly || unknownTools === 'deny',
    quotes: options.quotes ?? 'off',
    where: {
      root: options.root,
      rootNames: options.rootNames ?? [],
      cwd: options.cwd ?? process.cwd(),
      upstream: url === undefined ? { command, args } : { url },
    },
    receipts: options.receipts ?? false,
    shared: { turns: new ProxyTurns(), asked: new AskedOnce(), witnesses: new Witnesses() },
    log,
  };
}

/**
 * Caches the choice of a session by `_meta`, so that a known `_meta` gets its session
 * synchronously. Ignores the progress token, which differs in every call.
 */
export function remembered(choose: Choice): Choice {
  const known = new Map<string, ForeignSession>();
  return (meta) => {
    const { progressToken: _own, ...rest } = meta;
    const key = JSON.stringify(rest);
    const before = known.get(key);
    if (before !== undefined) return before;
    const chosen = choose(meta);
    if (!(chosen instanceof Promise)) return chosen;
    return chosen.then((session) => {
      if (session.ended !== undefined) return session;
      const [oldest] = known.keys();
      if (known.size >= KEPT && oldest !== undefined) known.delete(oldest);
      known.set(key, session);
      return session;
    });
  };
}

/**
 * Lets calls take turns at files. Calls that only read a file share it; a call that changes a file
 * has the file for itself. A call joins the queues of all its files in one step, so that two calls
 * cannot deadlock.
 */
export class ProxyTurns {
  readonly #files = new KeyedMutex<string>();

  /**
   * Joins the queues of all files synchronously, then waits for a turn. The returned function ends
   * the turn.
   */
  async take(keys: readonly string[], mode: LockMode): Promise<() => void> {
    const held = await Promise.all([...new Set(keys)].map((key) => this.#files.acquire(key, mode)));
    return () => {
      for (const release of held) release?.();
    };
  }

  /** Takes a shared turn at all files if that is possible without waiting; otherwise undefined. */
  takeNow(keys: readonly string[]): (() => void) | undefined {
    const held: (() => void)[] = [];
    const releaseAll = (): void => {
      for (const release of held) release();
    };
    for (const key of keys.length < 2 ? keys : new Set(keys)) {
      const release = this.#files.tryAcquire(key, 'together');
      if (release === undefined) {
        releaseAll();
        return undefined;
      }
      held.push(release);
    }
    return releaseAll;
  }
}
