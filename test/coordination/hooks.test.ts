import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { HookEvent, HookReply } from '../../src/hooks/event.ts';
import { HookDoor } from '../../src/hooks/hook-door.ts';
import { HOOK_HOSTS } from '../../src/hooks/hosts/hook-hosts.ts';
import { lookfirst, objects, timeless } from '../support/command-line.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let door: HookDoor;

beforeEach(() => {
  places = scratch();
  const around = { env: { LOOKFIRST_HOME: places.home }, platform: process.platform, cwd: places.root };
  door = new HookDoor(around, {});
});

/**
 * Answers one event of Claude Code. All events go to one `HookDoor`, as in a background process.
 */
async function send(session: string, payload: object, cwd = places.root): Promise<HookReply> {
  const host = HOOK_HOSTS['claude-code'];
  const event = host.understand({ session_id: session, cwd, ...payload });
  if (event.kind === 'malformed') throw new Error(event.reason);
  const settings = { host, cwd, roots: [], project: places.root, state: {} };
  return door.respond(settings, event as HookEvent);
}

function contextOf(reply: HookReply): string {
  return reply.verdict === 'pass' ? (reply.context ?? '') : reply.reason;
}

/**
 * Reads a whole file with Claude Code's own tool. Returns the text that the hook gives to the
 * model.
 */
async function read(session: string, file: string, cwd = places.root): Promise<string> {
  const content = readFileSync(file, 'utf8');
  const lines = content.split('\n').length - 1;
  const tool_response = {
    type: 'text',
    file: { filePath: file, content, numLines: lines, startLine: 1, totalLines: lines },
  };
  const call = {
    tool_name: 'Read',
    tool_input: { file_path: file },
    tool_use_id: `r-${session}`,
    tool_response,
  };
  return contextOf(await send(session, { hook_event_name: 'PostToolUse', ...call }, cwd));
}

/**
 * Writes a file with Claude Code's own tool. Returns the text that the hook gives to the model
 * before the write.
 */
async function write(session: string, file: string, content: string, cwd = places.root): Promise<string> {
  const call = {
    tool_name: 'Write',
    tool_input: { file_path: file, content },
    tool_use_id: `w-${session}-${content.length}`,
  };
  const before = await send(session, { hook_event_name: 'PreToolUse', ...call }, cwd);
  expect(before.verdict, contextOf(before)).toBe('pass');
  writeFileSync(file, content);
  await send(
    session,
    { hook_event_name: 'PostToolUse', ...call, tool_response: { type: 'update', filePath: file } },
    cwd,
  );
  return contextOf(before);
}

const prompt = (session: string) =>
  send(session, { hook_event_name: 'UserPromptSubmit', prompt: 'go on' }).then(contextOf);
const stop = (session: string) => send(session, { hook_event_name: 'Stop' });

describe('hooks', () => {
  it("report another session's edit at a prompt, or at the first read in a turn, until that session's turn ends", async () => {
    const file = join(places.root, 'a.txt');
    writeFileSync(file, 'one\ntwo\n');
    onTestFinished(() => door.close());
    await prompt('one');
    await read('one', file);
    expect(await write('one', file, 'one\nTWO\n')).toBe('');
    expect(await prompt('two')).toContain('Session one (claude-code) works on a.txt');
    expect(await read('two', file)).toBe('');
    await stop('one');
    expect(await prompt('two')).not.toContain('works on');
    await prompt('one');
    await write('one', file, 'one\nTWO!\n');
    expect(timeless(await read('two', file))).toContain(
      'Session one (claude-code) changed line 2 of a.txt just now; its turn is still open.',
    );
    expect(await prompt('one')).toBe('');
  });

  it('claims outlive a hook process, and the command line lists them', async () => {
    const file = join(places.root, 'a.txt');
    await prompt('one');
    await write('one', file, 'new\n');
    await door.close();
    const listed = await lookfirst(places, ['claims', '--json']);
    expect(objects(listed)).toMatchObject([{ session: 'one', client: 'claude-code', path: 'a.txt' }]);
    expect((await lookfirst(places, ['claims'])).stdout).toMatch(/a\.txt\s+one\s+claude-code/);
  });
});

describe('worktrees of one repository', () => {
  let worktree: string;

  beforeEach(() => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
        cwd: places.root,
        stdio: 'ignore',
      });
    mkdirSync(join(places.root, 'src'));
    writeFileSync(join(places.root, 'src/a.ts'), 'one\n');
    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'first');
    git('worktree', 'add', '-q', '.claude/worktrees/w1');
    worktree = realpathSync(join(places.root, '.claude/worktrees/w1'));
  });

  it("a sub-agent that writes into its parent's checkout gets a notice with the path it probably meant", async () => {
    onTestFinished(() => door.close());
    const agent = { agent_id: 'worker', agent_type: 'general' };
    const input = {
      tool_name: 'Write',
      tool_input: { file_path: join(places.root, 'src/new.ts'), content: 'x' },
      tool_use_id: 'w',
    };
    const reply = await send('s', { hook_event_name: 'PreToolUse', ...agent, ...input }, worktree);
    expect(contextOf(reply)).toContain(`You probably meant ${join(worktree, 'src/new.ts')}.`);
    const own = {
      ...input,
      tool_input: { file_path: join(worktree, 'src/new.ts'), content: 'x' },
      tool_use_id: 'v',
    };
    expect(contextOf(await send('s', { hook_event_name: 'PreToolUse', ...agent, ...own }, worktree))).toBe(
      '',
    );
    // If an agent in the main checkout names a path in the worktree, it means that path. So the
    // answer suggests no other path.
    const parent = {
      ...own,
      tool_use_id: 'u',
      tool_input: { file_path: join(worktree, 'src/other.ts'), content: 'x' },
    };
    expect(contextOf(await send('s', { hook_event_name: 'PreToolUse', ...parent }))).not.toContain(
      'probably meant',
    );
  });

  it('are one family: a claim on the same file in another worktree is reported, and log, status and claims show it', async () => {
    const file = join(worktree, 'src/a.ts');
    await prompt('s');
    await read('s/worker', file, worktree);
    await write('s/worker', file, 'one!\n', worktree);
    const told = await read('t', join(places.root, 'src/a.ts'));
    expect(timeless(told)).toContain(`changed src/a.ts in the worktree ${worktree} just now`);
    await door.close();
    const elsewhere = { cwd: worktree };
    expect((await lookfirst(places, ['claims'], elsewhere)).stdout).toContain('s/worker');
    expect((await lookfirst(places, ['log', '--kind', 'change'], elsewhere)).stdout).toContain('s/worker');
    expect((await lookfirst(places, ['status'], elsewhere)).stdout).toContain('s/worker');
  });

  it('claims in a removed worktree are not reported', async () => {
    onTestFinished(() => door.close());
    await prompt('s');
    await write('s', join(worktree, 'src/b.ts'), 'new\n', worktree);
    expect(await prompt('t')).toContain('works on');
    execFileSync('git', ['worktree', 'remove', '--force', worktree], { cwd: places.root });
    expect(await prompt('t')).toBe('');
  });
});
