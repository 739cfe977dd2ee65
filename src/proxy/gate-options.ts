import { KNOWN_SERVERS } from '../dialect/calls/servers/known-servers.ts';
import type { ServerTable } from '../dialect/calls/table.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import type { JsonRecord } from '../model/record.ts';
import { Catalogue } from './catalogue.ts';
import { type InterceptOptions, Witnesses } from './intercept-options.ts';
import { ProxyTurns } from './turns.ts';
import { AskedOnce, type UnknownTools } from './unknown-refusal.ts';
import type { UpstreamChoice } from './upstream.ts';

/** The options that concern the gate. */
export interface GateOptions {
  /**
   * The session of all requests, or a function that chooses one by a request's `_meta`. Equal
   * `_meta` must give the same session.
   */
  readonly session: ForeignSession | ((meta: JsonRecord) => ForeignSession | Promise<ForeignSession>);
  /** The wording of refusals; default `default`. */
  readonly wording?: PresetName;
  /** The user's own tables, tried before the known ones. */
  readonly tables?: readonly ServerTable[];
  /** Treatment of typographic quotes in texts for the upstream; default `off`. */
  readonly quotes?: Policy['quotes'];
  /** Treatment of tools that may change something and that no table describes; default `allow`. */
  readonly unknownTools?: UnknownTools;
  /** Adds a receipt with the revision to read results; default false. */
  readonly receipts?: boolean;
  /** The canonical first root of the session's workspace, where its relative paths start. */
  readonly root: string;
  /** Other names of the folder `root`, such as the path the user gave. */
  readonly rootNames?: readonly string[];
}

type Choice = (meta: JsonRecord) => ForeignSession | Promise<ForeignSession>;

/** Maximum number of cached choices. The cache does not help a client whose `_meta` differs in every call. */
const KEPT = 100;

/** Builds the pump's options from the caller's options. */
export function gateFor(
  options: GateOptions & UpstreamChoice,
  log: (text: string) => void,
): InterceptOptions {
  const { session, command = '', args = [], url } = options;
  return {
    session: typeof session === 'function' ? remembered(session) : () => session,
    catalogue: new Catalogue(KNOWN_SERVERS, options.tables),
    wording: options.wording ?? 'default',
    unknownTools: options.unknownTools ?? 'allow',
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
 * Caches a choice of sessions, so that known `_meta` is answered synchronously. Ignores the
 * progress token, which differs in every call.
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
