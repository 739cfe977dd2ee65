import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

const LINES = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('');

async function two(): Promise<Desk & { readonly bob: GatedSession }> {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', LINES);
  await ok(t.session.read('a.txt'));
  const bob = await t.open({ session: 'bob' });
  return { ...t, bob };
}

async function edit(session: GatedSession, line: number, text: string, path = 'a.txt'): Promise<void> {
  await ok(session.read(path));
  await ok(session.edit(path, [{ oldString: `line ${line}\n`, newString: `${text}\n` }]));
}

function withLine(line: number, text: string): string {
  return LINES.replace(`line ${line}\n`, `${text}\n`);
}

describe('undo of several changes of one file with merge', () => {
  it('reverts them and keeps a change that another session made in between', async () => {
    const t = await two();
    await edit(t.session, 3, 'ann one');
    await edit(t.bob, 15, 'bob');
    await edit(t.session, 25, 'ann two');
    await refusal(t.session.undo({ session: 'ann' }), 'STALE');
    const preview = await ok(t.session.undo({ session: 'ann', merge: true, preview: true }));
    expect(preview.diff).toContain('-ann one\n+line 3');
    expect(preview.diff).toContain('-ann two\n+line 25');
    expect(preview.diff).not.toContain('-bob');
    expect(preview.files).toEqual([{ path: 'a.txt', did: 'merged' }]);
    const undone = await ok(t.session.undo({ session: 'ann', merge: true }));
    expect(t.text('a.txt')).toBe(withLine(15, 'bob'));
    expect(undone.diff).toBe(preview.diff);
    await ok(t.session.undo({ change: undone.change ?? '' }));
    expect(t.text('a.txt')).toContain('ann two');
  });

  it('reverts them and keeps outside changes, even one after the newest of them', async () => {
    const t = await two();
    const outside = (line: number): void =>
      writeFileSync(join(t.root, 'a.txt'), t.text('a.txt').replace(`line ${line}\n`, `out ${line}\n`));
    await edit(t.session, 3, 'ann one');
    outside(12);
    await edit(t.session, 25, 'ann two');
    outside(18);
    await ok(t.session.undo({ session: 'ann', merge: true }));
    expect(t.text('a.txt')).toBe(withLine(12, 'out 12').replace('line 18\n', 'out 18\n'));
  });

  it('reverts changes before and after a move of the folder', async () => {
    const t = await two();
    await t.put('d/a.txt', LINES);
    await ok(t.session.read('d/a.txt'));
    await edit(t.session, 3, 'ann one', 'd/a.txt');
    writeFileSync(join(t.root, 'd/a.txt'), t.text('d/a.txt').replace('line 15\n', 'out\n'));
    await ok(t.session.move('d', 'm'));
    await edit(t.session, 25, 'ann two', 'm/a.txt');
    await ok(t.session.undo({ session: 'ann', merge: true }));
    expect(t.text('d/a.txt')).toBe(withLine(15, 'out'));
  });

  it('refuses to take along what another session has put into a moved folder, even after a change that can be merged', async () => {
    const t = await two();
    await t.put('d/b.txt', 'b\n');
    await edit(t.session, 3, 'ann one');
    await ok(t.session.move('d', 'm'));
    await edit(t.bob, 15, 'bob');
    await ok(t.bob.write('m/bob.txt', 'bob\n'));
    await refusal(t.session.undo({ session: 'ann', merge: true }), 'STALE');
    expect(t.text('m/bob.txt')).toBe('bob\n');
  });

  it('refuses the whole undo if one change can no longer be reverted', async () => {
    const t = await two();
    await edit(t.session, 3, 'ann one');
    await ok(t.bob.read('a.txt'));
    await ok(t.bob.edit('a.txt', [{ oldString: 'ann one', newString: 'ann and bob' }]));
    await edit(t.session, 25, 'ann two');
    const before = t.text('a.txt');
    const { path, detail } = await refusal(t.session.undo({ session: 'ann', merge: true }), 'STALE');
    expect([path, typeof detail?.diff]).toEqual(['a.txt', 'string']);
    expect(t.text('a.txt')).toBe(before);
  });
});
