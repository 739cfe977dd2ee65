import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fingerprintOf } from '../../src/disk/read.ts';
import { verifyChain } from '../../src/journal/verify.ts';
import { Fault } from '../../src/model/fault.ts';
import { cleanUp, purge } from '../../src/records/clean-up.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok, refusal } from '../support/desk.ts';
import { keptHashes } from '../support/kept.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import { treeWithModes } from '../support/tree-replay.ts';

const FILES = 120;
const SECRET = 'TOKEN=abc\n';

interface Taken extends Scratch {
  readonly sessions: Sessions;
  readonly session: GatedSession;
  /** The tree before the folder was removed. */
  readonly before: readonly string[];
  /** The change that removed the folder. */
  readonly change: string;
}

/**
 * Produces a change that makes a large folder: deletes a folder of many files and undoes the
 * deletion. `undoing` is the id of that undo.
 */
async function made(): Promise<Omit<Taken, 'change'> & { readonly undoing: string }> {
  const places = scratch();
  const folder = join(places.root, 'd');
  mkdirSync(join(folder, 'in'), { recursive: true });
  for (let file = 0; file < FILES; file += 1) writeFileSync(join(folder, 'in', `f${file}`), `text ${file}\n`);
  chmodSync(join(folder, 'in/f1'), 0o755);
  symlinkSync('f1', join(folder, 'in/link'));
  writeFileSync(join(folder, '.env'), SECRET);
  const before = treeWithModes(places.root);
  const sessions = await Sessions.open({ roots: [places.root], home: places.home });
  onTestFinished(() => sessions.close());
  const session = await sessions.session('ann');
  await ok(session.list('d', { depth: 9 }));
  const { change = '' } = await ok(session.delete('d', { recursive: true }));
  const { change: undoing = '' } = await ok(session.undo({ change }));
  expect(treeWithModes(places.root)).toEqual(before);
  return { ...places, sessions, session, before, undoing };
}

async function taken(): Promise<Taken> {
  const t = await made();
  const { change = '' } = await ok(t.session.undo({ change: t.undoing }));
  expect(readdirSync(t.root)).toEqual([]);
  return { ...t, change };
}

function hashOf(text: string): string {
  return fingerprintOf(Buffer.from(text)).sha256;
}

describe('the undo of a change that made a large folder', () => {
  it('can be undone: every byte, mode and link comes back', async () => {
    const { root, session, sessions, before, change } = await taken();
    await ok(session.undo({ change }));
    expect(treeWithModes(root)).toEqual(before);
    expect((await verifyChain(sessions.world.store)).ok).toBe(true);
  });

  it('can be undone after clean-ups, which remove nothing that is needed', async () => {
    const { root, home, session, sessions, before, change } = await taken();
    const nowMs = Date.now() + 2 * 24 * 3_600_000;
    const first = await cleanUp(sessions, { dryRun: false, nowMs });
    expect(first.removed).toMatchObject({ images: { count: 0 }, leftovers: { count: 0 } });
    expect(first.after?.images).toEqual(first.before.images);
    expect(readdirSync(join(home, 'retained'))).toEqual([]);
    await cleanUp(sessions, { dryRun: false, nowMs });
    await ok(session.undo({ change }));
    expect(treeWithModes(root)).toEqual(before);
  });

  it('leaves nothing of a purged file, in the store or on the shelf', async () => {
    const t = await taken();
    const shelf = join(t.home, 'retained');
    const shelved = (text: string): boolean =>
      readdirSync(shelf).some((name) => readFileSync(join(shelf, name), 'utf8') === text);
    expect(shelved(SECRET)).toBe(true);
    await purge(t.sessions, { cwd: t.root, paths: [], dryRun: false });
    expect(await keptHashes(t.home)).not.toContain(hashOf(SECRET));
    expect(shelved(SECRET)).toBe(false);
    expect((await refusal(t.session.undo({ change: t.change }), 'NOT_FOUND')).path).toBe('d/.env');
    await purge(t.sessions, { cwd: t.root, paths: ['d/in/f5'], dryRun: false });
    expect(await keptHashes(t.home)).not.toContain(hashOf('text 5\n'));
    expect([shelved('text 5\n'), shelved('text 6\n')]).toEqual([false, true]);
  });

  it('keeps what a program writes into an open file afterwards, and reports it', async () => {
    const { root, home, session, sessions, before, undoing } = await made();
    const fd = openSync(join(root, 'd/in/f7'), 'r+');
    onTestFinished(() => closeSync(fd));
    const { change = '' } = await ok(session.undo({ change: undoing }));
    writeSync(fd, 'late\n', 'text 7\n'.length);
    await sessions.close();
    const later = await Sessions.open({ roots: [root], home });
    onTestFinished(() => later.close());
    const [notice] = await later.world.store.entries({ kinds: ['notice'] });
    expect(notice?.path).toBe('d/in/f7');
    const kept = /kept at (\S+)\./.exec(notice?.text ?? '')?.[1] ?? '';
    expect(readFileSync(kept, 'utf8')).toBe('text 7\nlate\n');
    const again = await later.session('ann');
    await ok(again.undo({ change }));
    expect(treeWithModes(root)).toEqual(before);
  });

  it('is reverted as one if it cannot be recorded', async () => {
    const { root, session, sessions, before, undoing } = await made();
    const { store } = sessions.world;
    const record = store.record.bind(store);
    Object.assign(store, {
      record: async (...writes: Parameters<typeof record>) => {
        if (writes[0].settle === undefined || writes[0].entries === undefined) return record(...writes);
        throw new Fault('STORE_FAILED', 'the journal is full');
      },
    });
    await expect(session.undo({ change: undoing })).rejects.toThrow('the journal is full');
    Object.assign(store, { record });
    expect(treeWithModes(root)).toEqual(before);
    expect(await store.pending()).toEqual([]);
    await ok(session.undo({ change: undoing }));
  });
});

describe('an outside program that has changed a large folder before its undo', () => {
  it('loses no byte that it wrote', async () => {
    const { root, session, undoing } = await made();
    appendFileSync(join(root, 'd/in/f9'), 'mine\n');
    const before = treeWithModes(root);
    await refusal(session.undo({ change: undoing }), 'STALE');
    expect(treeWithModes(root)).toEqual(before);
  });

  it('may have removed a file, which then stays away', async () => {
    const { root, session, before, undoing } = await made();
    rmSync(join(root, 'd/in/f9'));
    const { change = '' } = await ok(session.undo({ change: undoing }));
    expect(readdirSync(root)).toEqual([]);
    await ok(session.undo({ change }));
    expect(treeWithModes(root)).toEqual(before.filter((entry) => !entry.startsWith('d/in/f9 ')));
  });

  it('keeps a file that it added', async () => {
    const { root, session, undoing } = await made();
    writeFileSync(join(root, 'd/in/mine'), 'mine\n');
    await ok(session.undo({ change: undoing }));
    expect(treeWithModes(root).filter((entry) => entry.includes('mine'))).toHaveLength(1);
    expect(readFileSync(join(root, 'd/in/mine'), 'utf8')).toBe('mine\n');
  });
});
