import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst, PROGRAM, type Ran } from '../support/command-line.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let root: string;
let home: string;

/**
 * Runs `lookfirst` with these arguments. Sets `LOOKFIRST_STORE`, so that hook calls start no
 * background process.
 */
function run(args: readonly string[], input = ''): Promise<Ran> {
  const env = { LOOKFIRST_STORE: `sqlite:${join(home, 'lookfirst.db')}` };
  return lookfirst(places, args, { env, input });
}

/** Sends one event in the generic format. */
async function send(event: object): Promise<{ verdict: string; reason?: string; context?: string }> {
  const { stdout, stderr } = await run(
    ['hook', 'generic'],
    JSON.stringify({ session: 's', cwd: root, ...event }),
  );
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const announced = (action: string, input: object, call = 'c1') =>
  send({ event: 'before', action, input, call });
const reported = (action: string, input: object, more: object = {}) =>
  send({ event: 'after', action, input, call: 'c1', ...more });

/**
 * A shell command as an agent program runs it: the event before, the command itself, the event
 * after.
 */
async function shell(command: string): Promise<{ verdict: string; reason?: string; context?: string }> {
  const asked = await announced('run', { command });
  if (asked.verdict === 'deny') return asked;
  const output = await new Promise<string>((resolve) => {
    const child = spawn('sh', ['-c', command], { cwd: root });
    let text = '';
    child.stdout.on('data', (part) => {
      text += part;
    });
    child.on('close', () => resolve(text));
  });
  return reported('run', { command }, { output });
}

function put(name: string, text: string): void {
  writeFileSync(join(root, name), text);
}

function text(name: string): string {
  return readFileSync(join(root, name), 'utf8');
}

beforeEach(() => {
  places = scratch();
  ({ root, home } = places);
});

describe('a conversation through hooks', () => {
  it('a blind write is denied; read, write and undo work', async () => {
    put('a.txt', 'one\n');
    const blind = await announced('write', { path: 'a.txt', content: 'two\n' });
    expect(blind).toMatchObject({ verdict: 'deny', reason: expect.stringContaining('[NOT_READ]') });
    await reported('read', { path: 'a.txt' }, { output: 'one\n' });
    expect(await announced('write', { path: 'a.txt', content: 'two\n' })).toEqual({ verdict: 'pass' });
    put('a.txt', 'two\n');
    expect(await reported('write', { path: 'a.txt', content: 'two\n' })).toEqual({ verdict: 'pass' });
    expect((await run(['undo'])).code).toBe(0);
    expect(text('a.txt')).toBe('one\n');
  });

  it('a new file in a new folder can be undone', async () => {
    const input = { path: 'new/deep/a.txt', content: 'one\n' };
    expect(await announced('write', input)).toEqual({ verdict: 'pass' });
    mkdirSync(join(root, 'new/deep'), { recursive: true });
    put('new/deep/a.txt', 'one\n');
    await reported('write', input);
    expect(await run(['undo'])).toMatchObject({ code: 0 });
    expect(existsSync(join(root, 'new'))).toBe(false);
  });

  it.each(['no repository', 'a repository without an index'])(
    'a shell change of unread files can be undone in a folder with %s',
    async (kind) => {
      if (kind !== 'no repository') spawnSync('git', ['init', '-q'], { cwd: root });
      put('a.txt', 'one\n');
      put('b.txt', 'bee\n');
      await shell('for f in *.txt; do echo changed >> $f; done; $(echo rm) b.txt; echo new > c.txt');
      expect(text('a.txt')).toBe('one\nchanged\n');
      expect(await run(['undo'])).toMatchObject({ code: 0 });
      expect([text('a.txt'), text('b.txt')]).toEqual(['one\n', 'bee\n']);
      expect(existsSync(join(root, 'c.txt'))).toBe(false);
    },
  );

  it('a change without its before-event is recorded as unjudged and licenses nothing', async () => {
    put('a.txt', 'one\n');
    const { context } = await reported('write', { path: 'a.txt', content: 'one\n' });
    expect(context).toContain('without a check');
    expect(await announced('write', { path: 'a.txt', content: 'two\n' })).toMatchObject({ verdict: 'deny' });
    expect((await run(['log'])).stdout).toContain('without a check');
  });

  it('lines in the output of a command count as read', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    await shell('head -n 2 a.txt');
    expect(await announced('write', { path: 'a.txt', content: 'x\n' })).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('[PARTIALLY_READ]'),
    });
    await shell('cat a.txt | grep -v nothing');
    expect(await announced('write', { path: 'a.txt', content: 'x\n' })).toEqual({ verdict: 'pass' });
  });

  it.each(['mv a.txt b.txt', 'cp a.txt b.txt', 'git mv a.txt b.txt'])(
    'a file that a command gave another name counts as seen under it: %s',
    async (command) => {
      put('a.txt', 'one\ntwo\nthree\n');
      spawnSync('sh', ['-c', 'git init -q && git add -A'], { cwd: root });
      await shell('head -n 2 a.txt');
      await shell(command);
      const edit = { path: 'b.txt', old_string: 'two', new_string: '2' };
      expect(await announced('edit', edit, 'c2')).toEqual({ verdict: 'pass' });
      expect(await announced('write', { path: 'b.txt', content: 'x\n' }, 'c3')).toMatchObject({
        reason: expect.stringContaining('[PARTIALLY_READ]'),
      });
    },
  );

  it('files in a folder that a command moved count as seen', async () => {
    mkdirSync(join(root, 'd'));
    put('d/a.txt', 'one\n');
    put('d/unseen.txt', 'other\n');
    await shell('cat d/a.txt');
    await shell('mv d e');
    expect(await announced('write', { path: 'e/a.txt', content: 'x\n' }, 'c2')).toEqual({ verdict: 'pass' });
    expect(await announced('write', { path: 'e/unseen.txt', content: 'x\n' }, 'c3')).toMatchObject({
      reason: expect.stringContaining('[NOT_READ]'),
    });
  });

  it.each([
    'cat "my dir/a b.txt"',
    "cat -- 'my dir/a b.txt' | head -100",
    'for f in my*/*.txt; do echo "== $f"; cat "$f"; done',
    'git diff',
    'git add -A && git show ":my dir/a b.txt"',
  ])('a file that a command shows counts as seen, whatever its name: %s', async (command) => {
    mkdirSync(join(root, 'my dir'));
    put('my dir/a b.txt', 'one\n');
    spawnSync('sh', ['-c', 'git init -q && git add -A'], { cwd: root });
    put('my dir/a b.txt', 'one\ntwo\n');
    await shell(command);
    const write = { path: 'my dir/a b.txt', content: 'x\n' };
    expect(await announced('write', write, 'c2')).toEqual({ verdict: 'pass' });
  });

  it.each(["cat > a.txt <<'EOF'\none\ntwo\nEOF", 'echo one > a.txt', "printf '%s\\n' one two > a.txt"])(
    'a file that a command wrote from its own text counts as seen: %s',
    async (command) => {
      await shell(command);
      expect(await announced('write', { path: 'a.txt', content: 'x\n' }, 'c2')).toEqual({ verdict: 'pass' });
    },
  );

  it('a here-document whose text another program has changed since does not count as seen', async () => {
    await shell("cat > a.txt <<'EOF'\none\ntwo\nEOF\necho three >> a.txt");
    expect(await announced('write', { path: 'a.txt', content: 'x\n' }, 'c2')).toMatchObject({
      reason: expect.stringContaining('[NOT_READ]'),
    });
  });

  it.each([
    'grep -rn two src',
    'grep -r two .',
    'cd src && grep -rn two .',
    'find . -name "*.txt" | xargs grep -n two',
  ])('lines that a search in a folder shows count as read: %s', async (command) => {
    mkdirSync(join(root, 'src'));
    put('src/a.txt', 'one\ntwo\nthree\n');
    put('src/b.txt', 'nothing\n');
    put('other.txt', 'two\n');
    await shell(command);
    const edit = { path: 'src/a.txt', old_string: 'two', new_string: '2' };
    expect(await announced('edit', edit, 'c2')).toEqual({ verdict: 'pass' });
    expect(await announced('write', { path: 'src/b.txt', content: 'x\n' }, 'c3')).toMatchObject({
      reason: expect.stringContaining('[NOT_READ]'),
    });
  });

  it.each([
    'echo x > a.txt',
    'cat <<EOF > a.txt\nx\nEOF',
    'echo x | tee a.txt',
    'cp b.txt a.txt',
    'mv b.txt a.txt',
    "sed -i 's/one/two/' a.txt",
    "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\nE",
    "cd . && apply_patch <<'E'\n*** Begin Patch\n*** Add File: a.txt\n+two\n*** End Patch\nE",
  ])('a shell command that certainly overwrites an unread file is denied: %s', async (command) => {
    put('a.txt', 'one\n');
    put('b.txt', 'bee\n');
    expect(await announced('run', { command })).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('[NOT_READ]'),
    });
  });

  it.each([
    'git commit -m "echo x > a.txt"',
    'echo "> a.txt"',
    'ls -la',
    'cat a.txt',
    'echo x > new.txt',
    'echo x > /dev/null',
    'cp a.txt new.txt',
    'mv a.txt new.txt',
    'cp a.txt /elsewhere/new.txt',
    'cp -r from/ into',
    'cp -r from into',
    'cp -r from/. into',
  ])('a command that overwrites nothing passes without a recorded refusal: %s', async (command) => {
    put('a.txt', 'one\n');
    mkdirSync(join(root, 'from'));
    mkdirSync(join(root, 'into/from'), { recursive: true });
    expect(await announced('run', { command })).toEqual({ verdict: 'pass' });
    expect((await run(['log', '--kind', 'refusal', '--json'])).stdout).toBe('');
  });

  it('a command may write its own output file again', async () => {
    expect(await shell('echo first > out.log')).toEqual({ verdict: 'pass' });
    expect(await shell('echo second > out.log')).toEqual({ verdict: 'pass' });
    expect(text('out.log')).toBe('second\n');
  });

  it("a command's change of a seen file is one change that can be undone", async () => {
    put('a.txt', 'one\ntwo\n');
    await shell('cat a.txt');
    expect(await shell("sed -i 's/one/ONE/' a.txt")).toEqual({ verdict: 'pass' });
    expect(text('a.txt')).toBe('ONE\ntwo\n');
    expect((await run(['undo'])).code).toBe(0);
    expect(text('a.txt')).toBe('one\ntwo\n');
  });

  it('in a repository, a command can be undone even for files that no session has seen', async () => {
    put('a.txt', 'one\n');
    put('b.txt', 'bee\n');
    await shell('git init -q && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm x');
    await shell("python3 -c \"open('a.txt','w').write('z')\"; $(echo rm) b.txt; mkdir d; echo n > d/new.txt");
    expect(existsSync(join(root, 'b.txt'))).toBe(false);
    expect((await run(['undo'])).code).toBe(0);
    expect(text('a.txt')).toBe('one\n');
    expect(text('b.txt')).toBe('bee\n');
    expect(existsSync(join(root, 'd/new.txt'))).toBe(false);
  });

  it("a command that drops another writer's change is reported, with the way to restore it", async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    await shell('cat a.txt');
    const asked = await announced('run', { command: 'python3 patch.py' });
    expect(asked.verdict).toBe('pass');
    await reported('run', { command: 'python3 patch.py' }, { output: '' });
    put('a.txt', 'one\ntwo, by hand\nthree\n');
    await announced('run', { command: 'python3 patch.py' }, 'c2');
    put('a.txt', 'one\ntwo\nTHREE\n');
    const ended = await send({
      event: 'after',
      action: 'run',
      input: { command: 'python3 patch.py' },
      call: 'c2',
      output: '',
    });
    expect(ended.context).toContain('two, by hand');
    expect(ended.context).toMatch(/undo c\w+/);
  });

  it("a command that keeps another writer's change passes without a notice", async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    await shell('cat a.txt');
    put('a.txt', 'one\ntwo, by hand\nthree\n');
    expect(await shell("sed -i 's/three/THREE/' a.txt")).toEqual({ verdict: 'pass' });
    expect(text('a.txt')).toBe('one\ntwo, by hand\nTHREE\n');
  });

  it('judges a call even if the current folder was deleted', () => {
    put('a.txt', 'one\n');
    const event = { event: 'before', action: 'write', session: 's', cwd: root, call: 'c' };
    const input = JSON.stringify({ ...event, input: { path: 'a.txt', content: 'x' } });
    const line = `mkdir gone && cd gone && rmdir ../gone && exec "${PROGRAM.join('" "')}" hook generic`;
    const env = {
      ...process.env,
      LOOKFIRST_HOME: home,
      LOOKFIRST_STORE: `sqlite:${join(home, 'lookfirst.db')}`,
    };
    const { status, stdout } = spawnSync('sh', ['-c', line], { cwd: root, env, input, encoding: 'utf8' });
    expect(stdout).toContain('[NOT_READ]');
    expect(status).toBe(2);
  });

  it('log hides entries about processes that join a session, unless --kind or --json asks for all', async () => {
    put('a.txt', 'one\n');
    await send({ event: 'start' });
    await send({ event: 'prompt', prompt: 'x' });
    expect((await run(['log'])).stdout).not.toContain('session continued');
    expect((await run(['log', '--kind', 'session'])).stdout).toContain('session continued');
    expect((await run(['log', '--json'])).stdout).toContain('"continued"');
  });

  it('compaction clears what was read', async () => {
    put('a.txt', 'one\n');
    await shell('cat a.txt');
    await send({ event: 'compacted' });
    expect(await announced('write', { path: 'a.txt', content: 'x\n' })).toMatchObject({ verdict: 'deny' });
  });

  it.each([
    ['compacted', [{ event: 'compacted' }, { event: 'compacted' }]],
    ['resumed', [{ event: 'end' }, { event: 'start', resumed: true }]],
  ])('log names once what a client reports by two events: session %s', async (what, events) => {
    put('a.txt', 'one\n');
    await send({ event: 'start' });
    await shell('cat a.txt');
    for (const event of events) await send(event);
    const count = async (): Promise<number> =>
      (await run(['log'])).stdout.split(`session ${what}`).length - 1;
    expect(await count()).toBe(1);
    await shell('cat a.txt');
    for (const event of events) await send(event);
    expect(await count()).toBe(2);
  });

  it('log names the files that a command changed', async () => {
    put('a.txt', 'one\n');
    await shell('cat a.txt');
    await shell('echo two > a.txt');
    expect((await run(['log', '--kind', 'change'])).stdout).toMatch(/run echo two > a\.txt +a\.txt /);
    await shell('mkdir src && echo x > src/b.txt && echo y > src/c.txt');
    expect((await run(['log', '--kind', 'change'])).stdout).toMatch(/\(2 files\) +src\/b\.txt /);
  });

  it('observe lets everything pass and records what would have been refused', async () => {
    put('a.txt', 'one\n');
    writeFileSync(join(home, 'lookfirst.json'), JSON.stringify({ mode: 'observe' }));
    expect(await announced('write', { path: 'a.txt', content: 'x\n' })).toEqual({ verdict: 'pass' });
    expect((await run(['log'])).stdout).toContain('would have refused overwrite NOT_READ (it passed)');
  });

  it.each([
    'lookfirst remove claude-code',
    'npx -y lookfirst allow a.txt',
    'cd / && lookfirst sessions forget s',
    'lookfirst gc --purge a',
  ])('an agent is refused an operator command, and the attempt is journalled: %s', async (command) => {
    expect(await announced('run', { command })).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('[PROTECTED]'),
    });
    expect((await run(['log'])).stdout).toContain('refused to an agent');
  });

  it.each(['lookfirst run -- git init', 'lookfirst run -- biome check --apply .'])(
    'an agent may run a program whose words are those of an operator command: %s',
    async (command) => {
      expect(await announced('run', { command })).toEqual({ verdict: 'pass' });
    },
  );

  it('an agent may not write client settings that contain our hooks, but may write others', async () => {
    mkdirSync(join(root, '.claude'));
    put('.claude/settings.local.json', '{"hooks": {"PreToolUse": ["lookfirst-hook"]}}');
    await shell('cat .claude/settings.local.json');
    const input = { path: '.claude/settings.local.json', content: '{}' };
    expect(await announced('write', input)).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('[PROTECTED]'),
    });
    expect(await announced('run', { command: 'echo {} > .claude/settings.local.json' })).toMatchObject({
      verdict: 'deny',
    });
    put('.claude/settings.local.json', '{}');
    await shell('cat .claude/settings.local.json');
    expect(await announced('write', input, 'c9')).toEqual({ verdict: 'pass' });
  });
});
