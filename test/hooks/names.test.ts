import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { HostName } from '../../src/config/hook-flags.ts';
import { answerHook } from '../../src/hooks/answer-hook.ts';
import type { HookAnswer } from '../../src/hooks/event.ts';
import { HookDoor } from '../../src/hooks/hook-door.ts';
import { HOOK_HOSTS } from '../../src/hooks/hosts/hook-hosts.ts';
import { lookfirst } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { everySecond } from '../support/rounds.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;

beforeEach(() => {
  places = scratch();
  agent = new Hooked(places);
  mkdirSync(join(places.root, 'src'));
  writeFileSync(join(places.root, 'a.txt'), 'one\n');
  writeFileSync(join(places.root, 'src/b.txt'), 'two\n');
  symlinkSync(places.root, join(places.outside, 'alias'));
  symlinkSync(join(places.root, 'src'), join(places.outside, 'part'));
  symlinkSync(join(places.root, 'a.txt'), join(places.outside, 'link.txt'));
});

/** Names that seem to lie outside the workspace but lead to its files. */
function namesOutside(): readonly string[] {
  const { root, outside } = places;
  return [
    `../${basename(root)}/a.txt`,
    `src/../../${basename(root)}/a.txt`,
    `${outside}/alias/a.txt`,
    `${outside}/part/b.txt`,
    `${outside}/part/../a.txt`,
    `${outside}/link.txt`,
  ];
}

describe('a file of the workspace under a name outside it', () => {
  it('is judged before a tool or the shell writes it', async () => {
    for (const path of namesOutside()) {
      const write = { event: 'before', action: 'write', input: { path, content: 'x' }, call: path };
      expect([path, (await agent.send(write)).reason]).toEqual([path, expect.stringContaining('[NOT_READ]')]);
      const run = {
        event: 'before',
        action: 'run',
        input: { command: `echo x > ${path}` },
        call: `s${path}`,
      };
      expect([path, (await agent.send(run)).reason]).toEqual([path, expect.stringContaining('[NOT_READ]')]);
    }
  });

  it('is read under that name', async () => {
    await agent.read(join(places.outside, 'alias/a.txt'), 'one\n');
    const input = { path: 'a.txt', content: 'x' };
    expect((await agent.send({ event: 'before', action: 'write', input, call: 'c' })).verdict).toBe('pass');
  });

  it('a file that is outside is left to the host', async () => {
    writeFileSync(join(places.outside, 'other.txt'), 'one\n');
    const input = { path: join(places.outside, 'other.txt'), content: 'x' };
    expect((await agent.send({ event: 'before', action: 'write', input, call: 'c' })).verdict).toBe('pass');
  });
});

describe('`..` behind a link to a folder', () => {
  beforeEach(() => {
    const { root } = places;
    mkdirSync(join(root, 'real/deep'), { recursive: true });
    mkdirSync(join(root, 'other'));
    for (const name of ['real/a.txt', 'other/a.txt']) writeFileSync(join(root, name), 'three\n');
    symlinkSync('real/deep', join(root, 'link'));
  });

  it.each(
    everySecond([
      ['echo x > link/../a.txt', 'real/a.txt'],
      ['echo x > ./link/.././a.txt', 'real/a.txt'],
      ['cp src/b.txt link/../a.txt', 'real/a.txt'],
      ['cp other/a.txt link/..', 'real/a.txt'],
      ['cp other/a.txt link/../', 'real/a.txt'],
      ['cd link && echo x > ../a.txt', 'real/a.txt'],
      ['cd link && echo x > $PWD/../a.txt', 'real/a.txt'],
      ['cd -P link && echo x > ../a.txt', 'real/a.txt'],
      ['cd link/../link && echo x > ../a.txt', 'real/a.txt'],
      ['cd other && echo x > ../link/../a.txt', 'real/a.txt'],
      // `cd` itself removes `..` from the text of its path.
      ['cd link && cd .. && echo x > a.txt', 'a.txt'],
      ['cd link && cd ../other && echo x > a.txt', 'other/a.txt'],
      ['cd link/.. && echo x > a.txt', 'a.txt'],
      ['cd other/../link/.. && echo x > ./a.txt', 'a.txt'],
      ['echo x > other/../a.txt', 'a.txt'],
    ]),
  )('%s: writes %s, which is judged', async (command, path) => {
    const { root } = places;
    for (const other of ['a.txt', 'real/a.txt', 'other/a.txt'].filter((name) => name !== path))
      await agent.read(other, readFileSync(join(root, other), 'utf8'));
    expect((await agent.shell(command)).reason).toContain('[NOT_READ]');
    // The shell itself shows which file the command writes.
    writeFileSync(join(root, path), 'one\n');
    await agent.read(path, 'one\n');
    expect((await agent.shell(command)).verdict).toBe('pass');
    expect(readFileSync(join(root, path), 'utf8')).not.toBe('one\n');
  });

  it('can lead to a file outside the workspace, which is left to the host', async () => {
    mkdirSync(join(places.outside, 'far/deep'), { recursive: true });
    symlinkSync(join(places.outside, 'far/deep'), join(places.root, 'away'));
    expect((await agent.shell('echo x > away/../a.txt')).verdict).toBe('pass');
    expect(existsSync(join(places.outside, 'far/a.txt'))).toBe(true);
  });

  it('does not hide a client file with our entries', async () => {
    writeFileSync(join(places.root, '.mcp.json'), '{}');
    writeFileSync(join(places.root, 'real/.mcp.json'), '{"mcpServers": {"lookfirst": {}}}');
    expect((await agent.shell('python3 edit.py link/../.mcp.json')).reason).toContain('[PROTECTED]');
  });
});

describe('a write after a `cd` or `exit` that may not run', () => {
  it.each([
    ['[ -f nope ] && exit 1; echo x > a.txt', 'a.txt'],
    ['[ -d nope ] && cd nope; echo x > a.txt', 'a.txt'],
    ['[ -d src ] && cd src; echo x > b.txt', 'src/b.txt'],
  ])('%s: is judged as a write of %s', async (command, path) => {
    expect((await agent.shell(command)).reason).toContain('[NOT_READ]');
    await agent.read(path, readFileSync(join(places.root, path), 'utf8'));
    expect((await agent.shell(command)).verdict).toBe('pass');
    expect(readFileSync(join(places.root, path), 'utf8')).toBe('x\n');
  });
});

it('an existing file whose name is also a glob is judged', async () => {
  mkdirSync(join(places.root, 'app/[id]'), { recursive: true });
  writeFileSync(join(places.root, 'app/[id]/page.tsx'), 'one\n');
  expect((await agent.shell('echo x > app/[id]/page.tsx')).reason).toContain('[NOT_READ]');
  expect((await agent.shell('echo x > app/[id]/new.tsx')).verdict).toBe('pass');
  expect((await agent.shell('echo y > app/[id]/new.tsx')).verdict).toBe('pass');
});

/** The answer to one event of a client, as its hook gives it. */
function answer(name: HostName, payload: object, declaredEvent?: string): Promise<HookAnswer> {
  const host = HOOK_HOSTS[name];
  const env = { LOOKFIRST_HOME: places.home };
  const door = new HookDoor({ env, platform: process.platform, cwd: places.root }, {});
  const settings = { host, cwd: places.root, roots: [], state: {} };
  const text = JSON.stringify({ session_id: 's', cwd: places.root, tool_use_id: 'c', ...payload });
  const call = { host, text, onFailure: 'deny', ...(declaredEvent ? { declaredEvent } : {}) } as const;
  return answerHook(call, (event) => door.respond(settings, event)).finally(() => door.close());
}

describe('a workspace of several folders', () => {
  it.each([
    ['judges all of them if the project folder is one of them', () => places.root, 'deny'],
    ['has only the project folder if that is another one', () => places.home, undefined],
  ])('%s', async (_, project, permission) => {
    writeFileSync(join(places.outside, 'b.txt'), 'one\n');
    const door = new HookDoor(
      { env: { LOOKFIRST_HOME: join(places.base, 'state') }, platform: process.platform, cwd: places.root },
      {},
    );
    const host = HOOK_HOSTS.cursor;
    const payload = {
      hook_event_name: 'preToolUse',
      conversation_id: 's',
      workspace_roots: [places.root, places.outside],
      tool_name: 'Write',
      tool_input: { file_path: join(places.outside, 'b.txt'), content: 'x' },
      tool_use_id: 'c',
    };
    const settings = { host, cwd: places.root, roots: [], project: project(), state: {} };
    const call = { host, text: JSON.stringify(payload), onFailure: 'deny' } as const;
    const { stdout } = await answerHook(call, (event) => door.respond(settings, event));
    await door.close();
    expect((JSON.parse(stdout || '{}') as { permission?: string }).permission).toBe(permission);
  });
});

describe('an event that its client names badly', () => {
  const write = { tool_name: 'Write', tool_input: { file_path: 'a.txt', content: 'x' } };

  it.each([[{}], [{ hook_event_name: 3 }], [{ hook_event_name: 'pretooluse' }]])(
    'is judged as the event of its configuration: %j',
    async (name) => {
      const { stdout } = await answer('claude-code', { ...write, ...name }, 'PreToolUse');
      expect(stdout).toContain('[NOT_READ]');
    },
  );

  it('is denied if the configuration does not name it either', async () => {
    expect(await answer('claude-code', write)).toMatchObject({ exitCode: 2, stdout: '' });
  });

  it('passes under an unknown name', async () => {
    const event = { ...write, hook_event_name: 'SomethingNew' };
    expect(await answer('claude-code', event)).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it.each([[{}], [{ command: 5 }], [{ command: { text: 'ls' } }]])(
    'a command that is no text is denied: %j',
    async (input) => {
      const event = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: input };
      const { stdout } = await answer('claude-code', event);
      expect(stdout).toContain('refusing to run Bash: the input of Bash does not say which command it runs');
    },
  );

  it('the input for a running shell of Codex is judged as a shell line', async () => {
    const event = { hook_event_name: 'PreToolUse', tool_name: 'write_stdin' };
    const input = { session_id: 1, chars: 'echo x > a.txt\n' };
    const { stdout } = await answer('codex', { ...event, tool_input: input });
    expect(stdout).toContain('refusing to overwrite a.txt: read it first [NOT_READ]');
    // Codex puts a full stop after the reason itself.
    expect(JSON.parse(stdout).hookSpecificOutput.permissionDecisionReason).not.toMatch(/\.$/);
  });

  it('an empty input for a running process of Codex passes: it only waits', async () => {
    const event = { hook_event_name: 'PreToolUse', tool_name: 'write_stdin', tool_input: { session_id: 1 } };
    expect(await answer('codex', event)).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it.each([
    ['claude-code', 'Read', 0],
    ['claude-code', 'mcp__lookfirst__read_file', 0],
    ['claude-code', 'Unknown', 0],
    ['claude-code', 'Write', 2],
    ['claude-code', 'Bash', 2],
    ['codex', 'update_plan', 0],
    ['codex', 'apply_patch', 2],
  ] as const)('a failure stops only tools that change files: %s %s', async (host, tool, exitCode) => {
    writeFileSync(join(places.home, 'lookfirst.json'), '{');
    const event = { hook_event_name: 'PreToolUse', tool_name: tool, tool_input: { file_path: 'a.txt' } };
    const failed = await answer(host, event);
    expect(failed).toMatchObject({ exitCode, stdout: '' });
    expect(failed.stderr).toContain('[CONFIG_INVALID]');
  });

  it.each([
    ['bash', '-lc', 'cd src && echo x > b.txt'],
    ['bash', '-lc', "sed -i 's/two/2/' src/b.txt"],
    ['cp', 'some file', 'src/b.txt'],
  ])('a command that is a list of words is judged: %s %s %s', async (...command) => {
    const event = { hook_event_name: 'PreToolUse', tool_name: 'shell', tool_input: { command } };
    expect((await answer('codex', event)).stdout).toMatch(/src\/b\.txt: read it first \[NOT_READ\]/);
  });
});

describe('a patch that changes a file twice', () => {
  const patch = (body: string): object => ({ patch: `*** Begin Patch\n${body}\n*** End Patch\n` });

  it('changes and moves it', async () => {
    await agent.read('a.txt', 'one\n');
    const input = patch('*** Update File: a.txt\n*** Move to: c.txt\n@@\n-one\n+uno');
    const answer = await agent.change('patch', input, () => {
      writeFileSync(join(places.root, 'c.txt'), 'uno\n');
      rmSync(join(places.root, 'a.txt'));
    });
    expect(answer).toEqual({ verdict: 'pass' });
    await lookfirst(places, ['undo']);
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\n');
    expect(existsSync(join(places.root, 'c.txt'))).toBe(false);
  });

  it('changes and extends it', async () => {
    await agent.read('a.txt', 'one\n');
    const input = patch('*** Update File: a.txt\n@@\n-one\n+uno\n@@\n+due');
    const make = () => writeFileSync(join(places.root, 'a.txt'), 'uno\ndue\n');
    expect(await agent.change('patch', input, make)).toEqual({ verdict: 'pass' });
    await lookfirst(places, ['undo']);
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\n');
  });

  it('extends and moves it', async () => {
    const input = patch('*** Update File: a.txt\n*** Move to: c.txt\n@@\n+due');
    const make = (): void => {
      writeFileSync(join(places.root, 'c.txt'), 'one\ndue\n');
      rmSync(join(places.root, 'a.txt'));
    };
    expect((await agent.change('patch', input, make)).reason).toContain('a.txt: read it first [NOT_READ]');
    await agent.read('a.txt', 'one\n');
    expect(await agent.change('patch', input, make)).toEqual({ verdict: 'pass' });
    await lookfirst(places, ['undo']);
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\n');
    expect(existsSync(join(places.root, 'c.txt'))).toBe(false);
  });

  it('changes it in two places of one call', async () => {
    const file = { filePath: 'a.txt' };
    const read = { hook_event_name: 'PostToolUse', tool_name: 'read_file', tool_input: file };
    await answer('vscode', { ...read, tool_response: 'one\n' });
    const replacements = [
      { ...file, oldString: 'one', newString: 'uno' },
      { ...file, oldString: 'uno', newString: 'due' },
    ];
    const input = { replacements };
    const tool = { tool_name: 'multi_replace_string_in_file', tool_input: input, tool_use_id: 'd' };
    expect((await answer('vscode', { hook_event_name: 'PreToolUse', ...tool })).stdout).toBe('');
  });

  it('is judged at both places', async () => {
    await agent.read('a.txt', 'one\n');
    const onto = patch('*** Update File: a.txt\n*** Move to: src/b.txt\n@@\n-one\n+uno');
    const { reason } = await agent.change('patch', onto, () => undefined);
    expect(reason).toContain('refusing to overwrite src/b.txt: read it first [NOT_READ]');
    const unread = patch('*** Update File: src/b.txt\n*** Move to: c.txt\n@@\n-two\n+due');
    expect((await agent.change('patch', unread, () => undefined)).reason).toContain('[NOT_READ]');
  });
});
