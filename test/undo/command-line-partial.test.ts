import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lookfirst, objects, timeless } from '../support/command-line.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { withDatabase } from '../support/kept.ts';

/**
 * A session has changed four files. Another program has changed one of them since, and the earlier
 * bytes of another are gone.
 */
async function workDesk(): Promise<Desk> {
  const work = await desk({ session: 'agent-7' });
  for (const name of ['a', 'b', 'c']) {
    await work.put(`${name}.txt`, `old ${name}\n`);
    await ok(work.session.read(`${name}.txt`));
  }
  await work.session.beginTurn({ turn: 'p1', prompt: 'change them' });
  for (const name of ['a', 'b', 'c']) await ok(work.session.write(`${name}.txt`, `new ${name}\n`));
  await ok(work.session.write('made/d.txt', 'd\n'));
  await work.put('a.txt', 'theirs\n');
  const [entry] = objects(await lookfirst(work, ['log', '--path', 'b.txt', '--kind', 'change', '--json']));
  const { effects } = entry as { effects: { before: { fingerprint: { sha256: string } } }[] };
  await forgetImage(work.home, effects[0]?.before.fingerprint.sha256 ?? '');
  return work;
}

async function forgetImage(home: string, sha256: string): Promise<void> {
  const removed = await withDatabase(home, (db) =>
    db.prepare('delete from blobs where sha256 = ? returning sha256').all(sha256),
  );
  expect(removed).toEqual([{ sha256 }]);
}

const texts = (work: Desk): string[] => ['a', 'b', 'c'].map((name) => work.text(`${name}.txt`));

describe.each([
  ['undo', ['undo', '--session', 'agent-7']],
  ['rewind', ['rewind', 'p1', '--yes']],
])('lookfirst %s of several changes', (_name, args) => {
  it('changes nothing and names everything that it cannot bring back', async () => {
    const work = await workDesk();
    const { code, stdout, stderr } = await lookfirst(work, args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('a.txt: it was changed since that change [STALE]');
    expect(stderr).toContain('b.txt: its earlier bytes are no longer kept [NOT_FOUND]');
    expect(stderr).toContain('--partial brings back the other 3 files');
    expect(texts(work)).toEqual(['theirs\n', 'new b\n', 'new c\n']);
  });

  it('brings back the rest with --partial, and names what it leaves first', async () => {
    const work = await workDesk();
    const dry = await lookfirst(work, [...args, '--partial', '--dry-run']);
    expect(dry.stdout).toContain(
      'cannot bring back:\n  a.txt  it was changed since that change [STALE]\n  b.txt',
    );
    const ran = await lookfirst(work, [...args, '--partial']);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain(
      'cannot bring back:\n  a.txt  it was changed since that change [STALE]\n  b.txt',
    );
    expect(timeless(ran.stdout)).toContain('took back 2 changes:\n');
    expect(texts(work)).toEqual(['theirs\n', 'new b\n', 'old c\n']);
    // What was left can be undone later.
    writeFileSync(join(work.root, 'a.txt'), 'new a\n');
    expect(await lookfirst(work, ['undo', '--session', 'agent-7', '--partial'])).toMatchObject({ code: 0 });
    expect(texts(work)).toEqual(['old a\n', 'new b\n', 'old c\n']);
  });

  it('lists what it left as JSON', async () => {
    const work = await workDesk();
    const [refused] = objects(await lookfirst(work, [...args, '--json']));
    expect(refused).toMatchObject({
      ok: false,
      code: 'STALE',
      detail: { restorable: 3, refusals: [{ path: 'a.txt' }, { path: 'b.txt' }] },
    });
    const [partial] = objects(await lookfirst(work, [...args, '--partial', '--json']));
    expect(partial).toMatchObject({
      ok: true,
      left: [
        { path: 'a.txt', code: 'STALE', reason: 'it was changed since that change' },
        { path: 'b.txt', code: 'NOT_FOUND', reason: 'its earlier bytes are no longer kept' },
      ],
    });
  });
});

it('a partial undo that can bring back nothing is refused', async () => {
  const work = await desk({ session: 'agent-7' });
  await ok(work.session.write('a.txt', 'a\n'));
  await work.put('a.txt', 'theirs\n');
  expect(await lookfirst(work, ['undo', '--partial'])).toMatchObject({ code: 2, stdout: '' });
  expect(work.text('a.txt')).toBe('theirs\n');
});

it('a program can undo in part', async () => {
  const work = await workDesk();
  const { detail } = await refusal(work.session.undo({ session: 'agent-7' }), 'STALE');
  expect(detail?.refusals).toMatchObject([{ path: 'a.txt' }, { path: 'b.txt' }]);
  const result = await ok(work.session.undo({ session: 'agent-7', partial: true }));
  expect(result.left).toMatchObject([{ path: 'a.txt' }, { path: 'b.txt' }]);
  expect(texts(work)).toEqual(['theirs\n', 'new b\n', 'old c\n']);
});

it("leaves a file that another session changed later, without undoing that session's change", async () => {
  const work = await desk({ session: 'one' });
  await ok(work.session.write('a.txt', 'one\n'));
  await ok(work.session.write('b.txt', 'one\n'));
  const other = await work.open({ session: 'two' });
  await ok(other.read('a.txt'));
  await ok(other.write('a.txt', 'two\n'));
  expect(await lookfirst(work, ['undo', '--session', 'one', '--partial'])).toMatchObject({ code: 0 });
  expect(work.text('a.txt')).toBe('two\n');
  expect(() => work.text('b.txt')).toThrow('ENOENT');
});
