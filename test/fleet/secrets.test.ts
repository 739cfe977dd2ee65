import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { ok } from '../support/desk.ts';
import { describePostgres } from '../support/postgres.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import { opened } from './killed.ts';

type Act = (session: GatedSession, at: Scratch, file: { path: string; content: string }) => Promise<unknown>;

const ACTS: readonly (readonly [string, Act])[] = [
  [
    'a client is about to write',
    (session, _at, file) => ok(session.announce([{ kind: 'write', ...file }], { hold: 'none' })),
  ],
  [
    'a shell command destroys',
    async (session, { root }, { path, content }) => {
      writeFileSync(join(root, path), content);
      const change = await session.announceCommand(`rm ${path}`, { writes: [path] });
      rmSync(join(root, path));
      await ok(session.settle(change, 'done'));
    },
  ],
];

await describePostgres('bytes of a secret file', (server) => {
  it.each(ACTS)('that %s stay on their machine', async (_, act) => {
    const url = server.url();
    const places = scratch();
    const session = await (await opened(url, places)).session('agent');
    await act(session, places, { path: '.env', content: 'KEY=secret\n' });
    await act(session, places, { path: 'plain.txt', content: 'plain\n' });
    const db = await PostgresConnection.open(url);
    onTestFinished(() => db.close());
    const rows = await db.query(`select body from ${db.schema}.images where body is not null`);
    expect(rows.map(({ body }) => String(body))).toEqual(['plain\n']);
  });
});
