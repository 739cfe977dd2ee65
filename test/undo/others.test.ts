import { describe, expect, it } from 'vitest';
import { explain } from '../../src/report/explain.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

async function two(): Promise<Desk & { readonly bob: GatedSession; readonly change: string }> {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', 'one\n');
  await ok(t.session.read('a.txt'));
  const { change = '' } = await ok(t.session.write('a.txt', 'two\n'));
  return { ...t, change, bob: await t.open({ session: 'bob' }) };
}

describe("a session that undoes another session's change by its id", () => {
  it('must have read the whole file as it is now', async () => {
    const t = await two();
    for (const preview of [true, false])
      expect(await refusal(t.bob.undo({ change: t.change, preview }), 'NOT_READ')).toMatchObject({
        path: 'a.txt',
        next: 'read',
      });
    await ok(t.bob.read('a.txt'));
    await t.put('a.txt', 'three\n');
    await refusal(t.bob.undo({ change: t.change }), 'NOT_READ');
    await t.put('a.txt', 'two\n');
    await ok(t.bob.undo({ change: t.change }));
    expect(t.text('a.txt')).toBe('one\n');
  });

  it('is refused without being shown the diff', async () => {
    const t = await two();
    await t.put('a.txt', 'secret\n');
    const told = await t.bob.undo({ change: t.change });
    expect(JSON.stringify(told)).not.toContain('secret');
  });

  it('gets a refusal that names every file it has not read', async () => {
    const t = await two();
    await t.put('b.txt', 'b\n');
    await ok(t.session.read('b.txt'));
    const { change = '' } = await ok(
      t.session.apply([
        { kind: 'write', path: 'a.txt', content: 'A\n' },
        { kind: 'write', path: 'b.txt', content: 'B\n' },
      ]),
    );
    const { detail } = await refusal(t.bob.undo({ change }), 'NOT_READ');
    expect(detail?.refusals?.map(({ path }) => path)).toEqual(['a.txt', 'b.txt']);
    for (const path of ['a.txt', 'b.txt']) await ok(t.bob.read(path));
    await ok(t.bob.undo({ change }));
  });

  it('gets a refusal that names at most 20 files and counts those that were not checked', async () => {
    const t = await two();
    const paths = Array.from({ length: 23 }, (_, at) => `f${at}.txt`);
    const { change = '' } = await ok(
      t.session.apply(paths.map((path) => ({ kind: 'write', path, content: 'new\n' }))),
    );
    const refused = await refusal(t.bob.undo({ change }), 'NOT_READ');
    expect(refused.detail?.refusals).toHaveLength(20);
    expect(explain(refused, { nowMs: 0 })).toContain('\n- 3 other paths not checked');
  });

  it('must have listed the folder of a deleted file after the deletion, or have deleted the file itself', async () => {
    const t = await two();
    await t.put('d/a.txt', 'x\n');
    await ok(t.session.read('d/a.txt'));
    const { change = '' } = await ok(t.session.delete('d/a.txt'));
    expect(await refusal(t.bob.undo({ change }), 'NOT_READ')).toMatchObject({ path: 'd', next: 'list' });
    await ok(t.bob.list('d'));
    await t.put('d/new.txt', 'n\n');
    await refusal(t.bob.undo({ change }), 'NOT_READ');
    await ok(t.bob.list('d'));
    await ok(t.bob.undo({ change }));
    expect(t.text('d/a.txt')).toBe('x\n');
  });

  it('may redo a change that another session undid, after it has read the file', async () => {
    const t = await two();
    const { change: undo = '' } = await ok(t.session.undo({}));
    await refusal(t.bob.undo({ change: undo }), 'NOT_READ');
    await ok(t.bob.read('a.txt'));
    await ok(t.bob.undo({ change: undo }));
    expect(t.text('a.txt')).toBe('two\n');
  });
});
