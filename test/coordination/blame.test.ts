import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openJournal } from '../../src/records/open-journal.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { lookfirst, objects, timeless } from '../support/command-line.ts';
import { type Desk, desk, ok } from '../support/desk.ts';
import { loseBytes, withDatabase } from '../support/kept.ts';
import { describePostgres } from '../support/postgres.ts';

/**
 * The writer of each line: a session, `outside`, or `-` for lines older than the first recorded
 * change.
 */
async function writers(t: Scene, path: string): Promise<string[]> {
  const journal = await openJournal({ home: t.home, store: t.store });
  try {
    const { lines } = await ok(journal.blame(join(t.root, path)));
    return lines.map(({ session, outside }) => session ?? (outside === true ? 'outside' : '-'));
  } finally {
    await journal.close();
  }
}

async function replace(session: GatedSession, path: string, oldString: string, newString: string) {
  await ok(session.read(path));
  await ok(session.edit(path, [{ oldString, newString }]));
}

interface Scene extends Desk {
  readonly other: GatedSession;
  readonly store: string | undefined;
}

async function scene(store?: string): Promise<Scene> {
  const t = await desk({ session: 'one', client: 'codex', store });
  await t.put('a.txt', '1\n2\n3\n4\n5\n');
  await t.session.beginTurn({ turn: 'p1' });
  await replace(t.session, 'a.txt', '2\n', 'two\n2b\n');
  const other = await t.open({ session: 'other' });
  await replace(other, 'a.txt', '5\n', 'five\n');
  return { ...t, other, store };
}

/** The tests of `blame`, on one kind of store. */
function suite(storeUrl: () => string | undefined): void {
  it('names the session that wrote each line, and no session for lines that existed before', async () => {
    const t = await scene(storeUrl());
    expect(await writers(t, 'a.txt')).toEqual(['-', 'one', 'one', '-', '-', 'other']);
  });

  it('names the sessions in a file with many lines', async () => {
    const t = await scene(storeUrl());
    await t.put('long.txt', 'x\n'.repeat(130_000));
    await ok(t.session.insert('long.txt', 'new'));
    const found = await writers(t, 'long.txt');
    expect([found.length, found[0], found.at(-1)]).toEqual([130_001, '-', 'one']);
  });

  it('marks lines that another program changed between two changes and after the last one', async () => {
    const t = await scene(storeUrl());
    // Close the session, so that the text that it wrote is stored now and not a moment later.
    await t.other.close();
    await t.put('a.txt', `${t.text('a.txt')}outside\n`);
    expect(await writers(t, 'a.txt')).toEqual(['-', 'one', 'one', '-', '-', 'other', 'outside']);
    await replace(t.session, 'a.txt', '4\n', 'four\n');
    expect(await writers(t, 'a.txt')).toEqual(['-', 'one', 'one', '-', 'one', 'other', 'outside']);
  });

  it('follows a move, and names the original writer again after an undo', async () => {
    const t = await scene(storeUrl());
    await ok(t.session.move('a.txt', 'b.txt'));
    expect(await writers(t, 'b.txt')).toEqual(['-', 'one', 'one', '-', '-', 'other']);
    await replace(t.session, 'b.txt', 'five\n', 'FIVE\n');
    expect((await writers(t, 'b.txt')).at(-1)).toBe('one');
    await ok(t.session.undo({}));
    expect((await writers(t, 'b.txt')).at(-1)).toBe('other');
  });
}

describe('blame on SQLite', () => suite(() => undefined));

await describePostgres('blame on PostgreSQL', (server) => suite(() => server.url()));

describe('blame', () => {
  it('prints session, client, turn and time for people, programs and as an Agent Trace', async () => {
    const t = await scene();
    await t.other.close();
    await t.session.close();
    expect(timeless((await lookfirst(t, ['blame', 'a.txt'])).stdout)).toMatch(
      /^one \(codex\)\|p1\|just now\|2\|two$/m,
    );
    const lines = objects(await lookfirst(t, ['blame', 'a.txt', '--json']));
    expect(lines[1]).toMatchObject({ line: 2, text: 'two', session: 'one', client: 'codex', turn: 'p1' });
    expect(lines[1]).toHaveProperty('change');
    const [trace] = objects(await lookfirst(t, ['blame', 'a.txt', '--agent-trace']));
    expect(trace).toMatchObject({
      version: '0.1.0',
      tool: { name: 'lookfirst' },
      files: [
        {
          path: 'a.txt',
          conversations: [
            { contributor: { type: 'ai' }, ranges: [{ start_line: 2, end_line: 3 }] },
            { contributor: { type: 'ai' }, ranges: [{ start_line: 6, end_line: 6 }] },
          ],
        },
      ],
    });
  });

  it('prints lines with their indentation, and escapes characters that control a terminal', async () => {
    const t = await desk();
    await t.put('a.py', 'if x:\n    y =  1\n\tz\u001b[31m\n');
    const { stdout } = await lookfirst(t, ['blame', 'a.py']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.slice('-      1  '.length))).toEqual([
      'if x:',
      '    y =  1',
      '\tz\\u001b[31m',
    ]);
  });

  it('prints a file with many lines', async () => {
    const t = await desk();
    await t.put('long.txt', 'x\n'.repeat(130_000));
    const { code, stdout } = await lookfirst(t, ['blame', 'long.txt']);
    expect([code, stdout.trimEnd().split('\n').length]).toEqual([0, 130_000]);
  });

  it('says so if a file is too large', async () => {
    const t = await desk();
    await t.put('large.txt', 'x'.repeat((8 << 20) + 1));
    const { code, stderr } = await lookfirst(t, ['blame', 'large.txt']);
    expect([code, stderr]).toEqual([
      2,
      'lookfirst: refusing to read large.txt: it is too large (8.0 MB) [TOO_LARGE]\n',
    ]);
  });

  it.each<[string, (home: string) => Promise<unknown>]>([
    ['removed', loseBytes],
    ['damaged', (home) => withDatabase(home, (db) => db.exec("update blobs set body = 'other'"))],
  ])('names no session for lines if the earlier bytes were %s', async (_how, spoil) => {
    const t = await scene();
    await t.other.close();
    await t.session.close();
    await spoil(t.home);
    expect(new Set(await writers(t, 'a.txt'))).toEqual(new Set(['-']));
  });

  it('refuses a file that is not text', async () => {
    const t = await desk();
    await t.put('b.bin', new Uint8Array([0, 1, 2]));
    expect(await lookfirst(t, ['blame', 'b.bin'])).toMatchObject({ code: 2 });
    expect(await lookfirst(t, ['blame', 'none.txt'])).toMatchObject({ code: 2 });
    renameSync(join(t.root, 'b.bin'), join(t.root, 'c.bin'));
    expect(await lookfirst(t, ['blame'])).toMatchObject({ code: 64 });
  });
});

it('a line that an undo brings back beside a later change keeps its writer', async () => {
  const work = await desk({ session: 'agent-7' });
  await ok(work.session.write('a.txt', 'one\ntwo\n\n\n\nsix\n'));
  const { change = '' } = await ok(work.session.edit('a.txt', [{ oldString: 'two', newString: 'TWO' }]));
  const other = await work.open({ session: 'agent-8' });
  await ok(other.read('a.txt'));
  await ok(other.edit('a.txt', [{ oldString: 'six', newString: 'SIX' }]));
  expect((await lookfirst(work, ['undo', change, '--merge'])).code).toBe(0);
  const lines = objects(await lookfirst(work, ['blame', 'a.txt', '--json']));
  expect(lines.map(({ text, session }) => [text, session])).toEqual([
    ['one', 'agent-7'],
    ['two', 'agent-7'],
    ['', 'agent-7'],
    ['', 'agent-7'],
    ['', 'agent-7'],
    ['SIX', 'agent-8'],
  ]);
});
