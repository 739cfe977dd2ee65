import type { ServerTable } from '../dialect/calls/table.ts';
import type { Sessions, WorkspaceOptions } from '../session/sessions.ts';

/**
 * The workspace, the server behind the proxy, and the way clients connect. The command line builds this plan, and
 * the proxy runs it.
 */
export interface ProxyPlan {
  readonly workspace: WorkspaceOptions;
  /** Called with the open workspace before the server is started; an error it throws ends the proxy. */
  readonly opened: (sessions: Sessions) => void;
  /** The server's command line; empty if `url` is given. */
  readonly command: readonly string[];
  readonly url?: string;
  /** Headers sent with every request to `url`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Offer HTTP instead of stdio. */
  readonly http?: {
    /** The port; default: any free port. */
    readonly port?: number;
    /** The token that clients must send; undefined: the proxy makes a new one. */
    readonly token: string | undefined;
    /** Called when the proxy listens. */
    readonly listening: (front: { readonly url: string; readonly token: string }) => void;
  };
  /** The session for calls that do not name one. */
  readonly session?: string;
  readonly unknownTools: 'allow' | 'deny' | 'ask';
  /**
   * The user's own tables, which say what the tools of a server do. They are tried before the
   * built-in ones.
   */
  readonly tables: readonly ServerTable[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Runs a proxy until it ends; resolves to the exit code of the process. */
export type RunProxy = (plan: ProxyPlan) => Promise<number>;
