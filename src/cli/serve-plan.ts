import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { DialectName } from '../dialect/dialect-name.ts';
import type { WorkspaceOptions } from '../session/opening.ts';
import type { Sessions } from '../session/sessions.ts';

/** A workspace and how to serve it, in the words of whoever serves; `main.ts` brings the two together. */
export interface ServePlan {
  readonly workspace: WorkspaceOptions;
  readonly rootsFrom: 'workspace' | 'client';
  readonly dialect: DialectName;
  readonly readOnly: boolean;
  readonly commands: boolean;
  readonly session: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly log: (line: string) => void;
  readonly input: Readable;
  readonly output: Writable;
  readonly signals: EventEmitter;
  readonly opened: (sessions: Sessions) => void;
}

/** The servers, loaded only when one is to run. */
export interface Servers {
  serveStdio(plan: ServePlan): Promise<unknown>;
  serveHttp(
    plan: ServePlan & {
      readonly port: number | undefined;
      readonly token: string | undefined;
      readonly listening: (server: { readonly url: string; readonly token: string }) => void;
    },
  ): Promise<unknown>;
}
