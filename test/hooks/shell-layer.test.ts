import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shellScript } from '../../src/cli/clients/hook-scripts.ts';
import { quotedWord } from '../../src/report/bounded.ts';
import { environment, lookfirst, objects, PROGRAM, scriptPlaces } from '../support/command-line.ts';
import { runOnLayer } from '../support/layered.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const here = await sandboxHere();

let places: Scratch;
let shell: string;
let calls = 0;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Whether the resident process makes the layers, or each script's own Node process. */
let maker: 'the resident process' | "the script's own process" = "the script's own process";

/** Environment variables of Claude Code. With a store of its own, the script calls no resident process. */
function around(): Record<string, string> {
  const store =
    maker === 'the resident process'
      ? {}
      : { LOOKFIRST_STORE: `sqlite:${join(places.home, 'lookfirst.db')}` };
  return { ...store, SHELL: '/bin/sh', CLAUDE_CODE_SESSION_ID: 's' };
}

function pointers(): readonly string[] {
  const folder = join(places.home, 'run');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith('hook-')) : [];
}

/** Writes a script that only asks the resident process: without Node, it cannot make a layer itself. */
function writeScriptOfResident(path: string): void {
  writeFileSync(path, shellScript({ ...scriptPlaces(places), node: '/nonexistent/node' }), { mode: 0o755 });
}

/** Starts a resident process, which ends this long after its last call. */
async function startResident(idleMs = 3000): Promise<ChildProcess> {
  const [program = '', ...args] = PROGRAM;
  const idle = { LOOKFIRST_RESIDENT_IDLE_MS: String(idleMs), LOOKFIRST_RESIDENT_CHECK_MS: '100' };
  const env = environment(places, idle);
  const resident = spawn(program, [...args, 'hook', '--resident'], { cwd: '/', env, stdio: 'ignore' });
  await expect.poll(pointers, { timeout: 20_000 }).toHaveLength(1);
  return resident;
}

function start(
  command: string,
  args: readonly string[],
  input = '',
  env = {},
  cwd: string = places.root,
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, [...args], {
      cwd,
      env: environment(places, { ...around(), ...env }),
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (part) => (stdout += part));
    child.stderr.on('data', (part) => (stderr += part));
    child.stdin.on('error', () => undefined);
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
    child.stdin.end(input);
  });
}

/** Sends one event of Claude Code to `lookfirst hook`, without a background process. */
async function send(hook_event_name: string, more: object): Promise<Record<string, string>> {
  const payload = { session_id: 's', cwd: places.root, prompt_id: 'turn-1', hook_event_name, ...more };
  const env = { ...around(), CLAUDE_CODE_SHELL_PREFIX: shell, CLAUDE_PROJECT_DIR: places.root };
  const ran = await lookfirst(places, ['hook', 'claude-code'], { input: JSON.stringify(payload), env });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  return ran.stdout === '' ? {} : JSON.parse(ran.stdout).hookSpecificOutput;
}

interface Bash {
  readonly command: string;
  readonly agent?: string;
  readonly background?: boolean;
  /** The folder in which the command starts. */
  readonly cwd?: string;
  /** A program that starts the shell, and its arguments. */
  readonly through?: readonly string[];
  /** Called between the before-event and the command. */
  meanwhile?(): void;
}

/**
 * Runs a line as the script does. If the script's own process makes the layers, this process takes
 * its place, unless `through` starts the script: starting Node takes longer than most commands.
 */
async function runLine(
  command: string,
  cwd: string = places.root,
  through: readonly string[] = [],
): Promise<Ended> {
  if (maker === "the script's own process" && through.length === 0) {
    const options = { cwd, env: around(), mayRunPlainly: true } as const;
    const { code, stdout, stderr, told } = await runOnLayer(places, command, 's', options);
    return { code, stdout, stderr: stderr + told };
  }
  const line = `eval '${command.replaceAll("'", `'"'"'`)}' < /dev/null && pwd -P >| ${join(places.base, 'cwd')}`;
  const [program = shell, ...args] = [...through, shell, line];
  return start(program, args, '', {}, cwd);
}

/**
 * A call of Claude Code's Bash tool: the before-event, the command run by our program (as
 * CLAUDE_CODE_SHELL_PREFIX), the after-event.
 */
async function bash({
  command,
  agent,
  background,
  cwd,
  through = [],
  meanwhile,
}: Bash): Promise<Ended & { context?: string }> {
  calls += 1;
  const call = {
    ...(agent === undefined ? {} : { agent_id: agent }),
    tool_name: 'Bash',
    tool_input: { command, ...(background === undefined ? {} : { run_in_background: background }) },
    tool_use_id: `call-${calls}`,
  };
  const before = await send('PreToolUse', call);
  if (before['permissionDecision'] === 'deny')
    return { code: -2, stdout: '', stderr: before['permissionDecisionReason'] ?? '' };
  meanwhile?.();
  const ran = await runLine(command, cwd, through);
  const { stdout, stderr } = ran;
  const after =
    ran.code === 0
      ? await send('PostToolUse', { ...call, tool_response: { stdout, stderr } })
      : await send('PostToolUseFailure', { ...call, error: stderr });
  const context = after['additionalContext'];
  return context === undefined ? ran : { ...ran, context };
}

async function changes(): Promise<Record<string, unknown>[]> {
  return objects(await lookfirst(places, ['log', '--kind', 'change', '--json']));
}

function text(name: string): string {
  return readFileSync(join(places.root, name), 'utf8');
}

beforeEach(() => {
  places = scratch();
  writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\nthree\n');
  mkdirSync(join(places.home, 'bin'));
  shell = join(places.home, 'bin', 'lookfirst-shell');
  writeFileSync(shell, shellScript(scriptPlaces(places)));
  chmodSync(shell, 0o755);
});

describe
  .skipIf(here === undefined)
  .each([{ by: "the script's own process" }, { by: 'the resident process' }] as const)(
  "Claude Code's shell on a layer made by $by",
  ({ by }) => {
    /** The state folder and the resident process of these tests. Each test has a workspace of its own. */
    let shared: { readonly home: string; readonly resident: ChildProcess } | undefined;
    let removeShared = (): void => undefined;

    beforeEach(async () => {
      maker = by;
      if (by !== 'the resident process') return;
      shared ??= await makeShared();
      places = { ...places, home: shared.home };
      shell = join(places.home, 'bin', 'lookfirst-shell');
    });
    afterEach(() => {
      maker = "the script's own process";
    });
    afterAll(() => {
      shared?.resident.kill();
      removeShared();
    });

    async function makeShared(): Promise<NonNullable<typeof shared>> {
      const { home } = scratch(tmpdir(), (clean) => {
        removeShared = clean;
      });
      places = { ...places, home };
      mkdirSync(join(home, 'bin'));
      writeScriptOfResident(join(home, 'bin', 'lookfirst-shell'));
      return { home, resident: await startResident(600_000) };
    }

    it('a command is one change of its session and turn, even for files that no session has seen', async () => {
      const command = `$(echo rm) a.txt; mkdir d; echo 'n' > d/new.txt`;
      const stderr = expect.stringMatching(/removed what nothing else holds: a\.txt.*lookfirst undo c/);
      expect(await bash({ command, through: ['env'] })).toEqual({ code: 0, stdout: '', stderr });
      expect(existsSync(join(places.root, 'a.txt'))).toBe(false);
      expect(await changes()).toMatchObject([{ action: 'run', session: 's', turn: 'turn-1', text: command }]);
      expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
      expect([text('a.txt'), existsSync(join(places.root, 'd'))]).toEqual(['one\ntwo\nthree\n', false]);
    });

    it('a file that a command moved or wrote from a here-document counts as seen', async () => {
      await bash({ command: 'cat a.txt' });
      await bash({ command: "mkdir d && mv a.txt d/b.txt && cat > n.txt <<'EOF'\nnew\nEOF" });
      for (const name of ['d/b.txt', 'n.txt']) {
        const tool_input = { file_path: join(places.root, name), content: 'x\n' };
        const write = { tool_name: 'Write', tool_input, tool_use_id: name };
        expect(await send('PreToolUse', write)).toEqual({});
      }
    });

    it('Node reads no additional certificates, and the command gets the variable that names them', async () => {
      const line = `eval 'echo $NODE_EXTRA_CA_CERTS $LOOKFIRST_EXTRA_CA_CERTS' && pwd -P >| ${join(places.base, 'cwd')}`;
      const ran = await start(shell, [line], '', { NODE_EXTRA_CA_CERTS: '/nonexistent/certificates' });
      expect(ran).toEqual({ code: 0, stdout: '/nonexistent/certificates\n', stderr: '' });
    });

    it("a sub-agent's command is the sub-agent's change", async () => {
      await bash({ command: 'echo x > new.txt', agent: 'worker' });
      expect(await changes()).toMatchObject([{ session: 's/worker', turn: 'turn-1' }]);
    });

    it('a seen file that the command changes is journalled once, and its output counts as read', async () => {
      await bash({ command: 'cat a.txt' });
      expect(await bash({ command: "sed -i 's/two/TWO/' a.txt; cat a.txt" })).toMatchObject({ code: 0 });
      expect(await changes()).toHaveLength(1);
      const write = {
        tool_name: 'Write',
        tool_input: { file_path: join(places.root, 'a.txt'), content: 'x' },
      };
      expect(await send('PreToolUse', { ...write, tool_use_id: 'w1' })).toEqual({});
    });

    it('lines that a command wrote and the model was not shown do not count as read', async () => {
      await bash({ command: 'cat a.txt' });
      await bash({ command: "sed -i 's/two/hidden/' a.txt" });
      const write = {
        tool_name: 'Write',
        tool_input: { file_path: join(places.root, 'a.txt'), content: 'x' },
      };
      const answer = await send('PreToolUse', { ...write, tool_use_id: 'w1' });
      expect(answer['permissionDecisionReason']).toContain('[PARTIALLY_READ]');
    });

    it("a command that drops another writer's change is not committed, and the model gets the reason", async () => {
      await bash({ command: 'cat a.txt' });
      writeFileSync(join(places.root, 'a.txt'), 'one\ntwo, by hand\nthree\n');
      const command = `python3 -c "open('a.txt','w').write('one\\ntwo\\nTHREE\\n')"`;
      const ran = await bash({ command, through: ['env'] });
      expect(ran.code).toBe(2);
      expect(ran.stderr).toContain('[COMMAND_CONFLICT]');
      expect(ran.stderr).toContain('two, by hand');
      expect(text('a.txt')).toBe('one\ntwo, by hand\nthree\n');
      expect(await changes()).toEqual([]);
    });

    it('a background command runs without a layer: its writes are visible at once', async () => {
      await bash({ command: 'cat a.txt' });
      await bash({ command: "sed -i 's/one/ONE/' a.txt", background: true });
      expect(text('a.txt')).toBe('ONE\ntwo\nthree\n');
      expect(await changes()).toMatchObject([{ action: 'run', session: 's' }]);
      expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
      expect(text('a.txt')).toBe('one\ntwo\nthree\n');
    });

    it.each([
      ['(until [ -e go ]; do sleep 0.1; done; echo late >> a.txt) > /dev/null 2>&1 & echo begun'],
      ["nohup sh -c 'until [ -e go ]; do sleep 0.1; done; echo late >> a.txt' > log 2>&1 & echo begun"],
    ])(
      'a process that a line leaves running goes on, and its later writes are outside changes: %s',
      async (command) => {
        await bash({ command: 'cat a.txt' });
        expect(await bash({ command })).toMatchObject({ code: 0, stdout: 'begun\n', stderr: '' });
        expect(text('a.txt')).toBe('one\ntwo\nthree\n');
        writeFileSync(join(places.root, 'go'), '');
        await expect.poll(() => text('a.txt')).toBe('one\ntwo\nthree\nlate\n');
        const write = {
          tool_name: 'Write',
          tool_input: { file_path: join(places.root, 'a.txt'), content: 'x' },
        };
        const answer = await send('PreToolUse', { ...write, tool_use_id: 'w1' });
        expect(answer['permissionDecisionReason']).toContain('[STALE]');
      },
    );

    it('what such a line itself changes is recorded, and can be undone', async () => {
      await bash({ command: 'cat a.txt' });
      await bash({ command: 'echo four >> a.txt; sleep 5 > /dev/null 2>&1 &' });
      expect(await changes()).toMatchObject([{ session: 's', effects: [{ relative: 'a.txt' }] }]);
      expect((await lookfirst(places, ['log'])).stdout).not.toContain('not on its layer');
      expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
      expect(text('a.txt')).toBe('one\ntwo\nthree\n');
    });

    it('a line whose background processes are ended or awaited runs on a layer', async () => {
      expect(await bash({ command: 'sleep 100 & echo two > n.txt; kill $!' })).toMatchObject({ stderr: '' });
      expect(await bash({ command: 'echo three >> n.txt & wait' })).toMatchObject({ stderr: '' });
      expect(await changes()).toHaveLength(2);
      expect((await lookfirst(places, ['log'])).stdout).not.toContain('not on its layer');
    });

    it('a process that a script leaves running on the layer is ended, and the model is told', async () => {
      writeFileSync(join(places.root, 'start.sh'), 'sleep 1000 > /dev/null 2>&1 &\n');
      const ran = await bash({ command: 'sh start.sh' });
      expect(ran).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('They were ended: `sleep 1000`.'),
      });
    });

    it('a background command that writes after its event is recorded when it ends', async () => {
      const call = {
        tool_name: 'Bash',
        tool_input: { command: 'sleep 2; echo late > late.txt', run_in_background: true },
        tool_use_id: 'background',
      };
      await send('PreToolUse', call);
      const line = `eval '${call.tool_input.command}' < /dev/null && pwd -P >| ${join(places.base, 'cwd')}`;
      // For a background command, Claude Code sends the after-event at once, before our program has
      // started the command.
      await send('PostToolUse', {
        ...call,
        tool_response: { stdout: '', stderr: '', backgroundTaskId: 'b' },
      });
      expect(await start(shell, [line])).toMatchObject({ code: 0 });
      expect(await changes()).toMatchObject([
        { session: 's', turn: 'turn-1', text: call.tool_input.command },
      ]);
      expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
      expect(existsSync(join(places.root, 'late.txt'))).toBe(false);
    });

    it("a sub-agent's changes belong to its parent's turn, and rewind to that turn undoes them", async () => {
      await send('UserPromptSubmit', { prompt: 'go' });
      await bash({ command: 'echo x > by-main.txt' });
      await bash({ command: 'echo x > by-agent.txt', agent: 'worker' });
      const turns = objects(await lookfirst(places, ['rewind', '--json']));
      expect(turns).toMatchObject([{ turn: 'turn-1', session: 's', files: ['by-main.txt', 'by-agent.txt'] }]);
      expect(await lookfirst(places, ['rewind', 'turn-1'])).toMatchObject({ code: 0 });
      expect(existsSync(join(places.root, 'by-agent.txt'))).toBe(false);
    });

    it('a command that ran without its layer is recorded from the before-images, and marked as such', async () => {
      await bash({ command: 'cat a.txt' });
      const command = "sed -i 's/one/ONE/' a.txt";
      const call = { tool_name: 'Bash', tool_input: { command }, tool_use_id: 'sandboxed' };
      await send('PreToolUse', call);
      writeFileSync(join(places.root, 'a.txt'), 'ONE\ntwo\nthree\n');
      await send('PostToolUse', { ...call, tool_response: { stdout: '', stderr: '' } });
      expect(await changes()).toMatchObject([{ uncovered: expect.stringContaining('layer') }]);
      expect((await lookfirst(places, ['log'])).stdout).toContain('not on its layer');
    });

    it('a command on a machine without a sandbox runs at once', async () => {
      const without = ['--dev-bind', '/', '/', '--unshare-user', '--disable-userns', '--cap-drop', 'ALL'];
      const ran = await bash({ command: 'echo two > b.txt', through: ['bwrap', ...without] });
      expect([ran.code, ran.stderr, text('b.txt')]).toEqual([0, '', 'two\n']);
      const opened = (await lookfirst(places, ['log', '--kind', 'session'])).stdout.match(/session resumed/g);
      expect(opened?.length ?? 0).toBeLessThan(5);
    });

    it("a sub-agent's command with a secret is the sub-agent's change", async () => {
      const command = `echo 'ghp_${'a1B2'.repeat(9)}' > token.txt`;
      expect(await bash({ command, agent: 'worker' })).toMatchObject({ code: 0 });
      expect(await changes()).toMatchObject([{ session: 's/worker', text: "echo '[masked]' > token.txt" }]);
    });

    it('a command that cannot rename a folder on the layer is explained, and mv moves it', async () => {
      mkdirSync(join(places.root, 'd'));
      writeFileSync(join(places.root, 'd', 'b.txt'), 'b\n');
      const rename = `${process.execPath} -e "fs.renameSync('d', 'e')"`;
      const failed = await bash({ command: rename });
      expect(failed).toMatchObject({ code: 1, context: expect.stringContaining('(EXDEV)') });
      expect((await bash({ command: 'mv d e; echo cross-device link' })).context ?? '').not.toContain(
        'EXDEV',
      );
      expect(text('e/b.txt')).toBe('b\n');
    });

    it('two equal commands at once are two changes', async () => {
      // Each command runs in its own overlay layer. It creates its own file, because appending to one
      // file in two layers is a conflict. Each command waits until the other one runs.
      const meet = `mktemp '${places.outside}/met-XXXXXX'; until [ $(ls '${places.outside}' | grep -c met-) = 2 ]; do sleep 0.05; done`;
      const command = `${meet}; echo x > "$(mktemp ./log-XXXXXX)"`;
      const both = await Promise.all([bash({ command, agent: 'a' }), bash({ command, agent: 'b' })]);
      expect(both.map(({ code, stderr }) => `${code}${stderr}`)).toEqual(['0', '0']);
      expect((await changes()).map(({ session }) => session).sort()).toEqual(['s/a', 's/b']);
      expect(readdirSync(places.root).filter((name) => name.startsWith('log-'))).toHaveLength(2);
    });
  },
);

describe
  .skipIf(here === undefined)
  .each([{ by: "the script's own process" }, { by: 'the resident process' }] as const)(
  'a layer that cannot be made by $by',
  ({ by }) => {
    beforeEach(async () => {
      maker = by;
      if (by !== 'the resident process') return;
      writeScriptOfResident(shell);
      await startResident();
    });
    afterEach(() => {
      maker = "the script's own process";
    });

    it('a command that no sandbox can run is recorded from the before-images', async () => {
      await bash({ command: 'cat a.txt' });
      // A layer hides the state folder. So a command that starts in the state folder cannot run on a
      // layer.
      const cwd = join(places.home, 'bin');
      const ran = await bash({ command: `echo two > ${join(places.root, 'a.txt')}`, cwd });
      expect([ran.code, ran.stderr, text('a.txt')]).toEqual([0, '', 'two\n']);
      expect(await changes()).toMatchObject([{ session: 's', effects: [{ relative: 'a.txt' }] }]);
      expect((await lookfirst(places, ['log'])).stdout).toContain('not on its layer');
    });
  },
);

describe.skipIf(here === undefined)('a layer that the resident process made', () => {
  let resident: ChildProcess;
  let child: ChildProcess;
  let stderr = '';
  const layers = () => readdirSync(join(places.home, 'layers')).filter((name) => !name.startsWith('probe'));

  /** Starts a line that writes `a.txt`, and then waits until there is a file `go` outside the workspace. */
  async function begin(env: Record<string, string> = {}): Promise<void> {
    stderr = '';
    const waiting = `echo two > a.txt; echo begun; until [ -e '${places.outside}/go' ]; do sleep 0.05; done`;
    const line = `eval ${quotedWord(waiting)} < /dev/null && pwd -P >| ${join(places.base, 'cwd')}`;
    child = spawn(shell, [line], {
      cwd: places.root,
      env: environment(places, { ...around(), ...env }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stderr?.on('data', (part) => (stderr += part));
    await new Promise((resolve) => child.stdout?.once('data', resolve));
  }

  function ended(): Promise<number | null> {
    return new Promise((resolve) => child.once('close', resolve));
  }

  beforeEach(async () => {
    maker = 'the resident process';
    resident = await startResident();
  });
  afterEach(() => {
    maker = "the script's own process";
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('is discarded if its script gets %s', async (signal) => {
    await begin();
    child.kill(signal);
    expect(await ended()).toBeNull();
    await expect.poll(layers, { timeout: 10_000 }).toEqual([]);
    expect([text('a.txt'), await changes()]).toEqual(['one\ntwo\nthree\n', []]);
  });

  it('is kept if the resident process is killed, and the user can commit it', async () => {
    await begin();
    resident.kill('SIGKILL');
    writeFileSync(join(places.outside, 'go'), '');
    expect(await ended()).toBe(1);
    expect(stderr).toContain('Nothing was changed.');
    const [, id = ''] = /run --apply (\w+)/.exec(stderr) ?? [];
    expect(text('a.txt')).toBe('one\ntwo\nthree\n');
    expect(await lookfirst(places, ['run', '--apply', id])).toMatchObject({ code: 0 });
    expect(text('a.txt')).toBe('two\n');
  });

  it('is committed by the resident process that made it, even if that has been replaced', async () => {
    await begin();
    rmSync(join(places.home, 'run', pointers()[0] ?? ''));
    await startResident();
    writeFileSync(join(places.outside, 'go'), '');
    expect([await ended(), stderr, text('a.txt')]).toEqual([0, '', 'two\n']);
  });

  it('leaves the variables of the command as they are', async () => {
    const names = { home: '1', node: '2', program: '3', curl: '4', fast: '5', line: '6', LC_ALL: 'C.UTF-8' };
    const shown = Object.keys(names).map((name) => `$${name}`);
    const line = `eval 'echo ${shown.join(' ')}' && pwd -P >| ${join(places.base, 'cwd')}`;
    const ran = await start(shell, [line], '', names);
    expect(ran).toEqual({ code: 0, stdout: `${Object.values(names).join(' ')}\n`, stderr: '' });
  });
});

describe.skipIf(here === undefined)('init and remove', () => {
  const settings = () => join(places.root, '.claude/settings.local.json');

  it('init adds the prefix if a layer is possible, doctor tries it, and remove takes it out', async () => {
    mkdirSync(join(places.root, '.claude'));
    const before = '{\n  "env": {\n    "A": "b"\n  }\n}\n';
    writeFileSync(settings(), before);
    expect(await lookfirst(places, ['init', 'claude-code', '--hooks'])).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(settings(), 'utf8')).env).toEqual({
      A: 'b',
      CLAUDE_CODE_SHELL_PREFIX: shell,
    });
    const { stdout } = await lookfirst(places, ['doctor']);
    expect(stdout).toMatch(/ok +claude-code shell +a command ran on a layer and can be undone/);
    expect(await lookfirst(places, ['remove', 'claude-code'])).toMatchObject({ code: 0 });
    expect(readFileSync(settings(), 'utf8')).toBe(before);
  });

  it('init adds no prefix if the policy says `shell: images`', async () => {
    writeFileSync(join(places.home, 'lookfirst.json'), '{"hooks": {"shell": "images"}}');
    await lookfirst(places, ['init', 'claude-code', '--hooks']);
    expect(readFileSync(settings(), 'utf8')).not.toContain('SHELL_PREFIX');
  });
});
