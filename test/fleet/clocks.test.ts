import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { Heart, Moment } from '../../src/store/postgres/heart.ts';
import { openPostgresState } from '../../src/store/postgres/open.ts';
import { startRelay } from '../postgres/relay.mjs';
import { ok } from '../support/desk.ts';
import { describePostgres } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';

const run = promisify(execFile);
const COMMAND = join(import.meta.dirname, '../../dist/bin/lookfirst.js');
const HOUR_MS = 3_600_000;

/** Lets this process believe that it is earlier or later. The machine's own clock stays as it is. */
function shiftClock(byMs: number): void {
  const real = Date.now.bind(Date);
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + byMs);
  onTestFinished(() => clock.mockRestore());
}

await describePostgres('clocks that differ by an hour', (server) => {
  it('set back after a failure: the server is tried again, not an hour later', async () => {
    const url = server.url();
    const relay = await startRelay(server.socket);
    onTestFinished(() => relay.close());
    const db = await PostgresConnection.open(
      `postgres://lookfirst@127.0.0.1:${relay.port}/postgres?schema=${new URL(url).searchParams.get('schema')}`,
      { deadlineMs: 300 },
    );
    onTestFinished(() => db.close());
    relay.frozen = true;
    await expect(db.query('select 1')).rejects.toMatchObject({ code: 'STORE_FAILED' });
    relay.frozen = false;
    shiftClock(-HOUR_MS);
    await expect.poll(() => db.query('select 1').catch(() => [])).toHaveLength(1);
  });

  it('set back while a lease is held: the lease still expires', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const away = { call: () => Promise.reject(new Error('away')) };
    // The cast is safe: `Heart` uses only `call` of the connection.
    const heart = new Heart(away as unknown as PostgresConnection, { owner: 'o', machine: 'm' });
    heart.hold({ keys: ['k'], fences: [], renewed: new Moment(), lost: false });
    vi.setSystemTime(Date.now() - HOUR_MS);
    await vi.advanceTimersByTimeAsync(25_000);
    expect(heart.holdsAll).toBe(false);
    heart.stop();
  });

  it.each([
    ['ahead', HOUR_MS],
    ['behind', -HOUR_MS],
  ])('one machine %s: a session continues there, and the journal stays in order', async (side, byMs) => {
    const store = server.url();
    const [one, two] = [scratch(), scratch()];
    for (const { root } of [one, two]) writeFileSync(join(root, 'a.txt'), 'one\ntwo\n');
    const here = await Sessions.open({ roots: [one.root], home: one.home, store, workspace: 'project' });
    const session = await here.session('agent');
    await ok(session.read('a.txt'));
    await here.close();
    shiftClock(byMs);
    const there = await Sessions.open({ roots: [two.root], home: two.home, store, workspace: 'project' });
    onTestFinished(() => there.close());
    expect(there.world.store.warnings.join()).toContain(`60 min ${side}`);
    const other = await there.session('agent');
    await ok(other.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }]));
    const { ok: isWhole } = await verifyChain(there.world.store);
    expect(isWhole).toBe(true);
    const kinds = (await there.world.store.entries({ order: 'oldest' })).map(({ kind }) => kind);
    expect(kinds.indexOf('read')).toBeLessThan(kinds.indexOf('change'));
    await ok(other.undo());
    expect(readFileSync(join(two.root, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  it('a lease of a machine that is an hour ahead is respected', async () => {
    const store = server.url();
    const fleet = { roots: ['/w'], workspace: 'w', sharedWorkspace: true, imageSecrets: 'here' } as const;
    const open = ({ home }: { home: string }) =>
      openPostgresState(store, { home, durability: 'none', fleet });
    const one = await open(scratch());
    onTestFinished(() => one.close());
    shiftClock(HOUR_MS);
    const two = await open(scratch());
    onTestFinished(() => two.close());
    const release = await two.locks.acquire(['/w/a'], 1000);
    expect(release).toBeDefined();
    expect(await one.locks.acquire(['/w/a'], 100)).toBeUndefined();
    release?.();
  });

  it('a clean-up on a machine that is an hour ahead keeps images that were just stored', async () => {
    const state = await openPostgresState(server.url(), {
      home: scratch().home,
      durability: 'none',
      fleet: { roots: [], imageSecrets: 'here' },
    });
    onTestFinished(() => state.close());
    const bytes = Buffer.from('just stored');
    await state.images.keepBytes(bytes, { sha256: hash('sha256', bytes), size: bytes.length });
    shiftClock(HOUR_MS);
    const ages = [];
    for await (const { sinceMs } of state.images.list()) ages.push(Date.now() - sinceMs);
    expect(ages).toHaveLength(1);
    expect(Math.abs(ages[0] ?? HOUR_MS)).toBeLessThan(HOUR_MS / 2);
  });
});

await describePostgres('a program that waits for the fleet store', (server) => {
  it.each([
    ['log', []],
    ['serve', []],
    ['hook', ['claude-code']],
  ])('says so: %s', async (command, args) => {
    const { root, home } = scratch();
    const relay = await startRelay(server.socket);
    onTestFinished(() => relay.close());
    relay.frozen = true;
    const env = {
      ...process.env,
      LOOKFIRST_HOME: home,
      LOOKFIRST_STORE: `postgres://lookfirst@127.0.0.1:${relay.port}/postgres`,
    };
    const child = run(process.execPath, [COMMAND, command, ...args], { cwd: root, env });
    child.child.stdin?.end(
      JSON.stringify({
        hook_event_name: 'PreToolUse',
        session_id: 's',
        cwd: root,
        tool_name: 'Write',
        tool_input: { file_path: join(root, 'a'), content: 'x' },
      }),
    );
    const { stderr } = await child.catch((error: { stderr: string }) => error);
    expect(stderr).toContain('lookfirst: waiting for an answer of the fleet store postgres://');
  });
});
