import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ServerProcess } from '../../src/cli/server-process.ts';
import { openStore } from '../../src/store/open-state.ts';
import { environment, lookfirst, objects, PROGRAM, timeless } from '../support/command-line.ts';
import { type Desk, desk, ok } from '../support/desk.ts';

/** A file that a session has changed twice, and another that it has created. */
async function changedDesk(): Promise<Desk & { readonly changes: readonly string[] }> {
  const work = await desk({ session: 'agent-7' });
  await work.put('a.txt', 'one\n');
  await ok(work.session.read('a.txt'));
  const changes = [];
  for (const text of ['two\n', 'three\n']) changes.push((await ok(work.session.write('a.txt', text))).change);
  changes.push((await ok(work.session.write('new/b.txt', 'b\n'))).change);
  return { ...work, changes: changes.map(String) };
}

describe('lookfirst undo', () => {
  it('undoes the newest change, then the next older one', async () => {
    const work = await changedDesk();
    const first = await lookfirst(work, ['undo']);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout.replace(/c[0-9a-f]{10}/, 'ID')).toBe(
      'took back 1 change:\n  removed     new/b.txt\n  removed     new\nlookfirst undo ID reverts this undo\n',
    );
    expect(existsSync(join(work.root, 'new'))).toBe(false);
    expect((await lookfirst(work, ['undo'])).code).toBe(0);
    expect(work.text('a.txt')).toBe('two\n');
  });

  it('works under a policy that forbids sessions every change, because the user started it', async () => {
    const work = await changedDesk();
    writeFileSync(join(work.home, 'lookfirst.json'), '{ "readOnly": true }');
    expect(await lookfirst(work, ['undo'])).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(join(work.root, 'new'))).toBe(false);
  });

  it('with --read-only, only shows what it would do', async () => {
    const work = await changedDesk();
    const [kept, dry] = [
      await lookfirst(work, ['undo', '--read-only']),
      await lookfirst(work, ['undo', '--dry-run']),
    ];
    expect({ ...kept, stdout: timeless(kept.stdout) }).toEqual({ ...dry, stdout: timeless(dry.stdout) });
    expect(work.text('new/b.txt')).toBe('b\n');
  });

  it('undoes a change by its id from any folder, and redoes it by the id of the undo', async () => {
    const work = await changedDesk();
    const [result] = objects(
      await lookfirst(work, ['undo', work.changes[1] ?? '', '--json'], { cwd: work.outside }),
    );
    expect(result).toEqual({
      ok: true,
      dryRun: false,
      change: expect.stringMatching(/^c[0-9a-f]{10}$/),
      root: work.root,
      undid: [work.changes[1]],
      files: [{ path: 'a.txt', did: 'restored' }],
      diff: 'a.txt\n@@ -1 +1 @@\n-three\n+two',
    });
    expect(work.text('a.txt')).toBe('two\n');
    expect((await lookfirst(work, ['undo', String(result?.['change'])])).code).toBe(0);
    expect(work.text('a.txt')).toBe('three\n');
  });

  it('undoes all changes of a session, all since a time, or the last one of a file', async () => {
    const work = await changedDesk();
    expect((await lookfirst(work, ['undo', '--path', 'a.txt'])).code).toBe(0);
    expect([work.text('a.txt'), work.text('new/b.txt')]).toEqual(['two\n', 'b\n']);
    const [result] = objects(
      await lookfirst(work, ['undo', '--session', 'agent-7', '--since', '1h', '--json']),
    );
    expect(result).toMatchObject({ undid: [work.changes[2], work.changes[0]] });
    expect(work.text('a.txt')).toBe('one\n');
    expect(existsSync(join(work.root, 'new'))).toBe(false);
  });

  it('with --dry-run, shows what it would do and changes nothing', async () => {
    const work = await changedDesk();
    const { code, stdout } = await lookfirst(work, ['undo', '--dry-run', '--path', 'a.txt']);
    expect(code).toBe(0);
    expect(timeless(stdout).split('\n')).toEqual([
      'would take back 1 change:',
      '  ID|overwrite a.txt by agent-7, just now',
      'the files would be:',
      '  restored|a.txt',
      'a.txt',
      '@@ -1 +1 @@',
      '-three',
      '+two',
      '',
    ]);
    expect(work.text('a.txt')).toBe('three\n');
  });

  it('shows paths relative to the current folder', async () => {
    const work = await changedDesk();
    const [, second = '', third = ''] = work.changes;
    const below = await lookfirst(work, ['undo', third, '--dry-run'], { cwd: join(work.root, 'new') });
    expect(below.stdout).toMatch(
      /^ {2}\S+ {2}create b\.txt by .*\nthe files would be:\n {2}removed {5}b\.txt\n {2}removed {5}\.\n/m,
    );
    const above = await lookfirst(work, ['undo', second], { cwd: work.base });
    expect(above.stdout).toContain('\n  restored    root/a.txt\n');
  });

  it('refuses with the diff if the file was changed since, and merges with --merge', async () => {
    const work = await desk({ session: 'agent-7' });
    await work.put('a.txt', '1\n2\n3\n4\n5\n6\n7\n');
    await ok(work.session.read('a.txt'));
    const { change = '' } = await ok(work.session.edit('a.txt', [{ oldString: '1\n', newString: 'one\n' }]));
    // Close the session, so that the written text is stored at once. The command line needs it for
    // the diff.
    await work.session.close();
    await work.put('a.txt', 'one\n2\n3\n4\n5\n6\nseven\n');
    const refused = await lookfirst(work, ['undo', change]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^lookfirst: refusing to undo changes to a\.txt: it was changed since that change \[STALE\]\n/,
    );
    expect(refused.stderr).toContain('-7\n+seven');
    expect(refused.stderr).toContain('--merge');
    expect(work.text('a.txt')).toBe('one\n2\n3\n4\n5\n6\nseven\n');
    const program = await lookfirst(work, ['undo', change, '--json']);
    expect(program.code).toBe(2);
    expect(objects(program)).toMatchObject([{ ok: false, code: 'STALE', path: 'a.txt' }]);
    expect((await lookfirst(work, ['undo', change, '--merge'])).code).toBe(0);
    expect(work.text('a.txt')).toBe('1\n2\n3\n4\n5\n6\nseven\n');
  });

  it.each([
    ['an unknown change', ['undo', 'c0000000000'], 2, 'there is no change c0000000000 [NOT_FOUND]'],
    [
      'an undo without further changes',
      ['undo', '--path', 'none.txt'],
      2,
      'there is no change here to undo [NOT_FOUND]',
    ],
    ['a folder', ['undo', '--path', 'new'], 64, 'new is a folder'],
    ['an unknown flag', ['undo', '--mrge'], 64, 'Did you mean --merge?'],
  ])('refuses %s', async (_what, args, code, words) => {
    const work = await changedDesk();
    const ran = await lookfirst(work, args);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(words);
    expect(work.text('a.txt')).toBe('three\n');
  });

  it('does not offer a merge where none is possible', async () => {
    const work = await desk({ session: 'agent-7' });
    await ok(work.session.mkdir('d'));
    await work.put('d/theirs.txt', 'theirs\n');
    const { code, stderr } = await lookfirst(work, ['undo']);
    expect(code).toBe(2);
    expect(stderr).toContain('another program or session has put something into it');
    expect(stderr).not.toContain('--merge');
  });

  it.each([
    ['creation of a file', '', 'one\n'],
    ['edit of a line that was changed again', 'zero\n', 'one\n'],
  ])('does not offer a merge for the %s', async (_what, before, after) => {
    const work = await desk({ session: 'agent-7' });
    if (before !== '') await work.put('a.txt', before);
    if (before !== '') await ok(work.session.read('a.txt'));
    await ok(work.session.write('a.txt', after));
    await work.session.close();
    await work.put('a.txt', 'two\n');
    const refused = await lookfirst(work, ['undo']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('[STALE]') });
    expect(refused.stderr).not.toContain('--merge');
    expect((await lookfirst(work, ['undo', '--merge'])).code).toBe(2);
    expect(work.text('a.txt')).toBe('two\n');
  });

  it('leaves no session behind, and appears in the journal', async () => {
    const work = await changedDesk();
    await lookfirst(work, ['undo']);
    const sessions = objects(await lookfirst(work, ['sessions', '--json', '--all']));
    expect(sessions.map((session) => session['id'])).toEqual(['agent-7']);
    const store = await openStore(`sqlite:${join(work.home, 'lookfirst.db')}`);
    expect(await store.sightings('command-line')).toEqual([]);
    await store.close();
    const [entry] = objects(await lookfirst(work, ['log', '--json', '--limit', '1']));
    expect(entry).toMatchObject({
      kind: 'change',
      action: 'undo',
      session: 'command-line',
      undoes: work.changes[2],
    });
  });

  it('without arguments, undoes a change of the session that the environment names', async () => {
    const work = await changedDesk();
    const other = await work.open({ session: 'agent-8' });
    await ok(other.write('c.txt', 'c\n'));
    expect((await lookfirst(work, ['undo'], { env: { LOOKFIRST_SESSION: 'agent-7' } })).stdout).toContain(
      'new/b.txt',
    );
    expect(work.text('c.txt')).toBe('c\n');
  });

  it('undoes changes in every root of a change and in every workspace below the current folder', async () => {
    const work = await changedDesk();
    const wide = await work.open({ session: 'wide', roots: [work.root, work.outside] });
    const both = ['x.txt', join(work.outside, 'y.txt')];
    const { change = '' } = await ok(
      wide.apply(both.map((path) => ({ kind: 'write', path, content: 'new\n' }) as const)),
    );
    expect((await lookfirst(work, ['undo', change])).code).toBe(0);
    expect([existsSync(join(work.root, 'x.txt')), existsSync(join(work.outside, 'y.txt'))]).toEqual([
      false,
      false,
    ]);
    const elsewhere = await work.open({ session: 'elsewhere', roots: [work.outside] });
    await ok(elsewhere.write('z.txt', 'z\n'));
    const results = objects(await lookfirst(work, ['undo', '--since', '1h', '--json'], { cwd: work.base }));
    expect(results.map(({ root }) => root)).toEqual([work.outside, work.root]);
    expect(work.text('a.txt')).toBe('one\n');
    expect(existsSync(join(work.outside, 'z.txt'))).toBe(false);
  });

  it('leaves out workspaces whose changes are all undone already', async () => {
    const work = await changedDesk();
    const elsewhere = await work.open({ session: 'elsewhere', roots: [work.outside] });
    await ok(elsewhere.write('z.txt', 'z\n'));
    await ok(elsewhere.undo({}));
    const since = ['undo', '--since', '1h'];
    expect(await lookfirst(work, since, { cwd: work.base })).toMatchObject({ code: 0, stderr: '' });
    expect(work.text('a.txt')).toBe('one\n');
    expect(await lookfirst(work, since, { cwd: work.base })).toMatchObject({ code: 2 });
  });

  it('continues with other workspaces if one is missing, and ends with 1', async () => {
    const work = await changedDesk();
    const gone = join(work.base, 'gone');
    mkdirSync(gone);
    const other = await work.open({ roots: [gone], session: 'agent-8' });
    await ok(other.write('c.txt', 'c\n'));
    await other.close();
    rmSync(gone, { recursive: true });
    const { code, stderr } = await lookfirst(work, ['undo', '--all', '--since', '1h']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^lookfirst: .*gone \[CONFIG_INVALID\]\n$/)]);
    expect(work.text('a.txt')).toBe('one\n');
  });

  it('works beside a running server, whose agent then gets a notice', async () => {
    const work = await desk({ session: 'someone' });
    await work.put('a.txt', 'one\n');
    const command = [...PROGRAM, 'serve', work.root, '--session', 'agent-7'];
    const server = await ServerProcess.start(command, environment(work));
    onTestFinished(() => server.stop());
    await server.call('read_file', { path: 'a.txt' });
    const written = await server.call('write_file', { path: 'a.txt', content: 'two\n' });
    expect(await lookfirst(work, ['undo', written.change ?? ''])).toMatchObject({ code: 0 });
    expect(readFileSync(join(work.root, 'a.txt'), 'utf8')).toBe('one\n');
    // The undo restored bytes that the agent had seen before its write. So the agent may write
    // without another read, and the answer says why.
    const again = await server.call('write_file', { path: 'a.txt', content: 'three\n' });
    expect(again).toMatchObject({ ok: true });
    expect(again.text).toContain('had changed back to content');
  });
});

/** The program that runs a command on a terminal of its own. */
const TERMINAL = 'script';
const hasTerminal = spawnSync(TERMINAL, ['--version']).status === 0;

describe.skipIf(!hasTerminal)('lookfirst undo on a terminal', () => {
  function onTerminal(
    work: Desk,
    answer: string,
    ...flags: string[]
  ): { code: number | null; shown: string } {
    const command = [...PROGRAM, 'undo', '--session', 'agent-7', ...flags]
      .map((word) => `'${word}'`)
      .join(' ');
    const options = { cwd: work.root, env: environment(work), input: answer, encoding: 'utf8' } as const;
    const { status, stdout } = spawnSync(TERMINAL, ['-qec', command, '/dev/null'], options);
    return { code: status, shown: stdout };
  }

  it('asks before it undoes several changes, and proceeds only if the answer is y', async () => {
    const work = await changedDesk();
    const no = onTerminal(work, 'n\n');
    expect(no.shown).toContain('Take back 3 changes? [y/N]');
    expect(no.code).toBe(2);
    expect(work.text('a.txt')).toBe('three\n');
    expect(onTerminal(work, 'y\n').code).toBe(0);
    expect(work.text('a.txt')).toBe('one\n');
  });

  it('does not ask with --yes, nor for a single change', async () => {
    const work = await changedDesk();
    expect(onTerminal(work, '', '--path', 'new/b.txt')).toMatchObject({
      code: 0,
      shown: expect.not.stringContaining('[y/N]'),
    });
    expect(onTerminal(work, '', '--yes')).toMatchObject({
      code: 0,
      shown: expect.not.stringContaining('[y/N]'),
    });
    expect(work.text('a.txt')).toBe('one\n');
  });

  it('colours its output on a terminal only, and not with NO_COLOR', async () => {
    const work = await changedDesk();
    const painted = '\u001b[32m+';
    expect(onTerminal(work, '', '--dry-run').shown).toContain(painted);
    const plain = await lookfirst(work, ['undo', '--session', 'agent-7', '--dry-run']);
    expect(plain.stdout).not.toContain('\u001b');
    const command = [...PROGRAM, 'undo', '--session', 'agent-7', '--dry-run'].join(' ');
    const env = environment(work, { NO_COLOR: '1' });
    const { stdout } = spawnSync(TERMINAL, ['-qec', command, '/dev/null'], {
      cwd: work.root,
      env,
      encoding: 'utf8',
    });
    expect(stdout).toContain('+one');
    expect(stdout).not.toContain('\u001b');
  });

  it('cuts tables to the width of the terminal', async () => {
    const work = await changedDesk();
    await ok(work.session.write(`${'long-name-'.repeat(12)}.txt`, 'x\n'));
    const command = `stty cols 60; ${[...PROGRAM, 'log'].join(' ')}`;
    const options = { cwd: work.root, env: environment(work, { NO_COLOR: '1' }), encoding: 'utf8' } as const;
    const lines = spawnSync(TERMINAL, ['-qec', command, '/dev/null'], options)
      .stdout.trimEnd()
      .split(/\r?\n/);
    expect(lines.length).toBe(7);
    expect(lines.filter((line) => [...line].length > 60)).toEqual([]);
    expect(lines[1]).toMatch(/^(just now|\d+s ago) +create +….*-\.txt {2}\+1 -0/);
  });
});
