import type { ServerTable } from '../dialect/calls/table.ts';
import type { WorkspaceOptions } from '../session/opening.ts';
import type { Sessions } from '../session/sessions.ts';

/** The parsed request of `lookfirst proxy`; `main.ts` passes it to the proxy. */
export interface ProxyPlan {
  readonly workspace: WorkspaceOptions;
  /** Called with the open workspace before the server is started. */
  readonly opened: (sessions: Sessions) => void;
  /** The server behind the proxy: a command line or an address. */
  readonly command: readonly string[];
  readonly url?: string;
  /** Sent with every request to `url`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Offer HTTP instead of stdio, on this port or any free one. */
  readonly http?: {
    readonly port?: number;
    readonly token: string | undefined;
    readonly listening: (front: { readonly url: string; readonly token: string }) => void;
  };
  readonly session?: string;
  readonly unknownTools: 'allow' | 'deny' | 'ask';
  readonly receipts: boolean;
  /** The user's own tables of tools; tried before the known ones. */
  readonly tables: readonly ServerTable[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Runs a proxy until it ends; resolves to the exit code of the process. */
export type RunProxy = (plan: ProxyPlan) => Promise<number>;
