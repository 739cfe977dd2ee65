import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fingerprintOf } from '../../src/disk/read.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok } from '../support/desk.ts';
import { makeTree, type Scratch, scratch, treeOf } from '../support/tree.ts';

interface Table extends Scratch {
  readonly sessions: Sessions;
  readonly ann: GatedSession;
  /**
   * Lets another program act once: just before the first disk step at which `isTime` returns true.
   */
  meanwhile(isTime: () => boolean, act: () => void): void;
}

async function table(lines: readonly string[]): Promise<Table> {
  const places = scratch();
  makeTree(places, lines);
  const sessions = await Sessions.open({ roots: [places.root], home: places.home });
  onTestFinished(() => sessions.close());
  let pending = (): void => {};
  Object.assign(sessions.world.disk, { trace: () => pending() });
  return {
    ...places,
    sessions,
    ann: await sessions.session('ann'),
    meanwhile: (isTime, act) => {
      pending = () => {
        if (!isTime()) return;
        pending = () => {};
        act();
      };
    },
  };
}

interface Scene {
  readonly title: string;
  /**
   * The first file that the change removes. Another program then creates a file with the same name.
   */
  readonly taken: string;
  readonly change: (session: GatedSession) => Promise<Outcome<object>>;
  /** The other program's action that makes the change fail. */
  readonly stop: (root: string) => void;
}

const SCENES: readonly Scene[] = [
  {
    title: 'a batch with a recursive delete',
    taken: 'd/a',
    change: async (session) => {
      await ok(session.list('d'));
      return session.apply([
        { kind: 'delete', path: 'd', recursive: true },
        { kind: 'write', path: 'new', content: 'ours' },
      ]);
    },
    stop: (root) => writeFileSync(join(root, 'new'), 'theirs'),
  },
  {
    title: 'a move onto another file',
    taken: 'to',
    change: async (session) => {
      await ok(session.read('to'));
      return session.move('from', 'to');
    },
    stop: (root) => rmSync(join(root, 'from')),
  },
];

describe.each(SCENES)('$title that fails after another program took one of its names', (scene) => {
  it("says so, keeps the other program's file, and the journal keeps the replaced bytes", async () => {
    const t = await table(['d/a: old a', 'd/b: old b', 'from: moved', 'to: old to']);
    const file = join(t.root, scene.taken);
    const old = fingerprintOf(readFileSync(file));
    const isGone = (): boolean => !treeOf(t.root).some((line) => line.startsWith(`${scene.taken}: `));
    t.meanwhile(isGone, () => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, 'by hand');
      scene.stop(t.root);
    });
    await expect(scene.change(t.ann)).rejects.toMatchObject({ code: 'IO_FAILED' });
    expect(readFileSync(file, 'utf8')).toBe('by hand');

    // Before the gate changes a file, it records the outcome of an earlier, failed change of that
    // file.
    await t.ann.move(scene.taken, 'aside');
    expect(await t.sessions.world.store.pending()).toEqual([]);
    const entries = await t.sessions.world.store.entries({ kinds: ['change'], order: 'oldest' });
    const [entry] = entries;
    expect(entry).toMatchObject({ recovered: true });
    expect(entry?.deltas?.map(({ relative }) => relative)).toContain(scene.taken);
    expect(Buffer.from(await t.sessions.world.images.read(old)).toString()).toMatch(/^old /);
    expect(treeOf(t.root).filter((line) => line.includes('.lookfirst-'))).toEqual([]);
    expect(readFileSync(join(t.root, 'd/b'), 'utf8')).toBe('old b');
  });
});
