import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import type { StartView } from '../../src/records/view/view-data.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok } from '../support/desk.ts';
import { describePostgres } from '../support/postgres.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import { WatchedChild } from '../support/watched-child.ts';

const COMMAND = join(import.meta.dirname, '../../dist/bin/lookfirst.js');
const WORKSPACE = 'project';

type Answer = StartView;

/**
 * Starts the viewer on one of several machines that share a store, as a user does. Returns a
 * function that calls the viewer's API.
 */
async function view({ root, home }: Scratch, store: string, ...flags: string[]) {
  const env = { ...process.env, LOOKFIRST_HOME: home, LOOKFIRST_STORE: store };
  const args = [COMMAND, 'view', root, '--no-open', ...flags];
  const server = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void server.kill());
  const lines = once(createInterface(server.stdout), 'line');
  const [line] = await new WatchedChild(server).whileRunning(lines);
  const { origin, hash } = new URL(String(line));
  const headers = { authorization: `Bearer ${hash.slice(1)}`, 'content-type': 'application/json' };
  return async (path: string, body?: object) => {
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${origin}/api/${path}`, { headers, ...sent });
    // The cast is safe: the test compares the answer field by field.
    const parsed = (await answer.json()) as Answer;
    return { status: answer.status, body: parsed };
  };
}

await describePostgres('the viewer on a fleet', (server) => {
  it('shows changes of another machine, and undoes them only with --allow-undo', async () => {
    const store = server.url();
    const [one, two] = [scratch(), scratch()];
    for (const { root } of [one, two]) writeFileSync(join(root, 'a.txt'), 'one\ntwo\n');
    const opened = (at: Scratch) =>
      Sessions.open({ roots: [at.root], home: at.home, store, workspace: WORKSPACE });
    await (await opened(two)).close();
    const sessions = await opened(one);
    const session = await sessions.session('agent', 'codex');
    await ok(session.read('a.txt'));
    const { change = '' } = await ok(session.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }]));
    await sessions.close();
    writeFileSync(join(two.root, 'a.txt'), 'one\nzwei\n');

    const asked = await view(two, store);
    const { body: start } = await asked('start');
    expect(start).toMatchObject({ readOnly: expect.stringContaining('--allow-undo') });
    expect(start.sessions).toMatchObject([{ id: 'agent', client: 'codex' }]);
    const row = start.feed.rows.find((each) => each.change === change);
    expect(row).toMatchObject({ kind: 'change', path: 'a.txt', machine: expect.any(String) });
    const { body: shown } = await asked(`entry?seq=${row?.seq}`);
    expect(JSON.stringify(shown)).toContain('zwei');
    expect(await asked('undo', { change })).toMatchObject({ status: 403 });
    expect(readFileSync(join(two.root, 'a.txt'), 'utf8')).toBe('one\nzwei\n');

    const allowed = await view(two, store, '--allow-undo');
    expect((await allowed('start')).body).not.toHaveProperty('readOnly');
    expect(await allowed('undo', { change })).toMatchObject({ status: 200 });
    expect(readFileSync(join(two.root, 'a.txt'), 'utf8')).toBe('one\ntwo\n');

    const unserved = await view(scratch(), store, '--workspace', WORKSPACE);
    const { feed } = (await unserved('start')).body;
    expect(feed.rows.find((each) => each.change === change)).toMatchObject({ path: 'a.txt' });
  });
});
