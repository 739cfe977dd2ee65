import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/report/explain.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import {
  base,
  here,
  open,
  put,
  ran,
  refusedRun,
  root,
  runBeside,
  session,
  sessions,
  text,
  useWorkspace,
} from '../support/command-workspace.ts';
import { treeOf } from '../support/tree-of.ts';

useWorkspace();

const BAD_CONFIG = 'git init -q; git config core.fsmonitor x;';

describe.skipIf(here === undefined)('a command is refused if it changes', () => {
  it.each<[string, string]>([
    ['a protected file', 'echo x > id_rsa'],
    ['a git hook', 'mkdir -p .git/hooks; echo x > .git/hooks/pre-commit'],
    ['a program in git configuration', 'mkdir -p .git; printf "[core]\\n\\thooksPath = x\\n" > .git/config'],
    ['a program in git configuration that is not UTF-8', `${BAD_CONFIG} printf '# \\377\\n' >> .git/config`],
    ['a program in a long git configuration', `${BAD_CONFIG} yes '# x' | head -c 9000000 >> .git/config`],
    [
      'a program below two headings of a line',
      'mkdir .git; printf "[user][core]\\nfsmonitor = x" > .git/config',
    ],
    ['a program after a comment', `mkdir .git; printf '%s\\n' '# \\' '[core]' 'fsmonitor = x' > .git/config`],
    ['the folder of git by a link', `${BAD_CONFIG} mv .git other; ln -s other .git`],
    ['the folder of git by a file', `${BAD_CONFIG} mv .git other; echo 'gitdir: other' > .git`],
    ['the configuration of git by a link', `${BAD_CONFIG} mv .git/config other; ln -s ../other .git/config`],
    ['the common folder of git', `${BAD_CONFIG} mv .git other; git init -q; echo ../other > .git/commondir`],
    [
      'the configuration of an agent',
      'mkdir .claude; echo \'{"disableAllHooks":true}\' > .claude/settings.json',
    ],
    ['a folder with a protected file', 'rm -r keys'],
  ])('%s', async (_what, command) => {
    put('keys/id_rsa', 'secret');
    expect(await refusedRun(command)).toMatchObject({ code: 'PROTECTED' });
    expect(treeOf(root)).toMatchObject({ 'keys/id_rsa': expect.anything() });
    expect(readdirSync(root)).toEqual(['keys']);
    expect(readdirSync(join(base, 'state', 'layers'))).toEqual([]);
  });

  it('a protected path, unless the policy trusts commands with it', async () => {
    await open({ commands: { trust: ['.claude/**'] } });
    await ran('mkdir .claude; echo \'{"disableAllHooks":true}\' > .claude/settings.json');
    expect(text('.claude/settings.json')).toBe('{"disableAllHooks":true}\n');
  });

  it('a file without write permission', async () => {
    put('a', 'a\n');
    chmodSync(join(root, 'a'), 0o444);
    expect(await refusedRun('rm -f a; echo x > a')).toMatchObject({ code: 'READ_ONLY', path: 'a' });
    expect(text('a')).toBe('a\n');
  });

  it('anything in a read-only session', async () => {
    await open({ readOnly: true });
    expect(await refusedRun('echo x > a')).toMatchObject({ code: 'READ_ONLY' });
    expect(await ran('true')).toMatchObject({ exitCode: 0 });
  });

  it('anything in a read-only folder', async () => {
    mkdirSync(join(root, 'ro'));
    await open({}, [join(root, 'ro')]);
    expect(await refusedRun('echo x > ro/f')).toMatchObject({ code: 'READ_ONLY', path: 'ro/f' });
  });

  it('a file to more than the allowed size', async () => {
    await open({ commands: { fileBytes: 1000 } });
    expect(await refusedRun('head -c 2000 /dev/zero > a', { profile: 'undo' })).toMatchObject({
      code: 'TOO_LARGE',
    });
  });
});

describe.skipIf(here === undefined)('a change of another writer', () => {
  const LINES = 'one\ntwo\nthree\nfour\nfive\n';
  const REMOVED = 'another program removed it while the command ran';

  it('in another part of the file is merged', async () => {
    put('a', LINES);
    await session.read('a');
    const outcome = await runBeside('sed -i s/one/ONE/ a', () => put('a', LINES.replace('five', 'FIVE')));
    expect(outcome).toMatchObject({ ok: true, merged: ['a'] });
    expect(text('a')).toBe(LINES.replace('one', 'ONE').replace('five', 'FIVE'));
    await session.undo({});
    expect(text('a')).toBe(LINES.replace('five', 'FIVE'));
  });

  it('that removes the folder of a changed file is not reverted', async () => {
    put('d/a', LINES);
    put('d/sub/b', LINES);
    const outcome = await runBeside('echo six >> d/a; echo six >> d/sub/b', () =>
      rmSync(join(root, 'd'), { recursive: true }),
    );
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { code: 'COMMAND_CONFLICT', path: 'd/a', detail: { reason: REMOVED } },
    });
    expect(readdirSync(root)).toEqual([]);
  });

  it('that removes a folder in which the command changed nothing in the end is not reverted', async () => {
    put('d/a', LINES);
    const outcome = await runBeside('echo x > d/temp; rm d/temp; echo y > b', () =>
      rmSync(join(root, 'd'), { recursive: true }),
    );
    expect(outcome).toMatchObject({ ok: true, files: [{ path: 'b' }] });
    expect(readdirSync(root)).toEqual(['b']);
  });

  it.each([
    ['moved', 'mv a b'],
    ['moved and changed', 'mv a b; echo six >> b'],
    ['moved to a new folder', 'mkdir n; mv a n/b'],
    ['moved, and made again', 'mv a b; echo new > a'],
    ['linked', 'ln a b'],
  ])('beside a file that was %s is no conflict', async (_how, command) => {
    put('a', LINES);
    const plain = join(base, 'plain');
    mkdirSync(plain);
    execFileSync('sh', ['-c', `cp "$0/a" .; ${command}; echo new > other`, root], { cwd: plain });
    expect(await runBeside(command, () => put('other', 'new\n'))).toMatchObject({ ok: true });
    expect(treeOf(root)).toEqual(treeOf(plain));
  });

  it('of another session is merged, although no session has read the file', async () => {
    put('a', LINES);
    const other = await sessions.session('other');
    const outcome = await runBeside('sed -i s/one/ONE/ a', () => other.run('sed -i s/five/FIVE/ a'));
    expect(outcome).toMatchObject({ ok: true, merged: ['a'] });
    expect(text('a')).toBe(LINES.replace('one', 'ONE').replace('five', 'FIVE'));
  });

  it('of another session between two commands does not make lines of this session count as host', async () => {
    put('a', LINES);
    const other = await sessions.session('other');
    for (const [from, to] of ['12', '23', '34']) {
      await ran(`sed -i 's/^one.*/one ${to}/' a`);
      await other.run(`sed -i 's/^five.*/five ${from}/' a`);
    }
    expect(text('a')).toBe('one 4\ntwo\nthree\nfour\nfive 3\n');
  });

  it('of another session in the same line is a conflict, although no session has read the file', async () => {
    put('a', LINES);
    const other = await sessions.session('other');
    const outcome = await runBeside('sed -i s/one/ONE/ a', () => other.run('sed -i s/one/uno/ a'));
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'COMMAND_CONFLICT' } });
    expect(text('a')).toBe(LINES.replace('one', 'uno'));
  });

  it('does not make a merge drop lines that the command wrote before, that were reverted, and that it writes again', async () => {
    put('a', LINES);
    await ran('sed -i s/one/ONE/ a');
    put('a', LINES);
    const again = await runBeside('sed -i s/one/ONE/ a', () => put('a', LINES.replace('five', 'FIVE')));
    expect(again).toMatchObject({ ok: false, refusal: { code: 'COMMAND_CONFLICT' } });
    rmSync(join(base, 'go'));
    put('a', LINES);
    const other = await sessions.session('other');
    const merged = await runBeside('sed -i s/one/ONE/ a', () => other.run('sed -i s/five/FIVE/ a'));
    expect(merged).toMatchObject({ ok: true, merged: ['a'] });
    expect(text('a')).toBe(LINES.replace('one', 'ONE').replace('five', 'FIVE'));
  });

  const edit = async (of: GatedSession, from: string, to: string): Promise<void> => {
    await of.read('a');
    expect(await of.edit('a', [{ oldString: from, newString: to }])).toMatchObject({ ok: true });
  };
  const ALL = LINES.replace('one', 'ONE').replace('three', 'THREE').replace('five', 'FIVE');

  it("is merged with a session's change after it, if the command's session knows the earlier text", async () => {
    put('a', LINES);
    await session.read('a');
    const other = await sessions.session('other');
    const outcome = await runBeside('sed -i s/one/ONE/ a', async () => {
      put('a', LINES.replace('five', 'FIVE'));
      await edit(other, 'three', 'THREE');
    });
    expect(outcome).toMatchObject({ ok: true, merged: ['a'] });
    expect(text('a')).toBe(ALL);
  });

  it('is merged with an earlier change by a session, although no session has read the file before', async () => {
    put('a', LINES);
    const other = await sessions.session('other');
    const outcome = await runBeside('sed -i s/one/ONE/ a', async () => {
      await edit(other, 'three', 'THREE');
      put('a', LINES.replace('three', 'THREE').replace('five', 'FIVE'));
    });
    expect(outcome).toMatchObject({ ok: true, merged: ['a'] });
    expect(text('a')).toBe(ALL);
  });

  it("is a conflict if it comes before a session's change, and no session knows the earlier text", async () => {
    put('a', LINES);
    const other = await sessions.session('other');
    const outcome = await runBeside('sed -i s/one/ONE/ a', async () => {
      put('a', LINES.replace('five', 'FIVE'));
      await edit(other, 'three', 'THREE');
    });
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'COMMAND_CONFLICT' } });
    expect(text('a')).toBe(LINES.replace('three', 'THREE').replace('five', 'FIVE'));
  });

  it('is a conflict if the session read the file only after that change', async () => {
    put('a', LINES);
    const outcome = await runBeside('sed -i s/one/ONE/ a', async () => {
      put('a', LINES.replace('five', 'FIVE'));
      await session.read('a');
    });
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'COMMAND_CONFLICT' } });
    expect(text('a')).toBe(LINES.replace('five', 'FIVE'));
  });

  it.each(['write', 'edit', 'undo', 'move', 'run'] as const)('by %s of a session is merged', async (how) => {
    put('a', LINES.replace('five', 'FIVE'));
    await ran('sed -i s/FIVE/five/ a');
    const writer = how === 'undo' ? session : await sessions.session('other');
    const new5 = LINES.replace('five', 'FIVE');
    const outcome = await runBeside('sed -i s/one/ONE/ a', async () => {
      if (how === 'edit') return edit(writer, 'five', 'FIVE');
      await writer.read('a');
      if (how === 'write') return writer.write('a', new5);
      if (how === 'undo') return writer.undo({});
      if (how === 'run') return writer.run('sed -i s/five/FIVE/ a');
      await writer.write('b', new5);
      return writer.move('b', 'a', { overwrite: true });
    });
    expect(outcome).toMatchObject({ ok: true, merged: ['a'] });
    expect(text('a')).toBe(new5.replace('one', 'ONE'));
  });

  it('announced before the command and made while it runs is not dropped', async () => {
    put('a', LINES);
    const slow = await Sessions.open({
      roots: [root],
      home: join(base, 'state'),
      now: () => Date.now() - 5000,
    });
    const outcome = await runBeside('sed -i s/one/ONE/ a', async () => {
      await edit(await slow.session('slow'), 'five', 'FIVE');
      await slow.close();
    });
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'COMMAND_CONFLICT' } });
    expect(text('a')).toBe(LINES.replace('five', 'FIVE'));
  });

  it.each<[string, string, () => void]>([
    ['changed the same line', 'sed -i s/one/ONE/ a', () => put('a', LINES.replace('one', 'uno'))],
    ['changed a file that the command removed', 'rm a', () => put('a', LINES.replace('one', 'uno'))],
    ['removed a file that the command changed', 'echo six >> a', () => rmSync(join(root, 'a'))],
    ['made a file that the command made', 'echo x > n', () => put('n', 'theirs\n')],
    ['added a file to a folder that the command removed', 'rm -r d', () => put('d/new', 'theirs\n')],
  ])('that %s is a conflict', async (_what, command, write) => {
    put('a', LINES);
    put('d/f', 'f\n');
    await session.read('a');
    const outcome = await runBeside(command, write);
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { code: 'COMMAND_CONFLICT', detail: { output: 'ready\n' } },
    });
    const after = treeOf(root);
    const layer = outcome.ok ? '' : (outcome.refusal.detail?.layer ?? '');
    expect(await session.run({ kept: 'c0' })).toMatchObject({ ok: false });
    expect(await session.run({ kept: layer })).toMatchObject({ ok: true, change: layer });
    const reason = `change ${layer} was committed already; lookfirst undo ${layer} takes it back`;
    expect(await session.run({ kept: layer })).toMatchObject({
      ok: false,
      refusal: { code: 'NOT_FOUND', detail: { reason } },
    });
    expect(treeOf(root)).not.toEqual(after);
    await session.undo({ change: layer });
    expect(treeOf(root)).toEqual(after);
    expect(readdirSync(join(base, 'state', 'layers'))).toEqual([]);
  });

  it('to other files is no conflict', async () => {
    put('a', LINES);
    const outcome = await runBeside('sed -i s/one/ONE/ a', () => put('b', 'theirs\n'));
    expect(outcome).toMatchObject({ ok: true });
    expect(text('b')).toBe('theirs\n');
  });

  it('that the session has not seen is never dropped', async () => {
    put('a', LINES);
    await session.read('a');
    put('a', LINES.replace('five', 'FIVE'));
    expect(await refusedRun(`printf 'ONE\\ntwo\\nthree\\nfour\\nfive\\n' > a`)).toMatchObject({
      code: 'COMMAND_CONFLICT',
      detail: { diff: expect.stringContaining('+FIVE') },
    });
    expect(text('a')).toBe(LINES.replace('five', 'FIVE'));
    await ran('sed -i s/one/ONE/ a');
    expect(text('a')).toBe(LINES.replace('one', 'ONE').replace('five', 'FIVE'));
  });

  it("is not assumed where the session's own command changed the file", async () => {
    put('a', LINES);
    await session.read('a');
    await ran('seq 1 1000 > a');
    await ran(`printf '${LINES.replaceAll('\n', '\\n')}' > a`);
    expect(text('a')).toBe(LINES);
  });

  it('matters under `partial: lines`: a command may change only files that were read', async () => {
    await open({ partial: 'lines' });
    put('a', LINES);
    expect(await refusedRun('echo x > a')).toMatchObject({ code: 'NOT_READ', path: 'a' });
    await session.read('a');
    await ran('echo x > a; echo y > new');
    expect(text('a')).toBe('x\n');
  });

  it('names at most 50 refused files under `partial: lines`, and counts the files that were not checked', async () => {
    await open({ partial: 'lines' });
    for (let at = 0; at < 60; at += 1) put(`f${at}`, LINES);
    const refusal = await refusedRun('for each in *; do echo x > $each; done');
    expect(refusal.detail?.refusals).toHaveLength(50);
    expect(explain(refusal, { nowMs: 0 })).toContain('- and 30 more; 10 other paths not checked');
  });

  it('is overwritten under `apply`', async () => {
    put('a', LINES);
    await session.read('a');
    put('a', LINES.replace('five', 'FIVE'));
    await ran('echo x > a', { writes: 'apply' });
    expect(text('a')).toBe('x\n');
  });
});

describe.skipIf(here === undefined)('secrets of a command', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;

  it('are masked in its output, in the kept output and in the diff', async () => {
    put('.env', 'API_KEY=very-private-42\nNAME=me\n');
    put('n.txt', 'x\n');
    const result = await ran(
      `cat .env; echo ${token}; echo key is very-private-42; echo "# note" >> .env; echo "t=${token}" > n.txt`,
    );
    expect(result.output.head).toBe('API_KEY=[masked]\nNAME=[masked]\n[masked]\nkey is [masked]\n');
    expect(JSON.stringify(result)).not.toMatch(/very-private|a1B2a1B2/);
    const long = await ran(`seq 20000; echo ${token}; cat .env; seq 20000`);
    const read = await session.read(long.output.path ?? '', { offset: 20_001, limit: 3 });
    expect(read).toMatchObject({ ok: true, text: '[masked]\nAPI_KEY=[masked]\nNAME=[masked]' });
  });

  it('are masked in its journal entry, whatever the policy shows', async () => {
    await open({ secrets: 'show' });
    const { change = '', output } = await ran(`echo ${token}; : > made.txt`);
    expect(output.head).toBe(`${token}\n`);
    const [entry] = await sessions.world.store.entries({ change, limit: 1 });
    expect(entry?.text).toBe('echo [masked]; : > made.txt');
  });

  it('are masked in a conflict, and in the command line of the kept layer', async () => {
    put('.env', 'A=first-value\n');
    const outcome = await runBeside(`: ${token}; echo B=2 > .env`, () => put('.env', 'A=other-value\n'));
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'COMMAND_CONFLICT' } });
    expect(JSON.stringify(outcome)).not.toMatch(/first-value|other-value/);
    const kept = readdirSync(join(base, 'state/layers')).map((id) =>
      readFileSync(join(base, 'state/layers', id, 'layer.json'), 'utf8'),
    );
    expect(kept).toHaveLength(1);
    expect(kept.join()).not.toContain(token);
  });

  it('do not count as seen if a diff shows them masked', async () => {
    await ran(`echo 'A=secret-one' > .env`);
    expect(await session.write('.env', 'A=[x]\n')).toMatchObject({ ok: false });
    expect(text('.env')).toBe('A=secret-one\n');
  });
});
