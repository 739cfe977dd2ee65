import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok } from '../support/desk.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { type Scratch, scratch } from '../support/tree.ts';

/** Opens a workspace as one of several processes that share a database. */
export async function opened(store: string, { root, home }: Scratch): Promise<Sessions> {
  const sessions = await Sessions.open({ roots: [root], home, store });
  onTestFinished(() => sessions.close().catch(() => undefined));
  return sessions;
}

/** Edits files one after the other while the database server is killed and started again. */
export async function killedInTheMiddle(
  server: PostgresServer,
  edits: number,
): Promise<{ readonly refused: number }> {
  const places = scratch();
  const names = Array.from({ length: edits }, (_, n) => `f${n}.txt`);
  for (const name of names) writeFileSync(join(places.root, name), 'old\n');
  const url = server.url();
  const sessions = await opened(url, places);
  const session = await sessions.session('agent');
  for (const name of names) await ok(session.read(name));
  const refused: string[] = [];
  let killed: Promise<void> | undefined;
  for (const [index, name] of names.entries()) {
    if (index === Math.floor(edits / 3)) killed = server.kill();
    // Wait until the server has ended. Edits before this point may meet a server that is still
    // ending; edits after it find no server.
    if (index === Math.floor(edits / 2)) await killed;
    if (index === Math.floor((2 * edits) / 3)) {
      await server.start();
      // Wait longer than the default of one second. The store pauses for half a second after each
      // failed try, and connecting is slow on a busy machine.
      await expect
        .poll(
          () =>
            sessions.world.store.state().then(
              () => true,
              () => false,
            ),
          { timeout: 20_000 },
        )
        .toBe(true);
    }
    const edit = session.edit(name, [{ oldString: 'old', newString: 'new' }]);
    const outcome = await edit.catch((error: unknown) => error);
    if (!(outcome instanceof Object && 'ok' in outcome && outcome.ok === true)) refused.push(name);
  }
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(edits);
  for (const name of names)
    expect(['old\n', 'new\n']).toContain(readFileSync(join(places.root, name), 'utf8'));
  await sessions.close();
  const later = await opened(url, places);
  for (const name of names) await agrees(later, places, name);
  // No change may be unfinished: each write in `agrees` also recorded the outcome of the change
  // that the killed server had interrupted.
  expect(await later.world.store.pending({ here: true })).toEqual([]);
  return { refused: refused.length };
}

/**
 * Checks that the journal's entries about a file follow from each other and that no change is
 * unfinished.
 */
export async function agrees(sessions: Sessions, { root }: Scratch, name: string): Promise<void> {
  const { store } = sessions.world;
  const witness = await sessions.session('witness');
  await ok(witness.read(name));
  const text = readFileSync(join(root, name), 'utf8');
  // Write the file once more: before a write, the gate records the outcome of an earlier change
  // whose answer was lost.
  await ok(witness.write(name, `${text}end\n`));
  const entries = await store.entries({ key: join(root, name), kinds: ['change'], order: 'oldest' });
  const sides = entries.flatMap(({ deltas = [] }) => deltas.filter(({ key }) => key === join(root, name)));
  for (const [index, { before }] of sides.entries()) {
    const previous = sides[index - 1];
    if (previous !== undefined) expect(before).toMatchObject({ fingerprint: fingerprintIn(previous.after) });
  }
  expect(await store.pending({ keys: [join(root, name)] })).toEqual([]);
  expect(await verifyChain(store)).toMatchObject({ ok: true });
}

function fingerprintIn(side: object): unknown {
  return 'fingerprint' in side ? side.fingerprint : undefined;
}
