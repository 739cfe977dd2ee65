import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, it } from 'vitest';
import { shellScript } from '../../src/cli/clients/hook-scripts.ts';
import { quotedWord } from '../../src/report/bounded.ts';
import {
  environment,
  lookfirst,
  objects,
  ordinaryProgram,
  PROGRAM,
  scriptPlaces,
} from '../support/command-line.ts';
import { FEW_FILES, killRuns, MANY_FILES } from '../support/killed-run.ts';
import { giveAway, ORDINARY } from '../support/nobody.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const here = await sandboxHere();

let places: Scratch;
beforeEach(() => {
  places = scratch();
  writeFileSync(join(places.root, 'a.txt'), 'one\n');
});

const text = (path: string): string => readFileSync(join(places.root, path), 'utf8');

describe('run_command', () => {
  it('is offered only with --allow-commands', async () => {
    const names = async (args: readonly string[]) => {
      const served = await Served.here(places, args);
      return (await served.tools()).map(({ name }) => name);
    };
    expect(await names([])).not.toContain('run_command');
    expect(await names(['--allow-commands'])).toContain('run_command');
    expect(await names(['--allow-commands', '--dialect', 'sandbox'])).toContain('Bash');
    expect(await names(['--allow-commands', '--read-only'])).not.toContain('run_command');
  });

  it.skipIf(here === undefined)('reports one change, which undo_change takes back', async () => {
    const served = await Served.start(places, ['--allow-commands']);
    const ran = await served.call('run_command', {
      command: 'echo hello; echo two > a.txt; mkdir d; echo x > d/x',
    });
    expect(ran.text.replace(/c[0-9a-f]{10}/, 'ID')).toBe(
      [
        'exit code 0',
        'hello',
        'changed 2 paths:',
        '- changed a.txt (+1 -1)',
        '@@ -1 +1 @@',
        '-one',
        '+two',
        '- created d/x (+1 -0)',
        '@@ -0,0 +1 @@',
        '+x',
        '[change ID, which can be undone]',
      ].join('\n'),
    );
    expect(ran.outcome).toMatchObject({ ok: true, changed: true, change: expect.stringMatching(/^c/) });
    await served.call('undo_change', { change: ran.outcome['change'] });
    expect([text('a.txt'), readdirSync(places.root)]).toEqual(['one\n', ['a.txt']]);
  });

  it.skipIf(here === undefined)('names the processes that it left running and that were ended', async () => {
    const served = await Served.here(places, ['--allow-commands']);
    const ran = await served.call('run_command', { command: 'sleep 1000 & echo two > a.txt' });
    expect(ran.text).toContain('The command left processes running. They were ended: `sleep 1000`.');
    expect([text('a.txt'), ran.outcome['ok']]).toEqual(['two\n', true]);
  });

  it.skipIf(here === undefined)('is ended by a cancellation, and then changes nothing', async () => {
    const served = await Served.here(places, ['--allow-commands']);
    const { client } = served;
    const params = { name: 'run_command', arguments: { command: 'echo begun; echo x > a.txt; sleep 1000' } };
    client.send({
      jsonrpc: '2.0',
      id: 'long',
      method: 'tools/call',
      params: { ...params, _meta: { progressToken: 'p' } },
    });
    await client.next(
      (message) =>
        message.method === 'notifications/progress' && /bytes/.test(String(message.params?.['message'])),
    );
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'long' } });
    await expect.poll(() => readdirSync(join(places.home, 'layers'))).toEqual([]);
    expect(text('a.txt')).toBe('one\n');
  });

  it.skipIf(here === undefined)(
    'shows part of a long output, and the whole of it through read_file',
    async () => {
      const served = await Served.here(places, ['--allow-commands']);
      const { text: shown } = await served.call('run_command', { command: 'seq 1 100000' });
      const path = /read_file \{"path":"(lookfirst-output:[^"]+)"\}/.exec(shown)?.[1];
      const page = await served.call('read_file', { path, offset: 60_000, limit: 1 });
      expect(page.text).toContain('60000\t60000');
    },
  );
});

describe.skipIf(here === undefined)('lookfirst run', () => {
  it('ends with the exit code of the command, and undo takes it back', async () => {
    const ran = await lookfirst(places, [
      'run',
      '--',
      'sh',
      '-c',
      'echo out; echo err >&2; echo two > a.txt; exit 7',
    ]);
    expect(ran).toMatchObject({ code: 7, stdout: 'out\n' });
    expect(ran.stderr).toMatch(/^err\nchanged 1 path:\n- changed a\.txt \(\+1 -1\)/);
    expect(text('a.txt')).toBe('two\n');
    const [entry] = objects(await lookfirst(places, ['log', '--kind', 'change', '--json']));
    expect(entry).toMatchObject({ action: 'run' });
    expect((await lookfirst(places, ['diff'])).stdout).toContain('+two');
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect(text('a.txt')).toBe('one\n');
  });

  it.each([['--dry-run'], ['--discard']])('changes nothing with %s', async (flag) => {
    const ran = await lookfirst(places, ['run', flag, '--', 'sh', '-c', 'echo two > a.txt']);
    expect(ran.code).toBe(0);
    expect(ran.stderr.includes('1 path would have changed:\n- changed a.txt')).toBe(flag === '--dry-run');
    expect(text('a.txt')).toBe('one\n');
  });

  it('commits and says nothing if the reader of its JSON has ended', () => {
    const words = [...PROGRAM, 'run', '--json', '--', 'sh', '-c', 'echo two > a.txt'];
    const command = words.map(quotedWord).join(' ');
    const options = { cwd: places.root, env: environment(places), encoding: 'utf8' } as const;
    const { stderr } = spawnSync('sh', ['-c', `${command} | true`], options);
    expect([stderr, text('a.txt')]).toEqual(['', 'two\n']);
  });

  it('hides the records from lookfirst itself, which says so', async () => {
    await lookfirst(places, ['run', '--', 'true']);
    for (const command of ['log', 'undo', 'status']) {
      const { code, stdout, stderr } = await lookfirst(places, ['run', '--', ...PROGRAM, command]);
      expect([code, stdout], command).toEqual([1, '']);
      expect(stderr, command).toMatch(
        /^lookfirst: the state folder is hidden from this command.* \[STORE_FAILED\]$/m,
      );
      expect(stderr, command).toContain('undo_change');
    }
    const env = { LOOKFIRST_HIDDEN_STATE: '/elsewhere' };
    expect(await lookfirst(places, ['log'], { env })).toMatchObject({ code: 0 });
  });

  it('tells a confined command that the state folder is hidden', async () => {
    const show = ['sh', '-c', 'echo "$LOOKFIRST_HIDDEN_STATE"'];
    const { stdout } = await lookfirst(places, ['run', '--confine', '--', ...show]);
    expect(stdout).toContain(places.home);
  });

  it.each([[[]], [['--discard']], [['--confine']]])(
    'names the processes that it ended: %o',
    async (flags) => {
      const line = 'nohup sleep 1000 > /dev/null 2>&1 &';
      const ran = await lookfirst(places, ['run', ...flags, '--', 'sh', '-c', line]);
      expect(ran).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('They were ended: `sleep 1000`.'),
      });
    },
  );

  it('names the processes that it ended, even if its writes are refused', async () => {
    const line = 'mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; sleep 1000 &';
    const ran = await lookfirst(places, ['run', '--', 'sh', '-c', line]);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('They were ended: `sleep 1000`.') });
  });

  it('ends with 127 if the program does not exist', async () => {
    expect(await lookfirst(places, ['run', '--', 'no-such-program'])).toMatchObject({ code: 127 });
  });

  it('is listed in the log without the processes that continue its session', async () => {
    for (let i = 0; i < 2; i++) await lookfirst(places, ['run', '--', 'sh', '-c', 'echo more >> a.txt']);
    const { stdout } = await lookfirst(places, ['log']);
    expect(stdout.match(/ (run|session) \w+/g)).toEqual([' run sh', ' run sh', ' session opened']);
  });

  it('ends with 2 when nothing is committed', async () => {
    const ran = await lookfirst(places, [
      'run',
      '--',
      'sh',
      '-c',
      `mkdir .claude; echo '{"disableAllHooks":true}' > .claude/settings.json`,
    ]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('[PROTECTED]');
    expect(existsSync(join(places.root, '.claude'))).toBe(false);
  });

  it('runs in the current folder, on the repository around it', async () => {
    mkdirSync(join(places.root, '.git'));
    mkdirSync(join(places.root, 'sub'));
    const ran = await lookfirst(places, ['run', '--', 'sh', '-c', 'echo two > ../a.txt; pwd'], {
      cwd: join(places.root, 'sub'),
    });
    expect(ran.stdout).toBe(`${join(places.root, 'sub')}\n`);
    expect(ran.stderr).toContain('changed ../a.txt');
    expect(text('a.txt')).toBe('two\n');
  });

  it('commits the kept writes of a refused command with --apply', async () => {
    const go = join(places.base, 'go');
    const running = lookfirst(places, [
      'run',
      '--json',
      '--',
      'sh',
      '-c',
      `echo mine > a.txt; : > '${go}.1'; while ! [ -e '${go}' ]; do sleep 0.01; done`,
    ]);
    await expect.poll(() => existsSync(`${go}.1`)).toBe(true);
    writeFileSync(join(places.root, 'a.txt'), 'theirs\n');
    writeFileSync(go, '');
    const ran = await running;
    expect(ran.code).toBe(2);
    const [refusal] = objects(ran);
    expect(refusal).toMatchObject({ code: 'COMMAND_CONFLICT' });
    const { layer = '' } = (refusal?.['detail'] ?? {}) as { layer?: string };
    expect(text('a.txt')).toBe('theirs\n');
    const elsewhere = await lookfirst(places, ['run', '--apply', layer], { cwd: places.outside });
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(`belong to ${places.root}`) });
    expect(await lookfirst(places, ['run', '--apply', layer])).toMatchObject({ code: 0 });
    expect(text('a.txt')).toBe('mine\n');
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect(text('a.txt')).toBe('theirs\n');
  });

  it('is ended by --timeout, and then changes nothing', async () => {
    const ran = await lookfirst(places, [
      'run',
      '--timeout',
      '1s',
      '--',
      'sh',
      '-c',
      'echo two > a.txt; sleep 1000',
    ]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('the command was stopped, and none of its changes were committed');
    expect(text('a.txt')).toBe('one\n');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('is ended by %s, and then changes nothing', async (signal) => {
    const [program = '', ...args] = PROGRAM;
    const running = spawn(
      program,
      [...args, 'run', '--', 'sh', '-c', 'echo two > a.txt; echo begun; sleep 1000'],
      {
        cwd: places.root,
        env: environment(places),
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    for await (const line of createInterface(running.stdout)) if (line === 'begun') running.kill(signal);
    if (running.exitCode === null) await once(running, 'exit');
    expect(running.exitCode).toBe(2);
    expect(text('a.txt')).toBe('one\n');
  });

  it('ends with an error if the command is missing', async () => {
    expect(await lookfirst(places, ['run'])).toMatchObject({ code: 64 });
  });
});

describe.skipIf(here === undefined)("Claude Code's shell prefix", () => {
  const line = (command: string, cwdFile: string): string =>
    `eval ${quotedWord(command)} < /dev/null && pwd -P >| ${cwdFile}`;

  async function prefix(
    argument: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    const script = join(places.base, 'lookfirst-shell');
    writeFileSync(script, shellScript(scriptPlaces(places)), { mode: 0o755 });
    const env = { ...environment(places), SHELL: '/bin/sh', CLAUDE_CODE_SESSION_ID: 'conversation', ...more };
    const ran = spawnSync(script, [argument], { cwd: places.root, env, encoding: 'utf8' });
    return { code: ran.status ?? -1, stdout: ran.stdout, stderr: ran.stderr };
  }

  it('runs a line of the Bash tool on a layer for its conversation, and prints nothing itself', async () => {
    const cwdFile = join(places.base, 'cwd');
    const ran = await prefix(line('echo out; echo two > a.txt; mkdir d; cd d', cwdFile));
    expect(ran).toEqual({ code: 0, stdout: 'out\n', stderr: '' });
    expect([text('a.txt'), readFileSync(cwdFile, 'utf8')]).toEqual(['two\n', `${join(places.root, 'd')}\n`]);
    const [entry] = objects(await lookfirst(places, ['log', '--kind', 'change', '--json']));
    expect(entry).toMatchObject({ action: 'run', session: 'conversation' });
    await lookfirst(places, ['undo']);
    expect(text('a.txt')).toBe('one\n');
  });

  it('passes on the exit code, and reports a refusal to the model', async () => {
    expect(await prefix(line('(exit 5)', '/dev/null'))).toMatchObject({ code: 5 });
    const refused = await prefix(
      line(`mkdir .claude; echo '{"disableAllHooks":true}' > .claude/settings.json`, '/dev/null'),
    );
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('[PROTECTED]');
  });

  it('runs every other command unchanged', async () => {
    expect(await prefix('echo server; echo x > a.txt')).toEqual({ code: 0, stdout: 'server\n', stderr: '' });
    expect(objects(await lookfirst(places, ['log', '--kind', 'change', '--json']))).toEqual([]);
  });

  it('runs a line without undo, and says so, if the state folder cannot be used', async () => {
    const ran = await prefix(line('echo two > a.txt', '/dev/null'), { LOOKFIRST_HOME: '/dev/null/nowhere' });
    expect(ran.stderr).toContain('this command cannot be undone');
    expect([ran.code, text('a.txt')]).toEqual([0, 'two\n']);
  });

  it("ends with the exit code of a signal if a signal ends a line's shell", async () => {
    const ran = await prefix(line('kill -TERM $$', '/dev/null'), { LOOKFIRST_HOME: '/dev/null/nowhere' });
    expect(ran.code).toBe(143);
  });
});

describe.skipIf(here === undefined)('a killed lookfirst run', () => {
  it('ends its command, and gc removes its writes', async () => {
    const ticks = join(places.outside, 'ticks');
    const size = (): number => statSync(ticks, { throwIfNoEntry: false })?.size ?? 0;
    const [program = '', ...first] = PROGRAM;
    const script = `while :; do echo x >> '${ticks}'; sleep 0.02; done`;
    const child = spawn(program, [...first, 'run', '--', 'sh', '-c', script], {
      cwd: places.root,
      env: environment(places),
      stdio: 'ignore',
    });
    await expect.poll(size).toBeGreaterThan(2);
    child.kill('SIGKILL');
    const stands = async (): Promise<boolean> => {
      const before = size();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return size() === before;
    };
    await expect.poll(stands).toBe(true);
    expect(readdirSync(join(places.home, 'layers'))).toHaveLength(1);
    const { stdout } = await lookfirst(places, ['gc']);
    expect(stdout).toContain('kept writes of 1 refused or killed command');
    expect(readdirSync(join(places.home, 'layers'))).toEqual([]);
  });

  it.each([
    ['few', FEW_FILES],
    ['many', MANY_FILES],
  ])('leaves the workspace untouched or committed: %s files', async (_what, command) => {
    const seen = await killRuns(places, { rounds: 1, command });
    expect(seen.untouched + seen.committed).toBe(1);
  });
});

describe.skipIf(here === undefined)('a command of an ordinary user whose commit fails', () => {
  it.each([
    ['changed a file', 'echo two > a.txt; chmod 0 a.txt'],
    ['changed only the mode', 'chmod 200 a.txt'],
    ['made a file', 'echo two > b.txt; chmod 0 b.txt'],
    ['made a folder', 'mkdir -p c/e; echo two > c/e/g; chmod 0 c/e/g'],
  ])('leaves nothing that may not be read, if it %s before', (_name, script) => {
    mkdirSync(join(places.root, 'd'));
    writeFileSync(join(places.root, 'd/f'), 'old\n');
    giveAway(
      places.base,
      places.home,
      places.root,
      ...['a.txt', 'd', 'd/f'].map((name) => join(places.root, name)),
    );
    chmodSync(join(places.root, 'd'), 0o555);
    const state = (): unknown => [
      readdirSync(places.root),
      text('a.txt'),
      statSync(join(places.root, 'a.txt')).mode,
    ];
    const before = state();
    const [program = '', ...args] = [
      ...ordinaryProgram(),
      'run',
      '--',
      'sh',
      '-c',
      `${script}; echo y > d/f`,
    ];
    const options = {
      cwd: places.root,
      env: environment(places, {}),
      encoding: 'utf8',
      ...ORDINARY,
    } as const;
    const { status, stderr } = spawnSync(program, args, options);
    expect(stderr).toContain('permission denied in its folder');
    expect([status, state()]).toEqual([1, before]);
  });
});
