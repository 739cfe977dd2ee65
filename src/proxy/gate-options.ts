import { KNOWN_SERVERS } from '../dialect/calls/servers/known-servers.ts';
import type { ServerTable } from '../dialect/calls/table.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import type { JsonRecord } from '../model/record.ts';
import { Catalogue } from './catalogue.ts';
import type { InterceptOptions } from './intercept-options.ts';
import { Turns } from './turns.ts';
import { AskedOnce, type UnknownTools } from './unknown-tools.ts';
import { Witnesses } from './witnesses.ts';

/** The gate's part of the options. */
export interface GateOptions {
  /** The session all requests belong to, or a choice by a request's `_meta`, the same for the same `_meta`. */
  readonly session: ForeignSession | ((meta: JsonRecord) => ForeignSession | Promise<ForeignSession>);
  /** Whose sentences refusals speak; default `default`. */
  readonly wording?: PresetName;
  /** The user's own tables; tried before the known ones. */
  readonly tables?: readonly ServerTable[];
  /** Typographic quotes in texts that go to the upstream; default `off`. */
  readonly quotes?: Policy['quotes'];
  /** Tools that may change something and that no table describes; default `allow`. */
  readonly unknownTools?: UnknownTools;
  /** Adds a receipt with the revision to what was read; default false. */
  readonly receipts?: boolean;
  /** The first root of the session's workspace, canonical: where its relative paths start. */
  readonly root: string;
  /** Other names of that folder, such as the one it was given by. */
  readonly rootNames?: readonly string[];
}

/** Which server the gate stands before. */
interface UpstreamOptions {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly cwd?: string;
}

type Choice = (meta: JsonRecord) => ForeignSession | Promise<ForeignSession>;

/** Choices kept; a client that sends something new with every call is asked about every time. */
const KEPT = 100;

/** What the pump needs to know, from what the caller chose. */
export function gateFor(
  options: GateOptions & UpstreamOptions,
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
    shared: { turns: new Turns(), asked: new AskedOnce(), witnesses: new Witnesses() },
    log,
  };
}

/**
 * A choice of sessions that answers at once where it has answered before: the same `_meta` means the same session. A
 * progress token is the call's own and decides nothing.
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
