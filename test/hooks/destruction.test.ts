import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { COMMAND_LINE } from '../../src/model/entry.ts';
import { isGitIndex, stagedContent } from '../../src/process/git-index.ts';
import { changeWords } from '../../src/report/command-words.ts';
import { openWorkspace } from '../../src/session/configured.ts';
import { environment, lookfirst, objects } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { runOnLayer, shellPrefix } from '../support/layered.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { setUp } from '../support/tool-calls.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const here = await sandboxHere();

let places: Scratch;

/** Runs a shell text in the workspace, as the user. */
function user(text: string): void {
  const env = { ...environment(places), GIT_CONFIG_NOSYSTEM: '1' };
  execFileSync('sh', ['-c', text], { cwd: places.root, env, stdio: 'pipe' });
}

/** Everything below a folder by path: of a file its mode and hash, of a git index what it stages. */
function stateOf(folder: string): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (at: string): void => {
    for (const { name } of readdirSync(at, { withFileTypes: true })) {
      const inside = join(at, name);
      const stats = lstatSync(inside);
      const mode = (stats.mode & 0o777).toString(8);
      const what = stats.isDirectory()
        ? 'folder'
        : stats.isSymbolicLink()
          ? `-> ${readlinkSync(inside)}`
          : `${mode} ${isGitIndex(inside) ? stagedContent(readFileSync(inside)) : hash('sha256', readFileSync(inside))}`;
      found.set(relative(places.base, inside), what);
      if (stats.isDirectory()) visit(inside);
    }
  };
  if (existsSync(folder)) visit(folder);
  return found;
}

/** The states of the workspace and of the second worktree. Git keeps objects, and may add some. */
function everything(): Record<string, string> {
  const all = [...stateOf(places.root), ...stateOf(join(places.base, 'wt'))];
  return Object.fromEntries(all.filter(([name]) => !/^root\/\.git\/objects\//.test(name)).sort());
}

const COMMITTED = `git init -q -b main && git config user.name a && git config user.email a@b
printf 'one\\ntwo\\n' > a.txt; mkdir src; echo code > src/b.txt; printf '.env\\n*.db\\ndist/\\n' > .gitignore
git add . && git commit -qm first`;

interface Scene {
  readonly title: string;
  /** The shell text that prepares the repository. */
  readonly before: string;
  readonly command: string;
  /** What the agent must be told about. */
  readonly lost: readonly RegExp[];
}

const SCENES: readonly Scene[] = [
  {
    title: 'reset --hard takes staged content that no file has',
    before: 'echo staged > a.txt; git add a.txt; printf "one\\ntwo\\n" > a.txt',
    command: 'git reset -q --hard',
    lost: [/a\.txt/],
  },
  {
    title: 'checkout -f takes a file that is only staged',
    before: 'echo staged > new.txt; git add new.txt; rm new.txt',
    command: 'git checkout -q -f',
    lost: [/new\.txt/],
  },
  {
    title: 'git rm takes staged content',
    before: 'echo staged > a.txt; git add a.txt; echo other > a.txt',
    command: 'git $(echo rm) -qf a.txt',
    lost: [/a\.txt/],
  },
  {
    title: 'checkout . takes edits',
    before: 'echo edit > a.txt; echo edit > src/b.txt',
    command: 'git checkout -q .',
    lost: [/a\.txt/, /src\/b\.txt/],
  },
  {
    title: 'stash drop takes a stash',
    before: 'echo edit > a.txt; git stash -q; echo more > a.txt; git stash -q',
    command: 'git stash drop -q',
    lost: [/stash/],
  },
  {
    title: 'stash clear takes all stashes',
    before: 'echo edit > a.txt; git stash -q; echo more > a.txt; git stash -q',
    command: 'git stash clear',
    lost: [/stash/],
  },
  {
    title: 'clean -fdx takes ignored and untracked files',
    before: 'echo KEY=1 > .env; head -c 5000 /dev/urandom > local.db; mkdir notes; echo n > notes/n.txt',
    command: 'git clean -fdxq',
    lost: [/\.env/, /local\.db/, /notes/],
  },
  {
    title: 'a script takes an ignored file',
    before: 'echo KEY=1 > .env; chmod 600 .env',
    command: `python3 -c "import os; os.remove('.env')"`,
    lost: [/\.env/],
  },
  {
    title: 'branch -D takes a branch',
    before: 'git checkout -qb feature; echo f > f.txt; git add .; git commit -qm f; git checkout -q main',
    command: 'git branch -qD feature',
    lost: [/feature/],
  },
  {
    title: 'update-ref -d takes a packed branch',
    before:
      'git checkout -qb feature; echo f > f.txt; git add .; git commit -qm f; git checkout -q main; git pack-refs --all',
    command: 'git update-ref -d refs/heads/feature',
    lost: [/feature/],
  },
  {
    title: 'fetch --prune takes the last reference to a remote branch',
    before:
      'git init -q --bare ../hub.git && git remote add hub ../hub.git && git checkout -qb feature && echo f > f.txt && git add . && git commit -qm f && git push -q hub feature main && git checkout -q main && git branch -qD feature && git -C ../hub.git branch -qD feature',
    command: 'git fetch -q --prune hub',
    lost: [/hub\/feature/],
  },
  {
    title: 'reset --hard moves a branch away from a commit',
    before: 'echo f > f.txt; git add .; git commit -qm f',
    command: 'git reset -q --hard HEAD~1',
    lost: [/main/],
  },
  {
    title: 'rm -rf takes a nested repository',
    before:
      'mkdir -p lib/inner && cd lib/inner && git init -q -b main && git config user.name a && git config user.email a@b && echo i > i.txt && git add . && git commit -qm i && echo j >> i.txt',
    command: 'rm -rf lib',
    lost: [/lib/],
  },
  {
    title: 'worktree remove --force takes another worktree',
    before:
      'git worktree add -q -b other ../wt && cd ../wt && echo edit >> a.txt && echo new > new.txt && echo KEY=2 > .env',
    command: 'git worktree remove --force ../wt',
    lost: [/wt/],
  },
  {
    title: 'rm -rf takes another worktree',
    before: 'git worktree add -q -b other ../wt && cd ../wt && echo edit >> a.txt && echo KEY=2 > .env',
    command: 'rm -rf ../wt',
    lost: [/wt/],
  },
  {
    title: 'rm -rf takes a folder with edits',
    before: 'echo edit > src/b.txt; echo new > src/new.txt; mkdir src/deep; echo d > src/deep/d.txt',
    command: 'rm -rf src',
    lost: [/src/],
  },
];

const TWINS: readonly Omit<Scene, 'lost'>[] = [
  { title: 'git status', before: 'echo edit > a.txt', command: 'git status' },
  { title: 'ls and grep', before: 'echo edit > a.txt', command: 'ls -la | grep -c a.txt; cat a.txt' },
  { title: 'a new branch', before: 'echo edit > a.txt', command: 'git checkout -qb x' },
  { title: 'a commit', before: 'echo edit > a.txt', command: 'git commit -qam edit' },
  {
    title: 'a commit of staged content',
    before: 'echo s > a.txt; git add a.txt',
    command: 'git commit -qm s',
  },
  { title: 'a switch of branches', before: 'git branch other', command: 'git checkout -q other' },
  {
    title: 'a switch that removes committed files',
    before: 'git checkout -qb other; echo f > f.txt; git add .; git commit -qm f',
    command: 'git checkout -q main',
  },
  { title: 'a stash', before: 'echo edit > a.txt; git add a.txt', command: 'git stash -q' },
  {
    title: 'a stash and its return',
    before: 'echo edit > a.txt',
    command: 'git stash -q && git stash pop -q',
  },
  { title: 'a merged branch', before: 'git branch merged', command: 'git branch -qd merged' },
  { title: 'build output', before: 'mkdir dist; echo out > dist/out.js', command: 'rm -rf dist' },
  { title: 'a committed file', before: 'true', command: 'git rm -q a.txt' },
  { title: 'an own file', before: 'true', command: 'echo t > tmp.txt; rm tmp.txt' },
  { title: 'a moved file', before: 'echo n > n.txt', command: 'mv n.txt m.txt' },
  { title: 'packed refs', before: 'git branch other', command: 'git pack-refs --all' },
  {
    title: 'a fast-forward',
    before: 'git checkout -qb f; echo f > f; git add f; git commit -qm f; git checkout -q main',
    command: 'git merge -q f',
  },
];

/** Runs a command as an agent, again if it is refused once, and returns the last answer. */
type Door = (command: string) => Promise<string>;

const images: Door = async (command) => {
  const hooked = new Hooked(places);
  const first = await hooked.shell(command);
  if (first.verdict === 'deny') expect(first.reason).toContain('[WOULD_DESTROY]');
  const { verdict, reason, context } = first.verdict === 'deny' ? await hooked.shell(command) : first;
  expect({ verdict, reason }).toEqual({ verdict: 'pass', reason: undefined });
  return context ?? '';
};

/** What `lookfirst run` does for the user, in this process. Returns what it would print. */
const run: Door = async (command) => {
  const sessions = await openWorkspace(
    { env: environment(places), cwd: places.root, platform: process.platform },
    {},
    [places.root],
  );
  try {
    const session = await sessions.session(COMMAND_LINE);
    const ran = await session.runBy('user', ['sh', '-c', command], { profile: 'undo', output: 'kept' });
    if (!ran.ok) throw new Error(ran.refusal.code);
    return changeWords(ran).join('\n');
  } finally {
    await sessions.close();
  }
};

let calls = 0;

/** Claude Code's Bash tool: the before-event, the line on a layer as our script runs it, the after-event. */
const layer: Door = async (command) => {
  calls += 1;
  const send = async (hook_event_name: string, more: object): Promise<Record<string, string>> => {
    const call = { tool_name: 'Bash', tool_input: { command }, tool_use_id: `call-${calls}` };
    const event = { session_id: 's', cwd: places.root, prompt_id: 't1', hook_event_name, ...call, ...more };
    // With a store of its own, a hook calls no resident process.
    const store = `sqlite:${join(places.home, 'lookfirst.db')}`;
    const prefix = { CLAUDE_CODE_SHELL_PREFIX: shellPrefix(places), CLAUDE_PROJECT_DIR: places.root };
    const env = { LOOKFIRST_STORE: store, ...prefix };
    const ran = await lookfirst(places, ['hook', 'claude-code'], { input: JSON.stringify(event), env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    return ran.stdout === '' ? {} : JSON.parse(ran.stdout).hookSpecificOutput;
  };
  const first = await send('PreToolUse', {});
  if (first['permissionDecisionReason'] !== undefined) {
    expect(first['permissionDecisionReason']).toContain('[WOULD_DESTROY]');
    calls += 1;
    expect(await send('PreToolUse', {})).not.toHaveProperty('permissionDecisionReason');
  }
  const { code, stdout, stderr, told } = await runOnLayer(places, command, 's');
  expect({ code, told }).toMatchObject({ code: 0 });
  const after = await send('PostToolUse', { tool_response: { code, stdout, stderr: stderr + told } });
  return `${told}${after['additionalContext'] ?? ''}`;
};

beforeEach(() => {
  places = scratch();
  user(COMMITTED);
});

async function changes(): Promise<Record<string, unknown>[]> {
  return objects(await lookfirst(places, ['log', '--kind', 'change', '--json']));
}

const DOORS: readonly [string, Door, boolean][] = [
  ['hooks without a layer', images, true],
  ['hooks with a layer', layer, here !== undefined],
  ['a command of the user', run, here !== undefined],
];

describe.each(DOORS)('%s', (name, door, canRun) => {
  it.skipIf(!canRun).each(SCENES)('$title: the agent is told, and undo brings all back', async (scene) => {
    user(scene.before);
    const before = everything();
    const told = await door(scene.command);
    expect(everything()).not.toEqual(before);
    for (const lost of scene.lost) expect(told).toMatch(lost);
    const [, change = ''] = /lookfirst undo (c[0-9a-f]+)/.exec(told) ?? [];
    expect({ told, change }).toMatchObject({ change: expect.stringMatching(/^c/) });
    const undone = await lookfirst(places, ['undo', change]);
    expect(undone).toMatchObject({ code: 0, stderr: '' });
    expect(everything()).toEqual(before);
    user('git fsck --connectivity-only --no-dangling');
  });

  it.skipIf(!canRun).each(TWINS)('$title is harmless: no word', async (twin) => {
    user(twin.before);
    const told = await door(twin.command);
    expect(told.split('\n').filter((line) => line.includes('lookfirst undo'))).toEqual([]);
    if (name === 'hooks without a layer' && twin.command === 'git status')
      expect(await changes()).toEqual([]);
  });
});

it.skipIf(here === undefined)('`lookfirst run` prints what its command removed', async () => {
  user('echo edit > a.txt');
  const { code, stderr } = await lookfirst(places, ['run', '--', 'sh', '-c', 'git checkout -q .']);
  expect(code).toBe(0);
  expect(stderr).toMatch(/removed what nothing else holds: a\.txt\. .*lookfirst undo c/);
});

it('the other session whose work a command removed is told once, at its next event', async () => {
  const victim = new Hooked(places);
  const other = victim.other('A');
  await victim.read('src/b.txt', 'code\n');
  const edit = { path: 'src/b.txt', old_string: 'code', new_string: 'work' };
  await victim.change('edit', edit, () => writeFileSync(join(places.root, 'src/b.txt'), 'work\n'));
  const done = await other.shell('git $(echo reset) -q --hard');
  expect(done.context).toContain('src/b.txt');
  const told = await victim.prompt('go on');
  expect(told.context).toMatch(
    /Session A's command ".*" removed your uncommitted change to src\/b\.txt\. lookfirst undo c[0-9a-f]+ restores it\./,
  );
  expect((await victim.prompt('again')).context ?? '').not.toContain('removed your uncommitted');
});

it('an MCP session whose work a command removed hears of it once, in the answer to its next call', async () => {
  const store = `sqlite:${join(places.home, 'lookfirst.db')}`;
  const victim = await setUp({ workspace: { roots: [places.root], home: places.home, store } });
  await victim.call('read_file', { path: 'src/b.txt' });
  await victim.call('edit_file', { path: 'src/b.txt', old_string: 'code', new_string: 'work' });
  const other = new Hooked(places, { session: 'A' });
  await other.shell('git $(echo reset) -q --hard');
  const { text } = await victim.call('list_directory', { path: '.' });
  expect(text).toMatch(
    /Session A's command ".*" removed your uncommitted change to src\/b\.txt\. lookfirst undo c/,
  );
  expect((await victim.call('list_directory', { path: '.' })).text).not.toContain('removed your');
});

it('status shows what was destroyed and kept, until it is undone', async () => {
  user('echo mine > new.txt');
  await images("node -e \"require('fs').rmSync('new.txt')\"");
  const { stdout } = await lookfirst(places, ['status']);
  expect(stdout).toMatch(
    /^destroyed +1 command removed what nothing else holds, .*; kept: lookfirst undo c\w+$/m,
  );
  await lookfirst(places, ['undo', '--yes', '--session', 's']);
  expect((await lookfirst(places, ['status'])).stdout).not.toContain('destroyed');
});

it('an undo of the index does not begin while git is at work', async () => {
  user('echo staged > a.txt; git add a.txt; printf "one\\ntwo\\n" > a.txt');
  const before = everything();
  await images('git $(echo reset) -q --hard');
  writeFileSync(join(places.root, '.git/index.lock'), '');
  const refused = await lookfirst(places, ['undo', '--session', 's']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/\.git\/index\.lock.*\[BUSY\]/);
  user('rm .git/index.lock');
  expect((await lookfirst(places, ['undo', '--session', 's'])).code).toBe(0);
  expect(everything()).toEqual(before);
});

it('many committed files that a line removes come back with the others', async () => {
  user(`mkdir many; for n in $(seq 80); do echo $n > many/$n.txt; done; chmod +x many/7.txt; git add .; git commit -qm many
echo edit >> many/5.txt; echo new > many/new.txt`);
  const before = everything();
  const agent = new Hooked(places);
  await agent.read('many/5.txt', '5\nedit\n');
  await agent.read('many/new.txt', 'new\n');
  const { context = '' } = await agent.shell('find many -type f -delete');
  expect(context).toMatch(/removed what nothing else holds: many/);
  expect(existsSync(join(places.root, 'many/7.txt'))).toBe(false);
  expect(await lookfirst(places, ['undo', '--yes', '--session', 's'])).toMatchObject({ code: 0 });
  expect(everything()).toEqual(before);
});

it('a short text is named if a program leaves none of its lines, a counter is not', async () => {
  user('printf "one plan\\nof the user\\n" > plan.txt; echo 1 > counter; printf "a\\nb\\n" > pair.txt');
  const told = await images(
    `find src -fprint plan.txt; python3 -c "open('counter', 'w').write('2'); open('pair.txt', 'w').write('a\\nc')"`,
  );
  expect(told).toMatch(/removed what nothing else holds: plan\.txt\. /);
});

it('a file that a script moves onto another is not named as lost, the other is', async () => {
  user('echo one > one.md; echo two > two.md');
  const told = await images(`node -e "require('fs').renameSync('one.md', 'two.md')"`);
  expect(told).toMatch(/removed what nothing else holds: two\.md\./);
});
