import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { type Answer, Hooked, outputOf } from '../support/hooked.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { HAS_MEMORY, IN_MEMORY, type Scratch, scratch } from '../support/tree.ts';

const here = await sandboxHere();

let places: Scratch;
let agent: Hooked;
let calls = 0;

beforeEach(() => {
  // Temporary folders may be emptied by any command.
  places = scratch(HAS_MEMORY ? IN_MEMORY : homedir());
  agent = new Hooked(places);
});

function write(name: string, text: string): string {
  const path = join(places.outside, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** The answer to the event before a command, in which OUTSIDE is the folder outside the workspace. */
function vetted(command: string): Promise<Answer> {
  const input = { command: command.replaceAll('OUTSIDE', places.outside) };
  calls += 1;
  return agent.send({ event: 'before', action: 'run', input, call: `b${calls}` });
}

function set(hooks: object, mode = 'enforce'): void {
  writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify({ mode, hooks }));
}

async function refusals(): Promise<readonly Record<string, unknown>[]> {
  const { stdout } = await lookfirst(places, ['log', '--kind', 'refusal', '--all', '--json']);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('by default, a line that destroys existing files outside the workspace', () => {
  it.each([
    'rm OUTSIDE/notes.txt',
    'rm -rf OUTSIDE/photos',
    'cd OUTSIDE/photos && rm -rf *',
    'find OUTSIDE/photos -type f -delete',
    'cp a.txt OUTSIDE/notes.txt',
    'mv OUTSIDE/photos/p.jpg OUTSIDE/notes.txt',
    ': > OUTSIDE/notes.txt',
    'sed -i 1d OUTSIDE/notes.txt',
    'truncate -s 0 ../outside/notes.txt',
    'pushd OUTSIDE && rm -rf photos; popd',
    'setsid -w rm -rf OUTSIDE/photos',
    "bash <<'E'\nrm -rf OUTSIDE/photos\nE",
    'echo rm -rf OUTSIDE/photos | sh',
    'f() { rm -rf "$@"; }; f OUTSIDE/photos',
    `a=(OUTSIDE/photos); rm -rf "\${a[@]}"`,
  ])('is refused once, then runs, and the user can undo it: %s', async (line) => {
    writeFileSync(join(places.root, 'a.txt'), 'a\n');
    const files = { 'notes.txt': 'the user\n', 'photos/p.jpg': 'one\n', 'photos/q.jpg': 'two\n' };
    for (const [name, text] of Object.entries(files)) write(name, text);
    const command = line.replaceAll('OUTSIDE', places.outside);
    const first = await agent.shell(command);
    expect(first.verdict).toBe('deny');
    expect(first.reason).toMatch(/outside the workspace \[WOULD_DESTROY\]/);
    expect(first.reason).toMatch(/notes\.txt|p\.jpg/);
    const second = await agent.shell(command);
    expect(second.verdict).toBe('pass');
    await lookfirst(places, ['undo', '--yes']);
    for (const [name, text] of Object.entries(files))
      expect([name, readFileSync(join(places.outside, name), 'utf8')]).toEqual([name, text]);
  });

  it.each(['git -C OUTSIDE reset -q --hard', 'git -C OUTSIDE clean -fdxq', 'cd OUTSIDE && git checkout .'])(
    'is refused once, then runs, and the user can undo it: %s',
    async (line) => {
      const path = write('notes.txt', 'committed\n');
      const git = `git -C ${places.outside} -c user.name=a -c user.email=a@b`;
      await outputOf(`${git} init -q; ${git} add .; ${git} commit -qm one`, places.root);
      const command = line.replaceAll('OUTSIDE', places.outside);
      expect((await vetted(line)).verdict).toBe('pass');
      write('notes.txt', 'the user\n');
      const fresh = write('new/file.txt', 'the user\n');
      expect((await agent.shell(command)).reason).toMatch(/(notes|file)\.txt.*outside the workspace/);
      expect((await agent.shell(command)).verdict).toBe('pass');
      expect(
        [path, fresh].some((each) => !existsSync(each) || readFileSync(each, 'utf8') !== 'the user\n'),
      ).toBe(true);
      await lookfirst(places, ['undo', '--yes']);
      for (const each of [path, fresh]) expect(readFileSync(each, 'utf8')).toBe('the user\n');
    },
  );

  it.each([
    ['git -C OUTSIDE stash drop -q', /stash@\{0\} of .*outside/, 'git stash list | wc -l', '1\n'],
    [
      'git -C OUTSIDE branch -qD topic',
      /topic of .*outside/,
      'git rev-parse --verify -q topic | wc -l',
      '1\n',
    ],
  ])('is refused once if it drops a stash or branch: %s', async (line, named, question, answer) => {
    write('notes.txt', 'committed\n');
    const git = `git -C ${places.outside} -c user.name=a -c user.email=a@b`;
    await outputOf(
      `${git} init -q -b main; ${git} add .; ${git} commit -qm one; ${git} checkout -qb topic
echo topic > ${places.outside}/topic.txt; ${git} add .; ${git} commit -qm two; ${git} checkout -q main
echo kept > ${places.outside}/notes.txt; ${git} stash -q`,
      places.root,
    );
    const command = line.replaceAll('OUTSIDE', places.outside);
    expect((await agent.shell(command)).reason).toMatch(named);
    expect((await agent.shell(command)).verdict).toBe('pass');
    const asked = question.replace('git', `git -C ${places.outside}`);
    expect(await outputOf(asked, places.root)).not.toBe(answer);
    await lookfirst(places, ['undo', '--yes']);
    expect(await outputOf(asked, places.root)).toBe(answer);
  });

  it('is refused again in another turn, and if other files are at risk', async () => {
    write('photos/p.jpg', 'one\n');
    await agent.prompt('clean up', { turn: 't1' });
    expect((await vetted('rm -rf OUTSIDE/photos')).verdict).toBe('deny');
    write('photos/q.jpg', 'two\n');
    expect((await vetted('rm -rf OUTSIDE/photos')).verdict).toBe('deny');
    await agent.prompt('go on', { turn: 't2' });
    expect((await vetted('rm -rf OUTSIDE/photos')).verdict).toBe('deny');
    expect((await vetted('rm -rf OUTSIDE/photos')).verdict).toBe('pass');
  });

  it.each([
    ['too large to keep', 9 << 20, {}],
    ['more than the budget', 2000, { keepBytes: 1000 }],
  ])('is refused for good if the files are %s', async (_, size, hooks) => {
    set(hooks);
    write('photos/p.jpg', 'x'.repeat(size));
    for (const _ of [1, 2]) {
      const { reason } = await vetted('rm -rf OUTSIDE/photos');
      expect(reason).toMatch(/cannot be kept.*WOULD_DESTROY/);
      expect(reason).toContain('repeating does not help');
    }
  });
});

it.each([
  'cat OUTSIDE/notes.txt && ls OUTSIDE',
  'echo x >> OUTSIDE/notes.txt',
  'echo x > OUTSIDE/new.txt',
  'cp OUTSIDE/notes.txt .',
  'rm -rf OUTSIDE/.cache/tool',
  'rm -rf OUTSIDE/missing',
  'rm -rf /tmp/lookfirst-test-missing',
])('by default, nothing outside is at risk in: %s', async (line) => {
  write('notes.txt', 'the user\n');
  write('.cache/tool/x', 'made again\n');
  expect(await vetted(line)).toEqual({ verdict: 'pass' });
});

it('by default, a session may remove a file outside that its own command made', async () => {
  await agent.shell(`echo x > ${places.outside}/made.txt`);
  expect((await agent.shell(`rm ${places.outside}/made.txt`)).verdict).toBe('pass');
  expect(existsSync(join(places.outside, 'made.txt'))).toBe(false);
});

it('keeps files outside that code in the line names, and undo by an agent leaves them', async () => {
  const path = write('notes.txt', 'the user\n');
  const { verdict, context } = await agent.shell(
    `node -e "require('fs').rmSync('${path}'); require('fs').writeFileSync('made.txt', 'x')"`,
  );
  expect(verdict).toBe('pass');
  expect(context).toContain('notes.txt');
  const own = await lookfirst(places, ['undo', '--yes'], {
    env: { CLAUDECODE: '1', LOOKFIRST_SESSION: 's' },
  });
  expect(own.code).toBe(2);
  expect(own.stderr).toContain('only the user');
  expect(existsSync(path)).toBe(false);
  await lookfirst(places, ['undo', '--yes']);
  expect(readFileSync(path, 'utf8')).toBe('the user\n');
});

describe('`hooks.outside: refuse`', () => {
  it.each([
    'echo x > OUTSIDE/new.txt',
    'echo x >> OUTSIDE/notes.txt',
    'rm OUTSIDE/notes.txt',
    'rm -rf OUTSIDE/photos',
    'git -C OUTSIDE/photos checkout .',
    'cd OUTSIDE/photos && git clean -fd',
    `node -e "require('fs').rmSync('OUTSIDE/notes.txt')"`,
    `python3 - <<'EOF'\nopen('OUTSIDE/notes.txt', 'w')\nEOF`,
  ])('denies %s', async (line) => {
    set({ outside: 'refuse' });
    write('notes.txt', 'the user\n');
    write('photos/p.jpg', 'one\n');
    for (const _ of [1, 2]) expect((await vetted(line)).reason).toContain('[OUTSIDE_WORKSPACE]');
  });

  it.each(['cat OUTSIDE/notes.txt', 'git -C OUTSIDE/photos log', 'node -e "console.log(1)"', 'git status'])(
    'lets pass %s',
    async (line) => {
      set({ outside: 'refuse' });
      write('notes.txt', 'the user\n');
      write('photos/p.jpg', 'one\n');
      expect(await vetted(line)).toEqual({ verdict: 'pass' });
    },
  );
});

it('`hooks.outside: pass` leaves files outside to the client', async () => {
  set({ outside: 'pass' });
  const path = write('notes.txt', 'the user\n');
  expect((await agent.shell(`rm ${path}`)).verdict).toBe('pass');
  expect(await refusals()).toEqual([]);
});

it.each(['destroy', 'refuse'])('`mode: observe` records one refusal with `outside: %s`', async (outside) => {
  set({ outside }, 'observe');
  const path = write('notes.txt', 'the user\n');
  expect((await agent.shell(`rm ${path}`)).verdict).toBe('pass');
  expect(existsSync(path)).toBe(false);
  expect(await refusals()).toMatchObject([{ observed: true }]);
});

it.skipIf(here === undefined)(
  'a command on a layer keeps files outside, and the user can undo it',
  async () => {
    const path = write('photos/p.jpg', 'one\n');
    const ran = await lookfirst(places, [
      'run',
      '--root',
      places.root,
      '--',
      'sh',
      '-c',
      `rm -rf ${places.outside}/photos`,
    ]);
    expect(ran.stderr).toContain('photos');
    expect(existsSync(path)).toBe(false);
    expect((await lookfirst(places, ['log'])).stdout).toContain(`${places.outside}/photos`);
    expect((await lookfirst(places, ['undo', '--yes'])).stdout).toContain('outside/photos/p.jpg');
    expect(readFileSync(path, 'utf8')).toBe('one\n');
  },
);
