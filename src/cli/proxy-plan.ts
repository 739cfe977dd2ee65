import type { ServerTable } from '../dialect/calls/table.ts';
import type { WorkspaceOptions } from '../session/sessions.ts';

/** What `lookfirst proxy` was asked for, in the words of whoever runs it; `main.ts` brings the two together. */
export interface ProxyPlan {
  readonly workspace: WorkspaceOptions;
  /** The policy file that was named. */
  readonly policyPath?: string;
  /** The server to stand before: a command line, or an address. */
  readonly command: readonly string[];
  readonly url?: string;
  /** Sent with every request to `url`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Offer HTTP instead of stdio, on this port or any free one. */
  readonly http?: { readonly port?: number };
  readonly session?: string;
  readonly unknownTools: 'allow' | 'deny' | 'ask';
  readonly receipts: boolean;
  /** The user's own tables of tools; tried before the known ones. */
  readonly tables: readonly ServerTable[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: (line: string) => void;
}

/** Runs a proxy to its end; resolves to what the process ends with. */
export type RunProxy = (plan: ProxyPlan) => Promise<number>;
