import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-state.ts';
import { lookfirst, objects, timeless } from '../support/command-line.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { loseBytes } from '../support/kept.ts';
import { scratch } from '../support/tree.ts';

async function changedDesk(): Promise<Desk & { readonly changes: readonly string[] }> {
  const work = await desk({ session: 'agent-7' });
  await work.put('a.txt', 'one\n');
  await ok(work.session.read('a.txt'));
  const changes = [];
  for (const text of ['two\n', 'three\n']) changes.push((await ok(work.session.write('a.txt', text))).change);
  changes.push((await ok(work.session.write('b.txt', 'b\n'))).change);
  return { ...work, changes: changes.map(String) };
}

const NEW_FILE = '--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n';

describe('lookfirst diff', () => {
  it('shows the newest change, or one by its id', async () => {
    const work = await changedDesk();
    expect(await lookfirst(work, ['diff'])).toMatchObject({ code: 0, stdout: NEW_FILE });
    expect((await lookfirst(work, ['diff', work.changes[0] ?? ''], { cwd: work.outside })).stdout).toBe(
      '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n',
    );
  });

  it('shows the combined effect of several changes, as text and as JSON', async () => {
    const work = await changedDesk();
    const together = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+three\n';
    expect((await lookfirst(work, ['diff', '--session', 'agent-7'])).stdout).toBe(together + NEW_FILE);
    expect((await lookfirst(work, ['diff', '--path', 'a.txt'])).stdout).toContain('-two\n+three');
    const [first, second] = objects(await lookfirst(work, ['diff', '--since', '1h', '--json']));
    expect(first).toMatchObject({
      path: 'a.txt',
      root: work.root,
      changes: work.changes.slice(0, 2),
      before: { kind: 'file', kept: true },
      after: { kind: 'file' },
      diff: together.trimEnd(),
      truncated: false,
    });
    expect(second).toMatchObject({ path: 'b.txt', before: { kind: 'absent' } });
  });

  it('shows only the files that --path names, even of a change of several files', async () => {
    const work = await desk({ session: 'agent-7' });
    const { change = '' } = await ok(
      work.session.apply([
        { kind: 'write', path: 'b.txt', content: 'b\n' },
        { kind: 'write', path: 'dir/c.txt', content: 'c\n' },
      ]),
    );
    const shown = async (...args: string[]) => (await lookfirst(work, ['diff', ...args])).stdout;
    const inFolder = '--- /dev/null\n+++ b/dir/c.txt\n@@ -0,0 +1 @@\n+c\n';
    for (const which of [[], [change], ['--session', 'agent-7']]) {
      expect(await shown(...which, '--path', 'b.txt')).toBe(NEW_FILE);
      expect(await shown(...which, '--path', 'dir')).toContain(inFolder);
      expect(await shown(...which, '--path', 'dir')).not.toContain('b.txt');
    }
    expect(await lookfirst(work, ['diff', change, '--path', 'other.txt'])).toMatchObject({
      code: 2,
      stderr: `lookfirst: the change ${change} did not touch other.txt [NOT_FOUND]\n`,
    });
  });

  it('shows the lines of a UTF-16 file', async () => {
    const work = await desk({ session: 'agent-7' });
    await work.put('a.txt', Buffer.from('\ufeffone\ntwo\n', 'utf16le'));
    await ok(work.session.read('a.txt'));
    await ok(work.session.edit('a.txt', [{ oldString: 'two', newString: 'três' }]));
    const diff = '@@ -1,2 +1,2 @@\n one\n-two\n+três\n';
    expect((await lookfirst(work, ['diff'])).stdout).toBe(`--- a/a.txt\n+++ b/a.txt\n${diff}`);
    expect((await lookfirst(work, ['undo', '--dry-run'])).stdout).toContain(
      'a.txt\n@@ -1,2 +1,2 @@\n one\n-três\n+two\n',
    );
  });

  it('describes changes without lines in words', async () => {
    const work = await desk({ session: 'agent-7' });
    await work.put('image.bin', Buffer.from([0, 1, 2]));
    await ok(work.session.mkdir('folder'));
    await ok(work.session.read('image.bin'));
    await ok(work.session.delete('image.bin'));
    const { stdout } = await lookfirst(work, ['diff', '--session', 'agent-7']);
    expect(stdout).toBe(
      'new folder folder\n' + '--- a/image.bin\n+++ /dev/null\n(not text: 3 B before, 0 B after)\n',
    );
  });

  it('says so if the bytes were removed or the change does not exist', async () => {
    const work = await changedDesk();
    await work.put('b.txt', 'by hand\n');
    // Close the session, which stores the texts that it has shown. Otherwise it could store them
    // after the deletion below.
    await work.session.close();
    await loseBytes(work.home);
    expect((await lookfirst(work, ['diff', work.changes[2] ?? ''])).stdout).toContain(
      '(its bytes are no longer kept)',
    );
    expect(await lookfirst(work, ['diff', 'c0000000000'])).toMatchObject({
      code: 2,
      stderr:
        'lookfirst: there is no change c0000000000 [NOT_FOUND]\nlookfirst log --kind change lists the changes.\n',
    });
  });
});

describe('lookfirst status', () => {
  it('begins with what was prevented in the last seven days', async () => {
    const work = await desk({ session: 'agent-7' });
    await work.put('a.txt', 'one\ntwo\n\n\nthree\n');
    await refusal(work.session.write('a.txt', 'x\n'), 'NOT_READ');
    await ok(work.session.read('a.txt'));
    await work.put('a.txt', 'ONE\ntwo\n\n\nthree\n');
    await ok(work.session.edit('a.txt', [{ oldString: 'three', newString: '3' }]));
    const { stdout } = await lookfirst(work, ['status']);
    expect(stdout.split('\n')[0]).toBe(
      'this week: 1 overwrite stopped, 1 stale edit merged, 0 commands undoable',
    );
    const [state] = objects(await lookfirst(work, ['status', '--json']));
    expect(state?.['week']).toEqual({ overwritesStopped: 1, editsMerged: 1, commandsUndoable: 0 });
  });

  it('shows which sessions have seen a file and whether the file is unchanged since', async () => {
    const work = await changedDesk();
    const other = await work.open({ session: 'agent-8' });
    await ok(other.read('a.txt'));
    await ok(work.session.write('a.txt', 'four\n'));
    const { stdout } = await lookfirst(work, ['status', 'a.txt']);
    expect(timeless(stdout).split('\n')).toEqual([
      'a.txt: last change ID: overwrite by agent-7, just now',
      'SESSION|STATE|SEEN|WHEN|HOW',
      'agent-8|changed since|whole|just now|read',
      'agent-7|up to date|whole|just now|write',
      '',
    ]);
    const [file, ...sightings] = objects(await lookfirst(work, ['status', 'a.txt', '--json']));
    expect(file).toMatchObject({
      type: 'file',
      path: 'a.txt',
      exists: true,
      lastChange: { session: 'agent-7' },
    });
    expect(sightings.map(({ session, freshness }) => [session, freshness])).toEqual([
      ['agent-8', 'stale'],
      ['agent-7', 'fresh'],
    ]);
  });

  it('gives an overview of sessions, state and the last change', async () => {
    const work = await changedDesk();
    await work.put('a.txt', 'by hand\n');
    const { stdout } = await lookfirst(work, ['status']);
    expect(stdout).toMatch(
      new RegExp(`^this week: .*\\nworkspace {4}${work.root}\nlast change {2}create b\\.txt by agent-7, `),
    );
    expect(timeless(stdout)).toMatch(/\nagent-7\|\.\|just now\|2\|1\|open\n$/);
    const [state, session] = objects(await lookfirst(work, ['status', '--json']));
    expect(state).toMatchObject({ type: 'state', home: work.home, roots: [work.root], entries: 5 });
    expect(session).toMatchObject({ type: 'session', id: 'agent-7', seen: 2, outOfDate: 1 });
  });

  it('names client and turn of sessions and of the last change', async () => {
    const work = await desk({ session: 'agent-9', client: 'codex' });
    await work.put('a.txt', 'one\n');
    await work.session.beginTurn({ turn: 'p1' });
    await ok(work.session.read('a.txt'));
    await ok(work.session.write('a.txt', 'two\n'));
    const overview = timeless((await lookfirst(work, ['status'])).stdout);
    expect(overview).toContain('last change|overwrite a.txt by agent-9 (codex), turn p1, just now');
    const list =
      'SESSION|CLIENT|TURN|WORKSPACE|LAST USED|SEEN|OUT OF DATE|STATE\nagent-9|codex|p1|.|just now|1|0|open\n';
    expect(overview).toContain(`\n${list}`);
    expect(timeless((await lookfirst(work, ['sessions'])).stdout)).toBe(list);
    const file = timeless((await lookfirst(work, ['status', 'a.txt'])).stdout);
    expect(file).toContain('overwrite by agent-9 (codex), turn p1, just now\nSESSION|CLIENT|STATE|');
    const [state, session] = objects(await lookfirst(work, ['status', '--json']));
    expect(state).toMatchObject({ lastChange: { session: 'agent-9', client: 'codex', turn: 'p1' } });
    expect(session).toMatchObject({ id: 'agent-9', client: 'codex', turn: 'p1' });
  });

  it('lists what a session has seen', async () => {
    const work = await changedDesk();
    await work.put('long.txt', '1\n2\n3\n4\n5\n');
    await ok(work.session.read('long.txt', { offset: 2, limit: 2 }));
    const { stdout } = await lookfirst(work, ['status'], { env: { LOOKFIRST_SESSION: 'agent-7' } });
    expect(timeless(stdout)).toContain('long.txt|up to date|lines 2-3 of 5|just now|read\n');
    const rows = objects(await lookfirst(work, ['status', '--session', 'agent-7', '--json']));
    expect(rows).toHaveLength(3);
    expect(rows[0]).toMatchObject({ type: 'sighting', session: 'agent-7', path: 'long.txt', seen: 'some' });
  });

  it('reports a file here even if its session now has a root in a subfolder', async () => {
    const work = await changedDesk();
    await work.put('sub/b.txt', 'b\n');
    await work.session.close();
    await work.open({ roots: [join(work.root, 'sub')] });
    const { stdout, code } = await lookfirst(work, ['status', 'a.txt']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('agent-7')]);
  });

  it('refuses a path outside every workspace', async () => {
    const work = await changedDesk();
    const ran = await lookfirst(work, ['status', '../outside/x'], { cwd: work.root });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('[OUTSIDE_WORKSPACE]') });
  });
});

describe('lookfirst sessions', () => {
  it('lists a session that was opened long ago as running if it still works', async () => {
    const work = await desk({ session: 'agent-7' });
    await work.put('a.txt', 'one\n');
    const store = await openStore(`sqlite:${join(work.home, 'lookfirst.db')}`);
    const [opened] = await store.sessions();
    if (opened === undefined) return expect.unreachable();
    await store.record({ session: { ...opened, openedMs: 1, lastMs: 1 } });
    await store.close();
    await ok(work.session.read('a.txt'));
    await work.session.write('a.txt', 'two\n');
    const sessions = objects(await lookfirst(work, ['sessions', '--json']));
    expect(sessions).toMatchObject([{ id: 'agent-7', openedMs: 1, state: 'open' }]);
    const [, shown] = objects(await lookfirst(work, ['status', '--json']));
    for (const each of [sessions[0], shown]) expect(each?.['lastMs']).toBeGreaterThanOrEqual(opened.openedMs);
    expect(Date.parse(String(sessions[0]?.['last']))).toBe(sessions[0]?.['lastMs']);
    expect((await lookfirst(work, ['sessions'])).stdout).not.toMatch(/years|months|days/);
  });

  it('lists sessions and forgets one', async () => {
    const work = await changedDesk();
    expect(timeless((await lookfirst(work, ['sessions'])).stdout)).toBe(
      'SESSION|WORKSPACE|LAST USED|SEEN|OUT OF DATE|STATE\nagent-7|.|just now|2|0|open\n',
    );
    const [session] = objects(await lookfirst(work, ['sessions', 'list', '--json']));
    expect(session).toMatchObject({ id: 'agent-7', root: work.root, named: true, state: 'open', seen: 2 });
    expect(await lookfirst(work, ['sessions', 'forget', 'agent-7'])).toMatchObject({
      code: 0,
      stdout: 'forgot session agent-7, which had seen 2 files\n',
    });
    const outcome = await work.session.write('a.txt', 'again\n');
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'NOT_READ' } });
    await work.session.close();
    expect(await lookfirst(work, ['sessions', 'forget', 'agent-7'])).toMatchObject({ code: 0 });
    expect(objects(await lookfirst(work, ['sessions', '--json', '--all']))).toEqual([]);
  });

  it('refers to the log for a closed session without a name, whose changes can still be undone', async () => {
    const work = await desk();
    await ok(work.session.write('a.txt', 'one\n'));
    await work.session.close();
    const { stderr } = await lookfirst(work, ['sessions']);
    expect(stderr).toContain('no sessions here');
    expect(stderr).toContain('lookfirst log shows their ids');
    const [change] = objects(await lookfirst(work, ['log', '--kind', 'change', '--json']));
    const undo = await lookfirst(work, ['undo', '--session', String(change?.['session'])]);
    expect(undo).toMatchObject({ code: 0 });
    expect(existsSync(join(work.root, 'a.txt'))).toBe(false);
  });

  it('still lists a session that was forgotten while a process has it open', async () => {
    const work = await changedDesk();
    expect(objects(await lookfirst(work, ['claims', '--json']))).not.toEqual([]);
    expect(await lookfirst(work, ['sessions', 'forget', 'agent-7'])).toMatchObject({ code: 0 });
    expect(objects(await lookfirst(work, ['sessions', '--json']))).toMatchObject([
      { state: 'open', seen: 0 },
    ]);
    expect(objects(await lookfirst(work, ['claims', '--json']))).toEqual([]);
    await ok(work.session.read('a.txt'));
    expect((await lookfirst(work, ['sessions', 'forget', 'agent-7'])).stdout).toContain('seen 1 file');
  });

  it('records a compaction of a session, even if another process has the session open', async () => {
    const work = await changedDesk();
    await ok(work.session.read('a.txt'));
    expect(await lookfirst(work, ['sessions', 'compacted', 'agent-7'])).toMatchObject({
      code: 0,
      stdout: 'noted the compaction of session agent-7, which had seen 2 files\n',
    });
    expect(await work.session.write('a.txt', 'blind\n')).toMatchObject({ ok: false });
    await ok(work.session.read('a.txt'));
    expect(await work.session.write('a.txt', 'again\n')).toMatchObject({ ok: true });
    const [entry] = objects(await lookfirst(work, ['log', '--json', '--kind', 'session']));
    expect(entry).toMatchObject({ session: 'agent-7', text: 'compacted' });
  });

  it.each([
    [['sessions', 'compacted'], 64, 'lookfirst: ID is missing [INVALID_ARGUMENT]'],
    [['sessions', 'compacted', 'nobody'], 2, 'there is no session "nobody" [NOT_FOUND]'],
    [['sessions', 'forget', 'nobody'], 2, 'there is no session "nobody" [NOT_FOUND]'],
    [['sessions', 'forget'], 64, 'lookfirst: ID is missing [INVALID_ARGUMENT]'],
    [['sessions', 'list', 'agent-7'], 64, "unexpected argument 'agent-7'"],
    [['sessions', 'destroy'], 64, 'Choose from list, forget, compacted'],
  ])('rejects %j', async (args, code, words) => {
    const ran = await lookfirst(scratch(), args);
    expect(ran).toMatchObject({ code, stderr: expect.stringContaining(words) });
  });
});

describe('lookfirst gc', () => {
  const OLD = Date.now() - 90 * 86_400_000;

  /**
   * A journal with entries from ninety days ago and from today, and a session that has been idle
   * for ninety days.
   */
  async function oldDesk(): Promise<Desk> {
    const places = scratch();
    const store = await openStore(`sqlite:${join(places.home, 'lookfirst.db')}`);
    const old = { kind: 'session', atMs: OLD, session: 's', root: places.root, text: 'opened' } as const;
    const idle = { id: 's-idle', root: places.root, named: false, openedMs: OLD, lastMs: OLD };
    await store.record({ entries: [old, old, old], session: idle });
    await store.close();
    const work = await desk({ session: 'agent-7', home: places.home, roots: [places.root] });
    await ok(work.session.write('a.txt', 'one\n'));
    return { ...work, ...places };
  }

  it('shows with --dry-run what it would remove, then removes it, and shows both sizes', async () => {
    const work = await oldDesk();
    const dry = await lookfirst(work, ['gc', '--dry-run']);
    expect(dry.stdout).toMatch(
      /^would remove 3 entries, 0 kept images \(0 B\), 0 leftovers \(0 B\), \d+ sessions?\n/,
    );
    expect(dry.stdout).toMatch(/before {2}\d+ entries \(/);
    expect(dry.stderr).toBe('');
    const [done] = objects(await lookfirst(work, ['gc', '--json']));
    expect(done).toMatchObject({
      dryRun: false,
      removed: { entries: 3, images: { count: 0, bytes: 0 }, leftovers: { count: 0, bytes: 0 } },
      // One of the six entries records that the idle session expired.
      before: { entries: 6 },
      after: { entries: 3 },
    });
    expect((await lookfirst(work, ['log', '--verify'])).code).toBe(0);
    expect((await lookfirst(work, ['undo'])).code).toBe(0);
    expect(existsSync(join(work.root, 'a.txt'))).toBe(false);
  });

  it('takes retention and quota from flags', async () => {
    const work = await oldDesk();
    const [kept] = objects(await lookfirst(work, ['gc', '--json', '--dry-run', '--older-than', '52w']));
    expect(kept).toMatchObject({ dryRun: true, removed: { entries: 0 } });
    const wrong = await lookfirst(work, ['gc', '--quota', 'plenty']);
    expect(wrong).toMatchObject({ code: 64, stderr: expect.stringContaining('as in 500MB') });
  });

  it('takes retention and quota from the policy file, and fails if the file is invalid', async () => {
    const work = await oldDesk();
    const day = 86_400_000;
    writeFileSync(join(work.home, 'lookfirst.json'), JSON.stringify({ journal: { retentionMs: 365 * day } }));
    expect(objects(await lookfirst(work, ['gc', '--json', '--dry-run']))).toMatchObject([
      { removed: { entries: 0 } },
    ]);
    writeFileSync(join(work.home, 'lookfirst.json'), '{"jornal":{}}');
    const ran = await lookfirst(work, ['gc']);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('did you mean "journal"? [CONFIG_INVALID]');
  });

  it('removes leftovers of dead processes once they are old', async () => {
    const work = await oldDesk();
    const folder = join(work.home, 'retained');
    mkdirSync(folder, { recursive: true });
    const leftover = join(folder, `${OLD}-${randomUUID()}`);
    writeFileSync(leftover, 'left over\n');
    // `gc` takes the ctime as the age of this file, and `utimes` cannot set that back. So the
    // second `gc` below gets a short retention.
    utimesSync(leftover, new Date(OLD), new Date(OLD));
    await lookfirst(work, ['gc']);
    expect(existsSync(leftover)).toBe(true);
    const [done] = objects(await lookfirst(work, ['gc', '--json', '--older-than', '0.001s']));
    expect(done).toMatchObject({ removed: { leftovers: { count: 1, bytes: 10 } } });
    expect(existsSync(leftover)).toBe(false);
  });
});
