import { KNOWN_SERVERS } from '../dialect/calls/servers/known-servers.ts';
import type { ServerTable } from '../dialect/calls/table.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import type { JsonRecord } from '../model/record.ts';
import { KeyedMutex, type LockMode } from '../model/waiting.ts';
import type { HostSession } from '../session/gated-session.ts';
import { Catalogue } from './catalogue.ts';
import { AskedOnce, type UnknownTools } from './unknown-refusal.ts';
import type { UpstreamChoice } from './upstream.ts';
import { isRemote, type UpstreamLocation } from './upstream-paths.ts';

/** The session of a request, by its `_meta` and by the id of the client's HTTP session. */
type SessionChooser = (meta: JsonRecord, httpSession?: string) => HostSession | Promise<HostSession>;

/** The settings of the gate for tool calls. */
export interface GateSettings {
  readonly session: SessionChooser;
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
  readonly recordings: Recordings;
}

/** The reads that are answered and not recorded yet. */
class Recordings {
  readonly #running = new Set<Promise<unknown>>();

  async add(recording: Promise<unknown>): Promise<void> {
    this.#running.add(recording);
    await recording.finally(() => this.#running.delete(recording));
  }

  async all(): Promise<void> {
    await Promise.all(this.#running);
  }
}

/** The caller's options for the gate in front of a server. */
export interface GateOptions {
  /** The session of all requests, or the function that chooses one. */
  readonly session: HostSession | SessionChooser;
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
  /** The canonical first root of the session's workspace, where its relative paths start. */
  readonly root: string;
}

/** Completes the caller's options with defaults and with the state that all connections share. */
export function gateFor(options: GateOptions & UpstreamChoice, log: (text: string) => void): GateSettings {
  const { session, url, unknownTools = 'allow' } = options;
  const readOnly = options.readOnly ?? (typeof session === 'object' && session.readOnly);
  return {
    session: typeof session === 'function' ? session : () => session,
    catalogue: new Catalogue(KNOWN_SERVERS, options.tables),
    wording: options.wording ?? 'default',
    unknownTools,
    needsProof: readOnly || unknownTools === 'deny',
    quotes: options.quotes ?? 'off',
    where: {
      root: options.root,
      cwd: options.cwd ?? process.cwd(),
      remote: url !== undefined && isRemote(url),
    },
    shared: { turns: new ProxyTurns(), asked: new AskedOnce(), recordings: new Recordings() },
    log,
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
}
