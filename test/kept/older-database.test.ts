import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { copyFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { State } from '../../src/model/delta.ts';
import { loadSqlite } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { ABSENT, changeEntry, delta, file, move, pendingChange } from '../store/samples.ts';
import { startChild } from '../support/child.ts';
import { scratch } from '../support/tree.ts';

const injector = spawnSync('strace', ['-f', '-o', '/dev/null', '-e', 'inject=link:error=EPERM', 'true']);

const NEEDED = Buffer.from('needed');

/** Makes the database of an older Lookfirst, of which a part is still in the write-ahead log. */
async function olderDatabase(folder: string): Promise<void> {
  const { home } = scratch();
  const path = join(home, 'lookfirst.db');
  const store = await openSqliteStore(path);
  const fingerprint = { sha256: hash('sha256', NEEDED), size: NEEDED.length };
  const before: State = { kind: 'file', fingerprint, mode: 0o644, kept: true };
  const pending = pendingChange('c2');
  const entry = { ...pending.entry, deltas: [delta('a', before, file('y'))] };
  const images = { shared: [{ bytes: NEEDED, fingerprint }], here: [] };
  const db = (await loadSqlite())(path);
  db.exec('pragma user_version = 9');
  await store.record({ announce: { ...pending, entry }, images });
  for (const name of readdirSync(home)) {
    if (!/\.db(-wal|-shm)?$/.test(name)) continue;
    copyFileSync(join(home, name), join(folder, name));
  }
  db.close();
  await store.close();
}

it.skipIf(injector.status !== 0).each([
  ['rename,link,unlink,ftruncate', 1],
  ['pwrite64', 7],
])(
  'a kill before a %s while an older database is set aside loses none of its unfinished changes (needs strace)',
  async (calls, stride) => {
    const source = scratch().home;
    await olderDatabase(source);
    let killed = 0;
    for (let call = 1; ; call += stride) {
      const { home } = scratch();
      for (const name of readdirSync(source)) copyFileSync(join(source, name), join(home, name));
      const path = join(home, 'lookfirst.db');
      const kill = `inject=${calls}:signal=SIGKILL:when=${call}`;
      const strace = ['strace', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', kill];
      const child = await startChild('store-opener', { file: path }, strace);
      const { signal } = await child.exit();
      const store = await openSqliteStore(path, { damaged: 'set-aside' });
      expect([call, (await store.pending()).map(({ change }) => change)]).toEqual([call, ['c2']]);
      expect(
        Buffer.from((await store.images?.read({ sha256: hash('sha256', NEEDED), size: 6 })) ?? ''),
      ).toEqual(NEEDED);
      await store.close();
      const aside = readdirSync(home).filter((name) => /\.older-\w+$/.test(name));
      expect(aside).toHaveLength(1);
      rmSync(home, { recursive: true });
      if (signal !== 'SIGKILL') break;
      killed += 1;
    }
    expect(killed).toBeGreaterThan(5);
  },
  600_000,
);

it('unfinished changes that an older database stored as effects are finished', async () => {
  const { home } = scratch();
  const path = join(home, 'lookfirst.db');
  const store = await openSqliteStore(path);
  const edited = delta('b.ts', file('x'), file('y'));
  const moved = move('old.ts', 'new.ts', file('z', { kept: false }));
  await store.record({ announce: { ...pendingChange('c3'), entry: changeEntry('c3', [edited, moved]) } });
  await store.close();
  const db = (await loadSqlite())(path);
  const { announced } = db.prepare('select announced from pending').get() as { announced: string };
  const { entry, ...rest } = JSON.parse(announced);
  const { deltas: _, ...fields } = entry;
  const { movedFrom, ...arrival } = moved;
  const source = { ...movedFrom, before: moved.after, after: ABSENT, movedTo: moved.key };
  const older = { ...rest, entry: { ...fields, effects: [edited, source, arrival] } };
  db.prepare('update pending set announced = ?').run(JSON.stringify(older));
  db.exec('pragma user_version = 9');
  db.close();
  const now = await openSqliteStore(path, { damaged: 'set-aside' });
  const [pending] = await now.pending();
  expect(pending?.entry.deltas).toEqual([edited, moved]);
  await now.close();
});
