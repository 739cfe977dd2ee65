import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { subAgentChoice } from '../../src/tools/session-choice.ts';
import { lookfirst } from '../support/command-line.ts';
import { Hooked, outputOf } from '../support/hooked.ts';
import { ReplayedClient } from '../support/replayed-client.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;

function put(name: string, text: string): void {
  writeFileSync(join(places.root, name), text);
}

const write = (path: string) => ({ event: 'before', action: 'write', input: { path, content: 'x' } });

beforeEach(() => {
  places = scratch();
  // `git` removes the time limit for git. The default of three seconds may be too short on a loaded
  // machine.
  agent = new Hooked(places);
  put('a.txt', 'one\n');
  put('b.txt', 'bee\n');
});

it('a change belongs to the turn of the last prompt, even if the client names no turns and another process began the turn', async () => {
  await agent.prompt('first');
  await agent.prompt('second');
  const other = new Hooked(places);
  await other.change('write', { path: 'new.ts', content: 'a' }, () => put('new.ts', 'a'));
  const sessions = await Sessions.open({ roots: [places.root], home: places.home });
  const [turn] = await sessions.world.store.entries({ session: 's', kinds: ['turn'], limit: 1 });
  const changes = await sessions.world.store.entries({ session: 's', kinds: ['change'] });
  await sessions.close();
  expect(turn).toMatchObject({ prompt: 'second' });
  expect(changes).toMatchObject([{ path: 'new.ts', turn: turn?.turn }]);
});

describe('files that other programs change', () => {
  it('are named once, in the first prompt after the change', async () => {
    await agent.prompt('first');
    await agent.read('a.txt', 'one\n');
    await agent.read('b.txt', 'bee\n');
    expect(await agent.prompt('second')).toEqual({ verdict: 'pass' });
    put('a.txt', 'ONE\n');
    expect((await agent.prompt('third')).context).toBe(
      'Lookfirst: changed by others since you read it: a.txt.',
    );
    expect(await agent.prompt('fourth')).toEqual({ verdict: 'pass' });
    put('a.txt', 'again\n');
    put('b.txt', 'BEE\n');
    expect((await agent.prompt('fifth')).context).toContain('a.txt, b.txt');
  });

  it("are not named if the session's own command changed them", async () => {
    await agent.prompt('first');
    await agent.shell('cat a.txt');
    await agent.shell('sed -i s/one/two/ a.txt');
    expect(await agent.prompt('second')).toEqual({ verdict: 'pass' });
  });

  it('are journalled with the session that changed or deleted them', async () => {
    await agent.prompt('first');
    await agent.read('a.txt', 'one\n');
    await agent.read('b.txt', 'bee\n');
    const other = agent.other('other');
    await other.shell('cat a.txt; $(echo rm) b.txt; echo two >> a.txt');
    expect((await agent.prompt('second')).context).toContain(
      'changed by others since you read it: a.txt, b.txt.',
    );
    const sessions = await Sessions.open({ roots: [places.root], home: places.home });
    const notices = await sessions.world.store.entries({ session: 's', kinds: ['notice'] });
    await sessions.close();
    const told = notices.map(({ path, text }) => `${path}: ${text}`);
    expect(told.filter((text) => text.endsWith('since this session saw it')).sort()).toEqual([
      'a.txt: changed by session other since this session saw it',
      'b.txt: changed by session other since this session saw it',
    ]);
  });

  it('are journalled in the turn of the change if a formatter runs after it', async () => {
    await agent.prompt('first', { turn: 'turn-1' });
    const input = { path: 'new.ts', content: 'a=1' };
    await agent.change('write', input, () => put('new.ts', 'a=1'));
    put('new.ts', 'a = 1;\n');
    await agent.send({ event: 'turn-end' });
    const sessions = await Sessions.open({ roots: [places.root], home: places.home });
    const notices = await sessions.world.store.entries({ session: 's', kinds: ['notice'] });
    await sessions.close();
    expect(notices).toMatchObject([
      { path: 'new.ts', turn: 'turn-1', text: expect.stringContaining('changed by') },
    ]);
  });
});

it('a notice of Claude Code about a background task begins no turn; what follows belongs to the turn before', async () => {
  const fixture = join(
    import.meta.dirname,
    '../fixtures/hooks/claude-code/UserPromptSubmit-task-notification.json',
  );
  const notification = JSON.parse(readFileSync(fixture, 'utf8'));
  const client = new ReplayedClient(places, 'claude-code');
  client.session = 'main';
  const { root: cwd } = places;
  const rest = { session_id: 'main', cwd, hook_event_name: 'UserPromptSubmit' };
  await client.send({ ...notification, ...rest, prompt_id: 'p1', prompt: 'the task' });
  await client.send({ ...notification, ...rest });
  const write = { tool_name: 'Write', tool_input: { file_path: join(cwd, 'c.txt'), content: 'c\n' } };
  const call = { ...rest, ...write, tool_use_id: 'toolu_1', prompt_id: notification.prompt_id };
  await client.send({ ...call, hook_event_name: 'PreToolUse' });
  put('c.txt', 'c\n');
  await client.send({ ...call, hook_event_name: 'PostToolUse', tool_response: {} });
  const sessions = await Sessions.open({ roots: [cwd], home: places.home });
  const entries = await sessions.world.store.entries({ session: 'main', kinds: ['turn', 'change'] });
  await sessions.close();
  expect(entries).toMatchObject([
    { kind: 'change', path: 'c.txt', turn: 'p1' },
    { kind: 'turn', turn: 'p1', prompt: 'the task' },
  ]);
});

it.each([
  ['vscode', 'replace_string_in_file'],
  ['opencode', 'edit'],
] as const)('a refusal names the argument as %s does', async (name, _tool) => {
  const client = new ReplayedClient(places, name);
  await client.read('a.txt');
  const { denied, text } = await client.edit('a.txt', 'one', 'one');
  expect([denied, text]).toEqual([true, expect.stringContaining('oldString and newString are the same')]);
  expect(text).not.toContain('old_string');
});

describe('searches', () => {
  it.each(['.', 'ROOT'])('of the folder in which the program runs (%s) are recorded once', async (folder) => {
    const path = folder === 'ROOT' ? places.root : folder;
    const input = { pattern: 'o', path };
    await agent.send({ event: 'after', action: 'search', input, output: 'a.txt:1:one' });
    const sessions = await Sessions.open({ roots: [places.root], home: places.home });
    const reads = await sessions.world.store.entries({ session: 's', kinds: ['read'] });
    await sessions.close();
    expect(reads).toHaveLength(1);
  });

  it('credit the lines they show, and no others', async () => {
    mkdirSync(join(places.root, 'src'));
    put('src/x.ts', 'alpha\nbeta\n');
    const input = { pattern: 'a' };
    const search = (output: string) => agent.send({ event: 'after', action: 'search', input, output });
    await search('src/x.ts:1:alpha');
    expect((await agent.send({ ...write('src/x.ts'), call: '1' })).reason).toContain('[PARTIALLY_READ]');
    await search('src/x.ts:2:invented\nsrc/x.ts:2:beta');
    expect((await agent.send({ ...write('src/x.ts'), call: '2' })).verdict).toBe('pass');
  });
});

describe("calls of our own server by Claude Code's sub-agents", () => {
  it('use the session of the sub-agent whose hook announced the call', async () => {
    const sessions = await Sessions.open({ roots: [places.root], home: places.home });
    const session = await sessions.session('main/worker');
    await session.announceOwnCall('toolu_1');
    const chosen = { kind: 'named', id: 'main' } as const;
    const of = (call: string) =>
      subAgentChoice(sessions.world.store, chosen, { 'claudecode/toolUseId': call });
    expect(await of('toolu_1')).toEqual({ kind: 'named', id: 'main/worker' });
    expect(await of('toolu_2')).toEqual(chosen);
    expect(subAgentChoice(sessions.world.store, chosen, {})).toBeUndefined();
    const change = await session.announcedAs('toolu_1');
    await session.settle(change ?? '', 'done');
    expect(await of('toolu_1')).toEqual(chosen);
    expect(await sessions.world.store.entries({ kinds: ['change'] })).toEqual([]);
    await sessions.close();
  });
});

describe('lookfirst rewind and git', () => {
  const commit = 'git -c user.name=a -c user.email=a@b.c commit -qam';

  it('leaves HEAD and index unchanged, says so, and prints the command that resets them', async () => {
    await outputOf(`git init -q -b main && git add -A && ${commit} one`, places.root);
    const head = (await outputOf('git rev-parse HEAD', places.root)).trim();
    await agent.prompt('go', { turn: 'turn-1' });
    await agent.shell(`echo two > c.txt; git add c.txt; ${commit} two; git switch -qc other`);
    const moved = await outputOf('git rev-parse HEAD', places.root);
    const ran = await lookfirst(places, ['rewind', 'turn-1']);
    expect(ran.code).toBe(0);
    expect(existsSync(join(places.root, 'c.txt'))).toBe(false);
    expect(ran.stderr).toContain('git itself was not rewound');
    expect(ran.stderr).toContain('git symbolic-ref HEAD refs/heads/main');
    expect(ran.stderr).toContain(`git reset ${head.slice(0, 12)}`);
    expect(await outputOf('git rev-parse HEAD', places.root)).toBe(moved);
  });

  it('says nothing if git has only refreshed its index', async () => {
    await outputOf(`git init -q -b main && git add -A && ${commit} one`, places.root);
    await agent.prompt('go', { turn: 'turn-1' });
    await agent.shell('echo two > c.txt; touch a.txt; git status');
    expect((await lookfirst(places, ['rewind', 'turn-1'])).stderr).toBe('');
  });

  it('keeps ignored and untracked files that existed before', async () => {
    put('.gitignore', 'secret.txt\n');
    await outputOf(`git init -q -b main && git add -A && ${commit} one`, places.root);
    put('secret.txt', 'mine\n');
    put('untracked.txt', 'mine too\n');
    await agent.prompt('go', { turn: 'turn-1' });
    await agent.shell(
      `python3 -c "open('.gitignore','w'); open('untracked.txt','a').write('x'); open('n','w')"`,
    );
    expect((await lookfirst(places, ['rewind', 'turn-1'])).code).toBe(0);
    expect(readFileSync(join(places.root, 'secret.txt'), 'utf8')).toBe('mine\n');
    expect(readFileSync(join(places.root, 'untracked.txt'), 'utf8')).toBe('mine too\n');
    expect([
      existsSync(join(places.root, 'n')),
      readFileSync(join(places.root, '.gitignore'), 'utf8'),
    ]).toEqual([false, 'secret.txt\n']);
  });
});
