import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { NewEntry } from '../../src/model/entry.ts';
import { openStore } from '../../src/store/open-state.ts';
import { lookfirst, objects } from '../support/command-line.ts';
import { desk, ok } from '../support/desk.ts';

describe('the beginning of an id', () => {
  it('names a change if no other begins so', async () => {
    const work = await desk({ session: 'agent-7' });
    await ok(work.session.write('a.txt', 'one\n'));
    const [{ change = '' } = {}] = objects(await lookfirst(work, ['log', '--kind', 'change', '--json'])) as {
      change?: string;
    }[];
    const { stdout } = await lookfirst(work, ['log', '--kind', 'change']);
    expect(stdout).toContain(` ${change.slice(0, 8)}\n`);
    expect((await lookfirst(work, ['diff', change.slice(0, 4)])).stdout).toContain('+one');
    expect((await lookfirst(work, ['diff', change.slice(0, 3)])).code).toBe(2);
    expect((await lookfirst(work, ['undo', change.slice(0, 4)])).code).toBe(0);
    expect(existsSync(join(work.root, 'a.txt'))).toBe(false);
  });

  it('that fits several changes is a usage error that lists them', async () => {
    const work = await desk({ session: 'agent-7' });
    const store = await openStore(`sqlite:${join(work.home, 'lookfirst.db')}`);
    const entries = ['cabcdef0111', 'cabcdef0122'].map(
      (change): NewEntry => ({
        kind: 'change',
        atMs: 1,
        session: 'agent-7',
        root: work.root,
        change,
        deltas: [],
      }),
    );
    await store.record({ entries });
    await store.close();
    const ran = await lookfirst(work, ['undo', 'cabc']);
    expect(ran).toMatchObject({ code: 64 });
    expect(ran.stderr).toMatch(
      /^lookfirst: cabc fits several changes: .*cabcdef0111.* \[INVALID_ARGUMENT\]\n/,
    );
    const { stdout } = await lookfirst(work, ['log', '--kind', 'change', '--all']);
    expect(stdout).toContain(' cabcdef011\n');
  });

  it('names a session with a long id', async () => {
    const ids = ['0f8fad5b-d9cb-469f-a165-70867728950e', '0f8fad5b-d9cc-469f-a165-70867728950e'] as const;
    const work = await desk({ session: ids[0] });
    await ok(work.session.write('a.txt', 'one\n'));
    await ok((await work.open({ session: ids[1] })).write('b.txt', 'two\n'));
    await ok((await work.open({ session: `${ids[1]}/worker` })).write('c.txt', 'three\n'));
    const { stdout } = await lookfirst(work, ['log', '--kind', 'change']);
    expect(stdout).toMatch(/ 0f8fad5b-d9cb +c/);
    expect(stdout).toMatch(/ 0f8fad5b-d9cc +c/);
    expect(stdout).toContain(`${ids[1]}/worker`);
    const first = ['--session', '0f8fad5b-d9cb'];
    expect((await lookfirst(work, ['log', ...first, '--kind', 'change'])).stdout).not.toContain('b.txt');
    expect((await lookfirst(work, ['diff', ...first])).stdout).toContain('+one');
    expect((await lookfirst(work, ['rewind', ...first])).code).toBe(0);
    const both = await lookfirst(work, ['log', '--session', '0f8fad5b']);
    expect(both).toMatchObject({ code: 64, stderr: expect.stringContaining('fits several sessions: ') });
    expect((await lookfirst(work, ['undo', ...first, '--yes'])).code).toBe(0);
    expect(existsSync(join(work.root, 'a.txt'))).toBe(false);
    expect(existsSync(join(work.root, 'b.txt'))).toBe(true);
  });

  it('that names one session alone is shown with eight characters', async () => {
    const work = await desk({ session: '7c9e6679-7425-40de-944b-e07fc1f90ae7' });
    await ok(work.session.write('a.txt', 'one\n'));
    expect((await lookfirst(work, ['log', '--kind', 'change'])).stdout).toMatch(/ 7c9e6679 +c/);
    const seen = await lookfirst(work, ['status', '--session', '7c9e6679']);
    expect(seen.stdout).toContain('a.txt');
    const none = await lookfirst(work, ['log', '--session', '7c9e6670']);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('no session "7c9e6670"') });
  });

  it('names a turn', async () => {
    const work = await desk({ session: 'agent-7' });
    await work.session.beginTurn({ turn: 't91c3' });
    await ok(work.session.write('a.txt', 'one\n'));
    expect((await lookfirst(work, ['rewind', 't91', '--dry-run'])).stdout).toContain('a.txt');
    expect((await lookfirst(work, ['rewind', 't92'])).code).toBe(2);
  });
});
