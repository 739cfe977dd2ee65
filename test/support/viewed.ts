import { mkdirSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { Records } from '../../src/records/records.ts';
import { Scope } from '../../src/records/scope.ts';
import { policyOf } from '../../src/session/configured.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { serveViewer, type ViewerOptions } from '../../src/viewer/serve-viewer.ts';
import { newToken } from '../../src/wire/http.ts';

/** A viewer that serves in this process, and a client for its API. */
export interface Viewed {
  readonly url: string;
  /** Returns an address that works once. */
  once(): string;
  readonly origin: string;
  readonly token: string;
  /** The viewer's messages to the user. */
  readonly told: string[];
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: object): Promise<{ readonly status: number; readonly body: T }>;
}

/** Writes `count` notices into the journal, without changing any file. */
export async function recordNotices(
  { root, home }: { readonly root: string; readonly home: string },
  count: number,
): Promise<void> {
  const sessions = await Sessions.open({ roots: [root], home });
  const entry = { kind: 'notice', atMs: Date.now(), session: 'coder', root, text: 'x' } as const;
  await sessions.world.store.record({ entries: Array.from({ length: count }, () => entry) });
  await sessions.close();
}

export async function viewed(
  { root, home }: { readonly root: string; readonly home: string },
  options: Partial<ViewerOptions> = {},
): Promise<Viewed> {
  mkdirSync(home, { recursive: true });
  const records = await Records.open({ home, store: `sqlite:${home}/lookfirst.db` }, 'make');
  const scope = new Scope({ cwd: root });
  const token = newToken();
  const told: string[] = [];
  const { secrets } = policyOf({ env: { LOOKFIRST_HOME: home }, platform: process.platform, cwd: root }, {});
  const server = await serveViewer({
    sources: { records, scope, secrets },
    folders: [root],
    openWorkspace: (roots) => Sessions.open({ roots, home }),
    who: 'viewer:tester',
    token,
    log: (line) => told.push(line),
    port: 0,
    ...options,
  });
  onTestFinished(async () => {
    await server.close();
    await records.close();
  });
  const { origin } = new URL(server.url);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return {
    url: server.url,
    once: server.once,
    origin,
    token,
    told,
    get: async <T>(path: string) => (await (await fetch(`${origin}/api/${path}`, { headers })).json()) as T,
    post: async <T>(path: string, body: object) => {
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const answer = await fetch(`${origin}/api/${path}`, init);
      return { status: answer.status, body: (await answer.json()) as T };
    },
  };
}
