import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { strongestGuarantee } from '../../src/workspace/pinned.ts';
import { startChild } from '../support/child.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { prepareTree } from '../support/killable.ts';
import { scratch, treeOf } from '../support/tree.ts';

const MOVED = expect.objectContaining({ code: 'IO_FAILED', reason: 'ESTALE' });
const CHANGES: Readonly<Record<string, (session: GatedSession) => Promise<unknown>>> = {
  write: (session) => session.write('a.txt', 'three\n'),
  create: (session) => session.write('d/new.txt', 'new\n'),
  delete: (session) => session.delete('a.txt'),
  move: (session) => session.move('a.txt', 'b.txt'),
  mkdir: (session) => session.mkdir('e'),
  undo: (session) => session.undo({}),
};

async function opened(): Promise<Desk> {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', 'one\n');
  await ok(t.session.read('a.txt'));
  await ok(t.session.write('a.txt', 'two\n'));
  return t;
}

describe.skipIf(strongestGuarantee() !== 'walk')('a workspace folder that is no longer at its path', () => {
  it.each(Object.keys(CHANGES))(
    'is not changed, nor is the folder that now has its path: %s',
    async (name) => {
      const t = await opened();
      const old = `${t.root}.old`;
      renameSync(t.root, old);
      cpSync(old, t.root, { recursive: true });
      await expect(CHANGES[name]?.(t.session)).rejects.toEqual(MOVED);
      expect([treeOf(t.root), treeOf(old)]).toEqual([['a.txt: two\n'], ['a.txt: two\n']]);
      // Reads still use the folder that was opened, which now has another path.
      await ok(t.session.read('a.txt'));
      rmSync(t.root, { recursive: true });
      renameSync(old, t.root);
      expect(await CHANGES[name]?.(t.session)).toMatchObject({ ok: true });
    },
  );

  it('because it was deleted is reported as deleted, not as empty', async () => {
    const t = await opened();
    rmSync(t.root, { recursive: true });
    mkdirSync(t.root);
    writeFileSync(join(t.root, 'a.txt'), 'two\n');
    const { detail } = await refusal(t.session.read('a.txt'), 'UNVERIFIABLE');
    expect(detail?.reason).toMatch(/deleted after it was opened/);
    await refusal(t.session.list('.'), 'UNVERIFIABLE');
    expect(treeOf(t.root)).toEqual(['a.txt: two\n']);
  });

  it('does not cause changes of another process to be settled in the folder that now has its path', async () => {
    const places = scratch();
    prepareTree(places.root);
    const early = await Sessions.open({ roots: [places.root], home: places.home });
    onTestFinished(() => early.close());
    const old = `${places.root}.old`;
    renameSync(places.root, old);
    cpSync(old, places.root, { recursive: true, verbatimSymlinks: true });
    const child = await startChild('session-killed', {
      ...places,
      scene: 'a batch',
      moment: 'the new file is there',
    });
    expect((await child.exit()).signal).toBe('SIGKILL');
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\nTWO\n');

    const ann = await early.session('early');
    await expect(ann.write('new.txt', 'x')).rejects.toEqual(MOVED);
    await expect(ann.move('a.txt', 'x.txt')).rejects.toEqual(MOVED);
    expect(await early.world.store.pending()).toHaveLength(1);
    const late = await Sessions.open({ roots: [places.root], home: places.home });
    onTestFinished(() => late.close());
    expect(await late.world.store.pending()).toEqual([]);
    expect(treeOf(places.root)).toEqual(treeOf(old));
  });
});
