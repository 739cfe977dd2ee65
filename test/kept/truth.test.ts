import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { startChild } from '../support/child.ts';
import { countTogether } from '../support/counters.ts';
import { ok, refusal } from '../support/desk.ts';
import { openRemote, type Remote } from '../support/remote.ts';
import { type Scratch, scratch } from '../support/tree.ts';

function at(places: Scratch, session?: string): Promise<Remote> {
  const { root, home } = places;
  return openRemote({ roots: [root], home, ...(session === undefined ? {} : { session }) });
}

function withFile(text = 'one\n'): Scratch & { text(): string } {
  const places = scratch();
  const file = join(places.root, 'a.txt');
  writeFileSync(file, text);
  return { ...places, text: () => readFileSync(file, 'utf8') };
}

describe('processes on one workspace', () => {
  it('see each other’s changes at once, and a refusal names the session and the time', async () => {
    const places = withFile();
    const [ann, bob] = await Promise.all([at(places, 'ann'), at(places, 'bob')]);
    await ok(ann.call('read', 'a.txt'));
    await ok(bob.call('read', 'a.txt'));
    const before = Date.now();
    await ok(bob.call('write', 'a.txt', 'two\n'));
    const { detail } = await refusal(ann.call('write', 'a.txt', 'three\n'), 'STALE');
    expect(detail?.writer?.session).toBe('bob');
    expect(detail?.writer?.atMs).toBeGreaterThanOrEqual(before);
    expect(detail?.diff).toContain('+two');
    const status = await ok(ann.call('status', 'a.txt'));
    expect(status.files[0]?.lastChange).toMatchObject({ session: 'bob' });
    expect(places.text()).toBe('two\n');
  });

  it('are named in the notice of an edit that was merged with their change', async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join('');
    const places = withFile(lines);
    const [ann, bob] = await Promise.all([at(places, 'ann'), at(places, 'bob')]);
    await ok(ann.call('read', 'a.txt'));
    await ok(bob.call('read', 'a.txt'));
    await ok(bob.call('edit', 'a.txt', [{ oldString: 'line 2\n', newString: 'line two\n' }]));
    const { notices } = await ok(
      ann.call('edit', 'a.txt', [{ oldString: 'line 19\n', newString: 'line nineteen\n' }]),
    );
    expect(notices?.[0]).toMatchObject({ kind: 'changed-elsewhere', writer: 'bob' });
    expect(places.text()).toBe(
      lines.replace('line 2\n', 'line two\n').replace('line 19\n', 'line nineteen\n'),
    );
  });

  it('see each other’s sessions and what they have seen', async () => {
    const places = withFile();
    const [ann, bob] = await Promise.all([at(places, 'ann'), at(places, 'bob')]);
    await ok(ann.call('read', 'a.txt'));
    await ok(bob.call('list'));
    // When this query is answered, the process has recorded everything that it showed before.
    await ok(ann.call('status'));
    const sessions = await Sessions.open({ roots: [places.root], home: places.home });
    const { store } = sessions.world;
    expect((await store.sessions()).map(({ id }) => id).sort()).toEqual(['ann', 'bob']);
    expect((await store.sightings('ann')).map(({ key }) => key)).toEqual([join(places.root, 'a.txt')]);
    await sessions.close();
  });

  it('share a session by its name: a read that one process reports licenses a change in another', async () => {
    const places = withFile();
    const server = await at(places, 'agent');
    await refusal(server.call('write', 'a.txt', 'two\n'), 'NOT_READ');
    const hook = await at(places, 'agent');
    await ok(hook.call('witness', { kind: 'read', path: 'a.txt', content: 'one\n' }));
    await hook.close();
    await ok(server.call('write', 'a.txt', 'two\n'));
    expect(places.text()).toBe('two\n');
  });

  it('do not share sightings with sessions of other names', async () => {
    const places = withFile();
    const [ann, bob] = await Promise.all([at(places, 'ann'), at(places)]);
    await ok(ann.call('read', 'a.txt'));
    await refusal(bob.call('write', 'a.txt', 'two\n'), 'NOT_READ');
  });

  it('wait for each other’s locks, and a killed process frees its locks at once', async () => {
    const places = withFile();
    const options = { roots: [places.root], home: places.home };
    const holder = await startChild('session-holder', { ...options, key: join(places.root, 'a.txt') });
    await holder.message();
    const session = await openRemote(options);
    await ok(session.call('read', 'a.txt'));
    await refusal(session.call('write', 'a.txt', 'two\n'), 'BUSY');
    holder.process.kill('SIGKILL');
    await holder.exit();
    await ok(session.call('write', 'a.txt', 'two\n'));
    expect(places.text()).toBe('two\n');
  });

  it('4 × 25 edits of the same files: none is lost, none counted twice, all are in the journal', async () => {
    const { refusals, ...counted } = await countTogether({ processes: 4, edits: 25 });
    expect(counted).toEqual({
      acknowledged: 100,
      counted: 100,
      changes: 100,
      sessions: 4,
      pending: 0,
      chain: true,
    });
    expect(refusals['STALE'], 'they did meet').toBeGreaterThan(0);
  });
});
