import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { desk, ok, refusal } from '../support/desk.ts';

describe('lookfirst allow', () => {
  it('lets running sessions change a file unread, until it is revoked', async () => {
    const t = await desk({ session: 'agent-7' });
    await t.put('a.txt', 'one\n');
    await refusal(t.session.write('a.txt', 'two\n'), 'NOT_READ');
    const allowed = await lookfirst(t, ['allow', 'a.txt', '--always']);
    expect(allowed).toMatchObject({ code: 0, stderr: '' });
    expect(allowed.stdout).toMatch(/^every session may change a\.txt without having read it\n/);
    const { notices } = await ok(t.session.write('a.txt', 'two\n'));
    expect(notices).toMatchObject([{ kind: 'bypassed' }]);
    expect(objects(await lookfirst(t, ['allow', '--list', '--json']))).toMatchObject([
      { id: expect.stringMatching(/^g[0-9a-f]{8}$/), path: `${t.root}/a.txt` },
    ]);
    expect((await lookfirst(t, ['allow', 'a.txt', '--revoke'])).code).toBe(0);
    await t.put('a.txt', 'by hand\n');
    await refusal(t.session.write('a.txt', 'three\n'), 'STALE');
    expect((await lookfirst(t, ['allow', 'a.txt', '--revoke'])).code).toBe(2);
    const kinds = objects(await lookfirst(t, ['log', '--json', '--kind', 'grant,bypass'])).map(
      ({ kind }) => kind,
    );
    expect(kinds).toEqual(['grant', 'bypass', 'grant']);
  });

  it('allows one change of a file by default, and is not listed afterwards', async () => {
    const t = await desk({ session: 'agent-7' });
    await t.put('dir/a.txt', 'one\n');
    await lookfirst(t, ['allow', 'dir/a.txt']);
    expect((await lookfirst(t, ['allow', '--list'])).stdout).toMatch(
      / dir\/a\.txt +every session +one +g[0-9a-f]{8}/,
    );
    const others = [t.session, await t.open({ session: 'other' }), await t.open({ session: 'third' })];
    const tries = await Promise.all(others.map((session) => session.write('dir/a.txt', `${session.id}\n`)));
    expect(tries.filter(({ ok: done }) => done)).toHaveLength(1);
    expect((await lookfirst(t, ['allow', '--list'])).stdout).toBe('');
  });

  it('ends after the time of --for', async () => {
    const t = await desk({ session: 'agent-7' });
    await t.put('a.txt', 'one\n');
    const { stdout } = await lookfirst(t, ['allow', 'a.txt', '--for', '1h']);
    expect(stdout).toMatch(/^every session may change a\.txt until \S+Z without having read it\n/);
    await ok(t.session.write('a.txt', 'two\n'));
    await lookfirst(t, ['allow', 'a.txt', '--revoke']);
    await lookfirst(t, ['allow', 'a.txt', '--for', '0s']);
    await t.put('a.txt', 'by hand\n');
    await refusal(t.session.write('a.txt', 'three\n'), 'STALE');
    expect((await lookfirst(t, ['allow', '--list'])).stdout).toBe('');
  });

  it('applies to one session if --session names it', async () => {
    const t = await desk({ session: 'agent-7' });
    await t.put('a.txt', 'one\n');
    await lookfirst(t, ['allow', 'a.txt', '--session', 'other']);
    await refusal(t.session.write('a.txt', 'two\n'), 'NOT_READ');
    const other = await t.open({ session: 'other' });
    await ok(other.write('a.txt', 'two\n'));
  });

  it('says so if the path does not exist yet', async () => {
    const t = await desk();
    expect(await lookfirst(t, ['allow', 'typo.txt'])).toMatchObject({
      code: 0,
      stderr: 'there is nothing at typo.txt yet\n',
    });
  });

  it('refuses to run for an agent, and journals the attempt', async () => {
    const t = await desk({ session: 'agent-7' });
    await t.put('a.txt', 'one\n');
    const env = { CLAUDECODE: '1' };
    const tried = await lookfirst(t, ['allow', 'a.txt'], { env });
    expect(tried).toMatchObject({ code: 2, stdout: '' });
    expect(tried.stderr).toMatch(/is for the user.*\[PROTECTED\]/);
    await refusal(t.session.write('a.txt', 'two\n'), 'NOT_READ');
    expect((await lookfirst(t, ['log', '--kind', 'notice'])).stdout).toContain('an agent started it');
    expect((await lookfirst(t, ['allow', '--list'], { env })).code).toBe(0);
    const operator = { ...env, LOOKFIRST_OPERATOR: '1' };
    expect((await lookfirst(t, ['allow', 'a.txt'], { env: operator })).code).toBe(0);
  });

  it.each([
    ['the root', '/'],
    ['the root, by a relative path', '../'.repeat(50)],
    ['the home folder', 'HOME'],
    ['a link to the home folder', 'link'],
    ['a folder around the home folder', 'HOME/..'],
  ])('needs --yes for %s without a terminal', async (_, given) => {
    const t = await desk({ session: 'agent-7' });
    await t.put('a.txt', 'one\n');
    const home = join(t.base, 'user');
    mkdirSync(home);
    symlinkSync(home, join(t.root, 'link'));
    const path = given.replace('HOME', home);
    const run = (...args: string[]) =>
      lookfirst(t, ['allow', path, '--always', ...args], { env: { HOME: home } });
    const tried = await run();
    expect(tried).toMatchObject({ code: 2, stdout: '' });
    expect(tried.stderr).toContain('--yes');
    expect(objects({ ...(await run('--json')), code: 0 })).toMatchObject([
      { ok: false, code: 'INVALID_ARGUMENT' },
    ]);
    expect((await lookfirst(t, ['allow', '--list', '--all'])).stdout).toBe('');
    await refusal(t.session.write('a.txt', 'two\n'), 'NOT_READ');
    expect((await run('--yes')).code).toBe(0);
    expect((await run('--revoke')).code).toBe(0);
  });

  it('allows a folder inside the home folder without a question', async () => {
    const t = await desk();
    expect((await lookfirst(t, ['allow', '.', '--always'], { env: { HOME: t.base } })).code).toBe(0);
  });

  it.each([
    [[]],
    [['a.txt', '--list']],
    [['--list', '--revoke']],
    [['.', '--once']],
    [['.']],
    [['a.txt', '--once', '--always']],
  ])('rejects the arguments %j', async (args) => {
    expect((await lookfirst(await desk(), ['allow', ...args])).code).toBe(64);
  });
});
