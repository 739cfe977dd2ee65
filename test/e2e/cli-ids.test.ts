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
        effects: [],
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

  it('names a turn', async () => {
    const work = await desk({ session: 'agent-7' });
    await work.session.beginTurn({ turn: 't91c3' });
    await ok(work.session.write('a.txt', 'one\n'));
    expect((await lookfirst(work, ['rewind', 't91', '--dry-run'])).stdout).toContain('a.txt');
    expect((await lookfirst(work, ['rewind', 't92'])).code).toBe(2);
  });
});
