import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { environment, lookfirst } from '../support/command-line.ts';
import { Hooked, outputOf } from '../support/hooked.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { HAS_MEMORY, IN_MEMORY, type Scratch, scratch } from '../support/tree.ts';

const here = await sandboxHere();

let places: Scratch;
let agent: Hooked;

/** Runs a shell text in the workspace, as the user. */
function user(text: string): string {
  const env = { ...environment(places), GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('sh', ['-ec', text], { cwd: places.root, env, encoding: 'utf8' });
}

const COMMITTED = `git init -q -b main && git config user.name a && git config user.email a@b
printf 'one\\ntwo\\n' > a.txt; mkdir src; echo code > src/b.txt; printf '.env\\ndist/\\nnode_modules/\\n' > .gitignore
git add . && git commit -qm first`;

beforeEach(() => {
  // Temporary folders outside the workspace may be emptied by any command.
  places = scratch(HAS_MEMORY ? IN_MEMORY : homedir());
  user(COMMITTED);
  agent = new Hooked(places);
});

async function write(by: Hooked, path: string, text: string): Promise<void> {
  const at = join(places.root, path);
  if (existsSync(at)) await by.read(path, readFileSync(at, 'utf8'));
  const made = await by.change('write', { path, content: text }, () => {
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, text);
  });
  expect(made.verdict).toBe('pass');
}

const BRANCH = 'git checkout -qb feature; echo f > f.txt; git add .; git commit -qm f; git checkout -q main';

/** More files than are compared one by one. */
const MANY = 'mkdir many; for i in $(seq 60); do echo $i > many/$i; done; git add .; git commit -qm many';

const CONFLICTING_STASH = 'echo x >> a.txt; git stash -q; echo z > a.txt; git commit -qam z';

/** The index of the second commit has work of which the file has nothing. */
const ONLY_STAGED =
  'git commit -q --allow-empty -m second; echo y >> src/b.txt; echo staged > a.txt; git add a.txt; git show HEAD:a.txt > a.txt';

it('of three refusals in a row, each has its next step in the first line and may be repeated', async () => {
  user('echo x >> a.txt; echo n > new.txt');
  await agent.prompt('tidy up');
  for (const command of ['git checkout .', 'git reset -q --hard', 'git clean -fdx']) {
    const { reason = '' } = await agent.shell(command);
    expect(reason.split('\n')[0]).toContain('If you repeat the same command, it runs');
    expect(reason).not.toContain('repeating does not help');
  }
  for (const count of [1, 2, 3]) {
    const { reason = '' } = await agent.shell(`rm new.txt # ${count}`);
    expect(reason.split('\n')[0]).toMatch(/\[NOT_READ\] Next: .*new\.txt/);
    expect(reason.includes('in a row')).toBe(count === 3);
  }
});

describe('a sweep is refused once, with what it would destroy', () => {
  it.each<readonly [string, string, readonly string[]]>([
    ['git checkout .', 'echo x >> a.txt; echo y >> src/b.txt', ['a.txt', 'src/b.txt']],
    ['git checkout -- src', 'echo x >> a.txt; echo y >> src/b.txt', ['src/b.txt']],
    ['cd src && git checkout .', 'echo x >> a.txt; echo y >> src/b.txt', ['src/b.txt']],
    ['git -C src restore .', 'echo y >> src/b.txt', ['src/b.txt']],
    ['git reset -q --hard', 'echo x >> a.txt', ['a.txt']],
    ['git add -A && git reset -q --hard', 'echo n > new.txt', ['new.txt']],
    ['git add -A && git reset -q --hard', ONLY_STAGED, ['a.txt', 'src/b.txt']],
    ['git commit -qam x && git reset -q --hard HEAD~1', ONLY_STAGED, ['a.txt']],
    ['git stash -q && git stash drop -q', ONLY_STAGED, ['a.txt', 'src/b.txt']],
    ['git reset -q', 'echo staged > a.txt; git add a.txt; echo later > a.txt', ['a.txt']],
    ['git clean -fdx', 'echo K=1 > .env; mkdir n; echo n > n/n.txt', ['.env', 'n/n.txt']],
    ['git stash drop', 'echo x >> a.txt; git stash -q', ['stash@{0}']],
    ['git stash -q && git stash drop', 'echo x >> a.txt', ['a.txt']],
    ['git stash -q && git stash drop', 'echo x >> a.txt; git stash -q', ['stash@{0}']],
    ['git stash pop -q && git reset -q --hard', 'echo x >> a.txt; git stash -q', ['stash@{0}']],
    ['git stash pop -q || git stash drop -q', CONFLICTING_STASH, ['stash@{0}']],
    [
      'git checkout -q HEAD~1 -- .',
      'git commit -q --allow-empty -m s; echo staged > a.txt; git add a.txt; echo later > a.txt',
      ['a.txt', 'a.txt'],
    ],
    ['git branch -D feature', BRANCH, ['feature']],
    ['git update-ref -d refs/heads/feature', BRANCH, ['feature']],
    ['git update-ref refs/heads/feature main', BRANCH, ['feature']],
    ['rm -rf src', 'echo n > src/new.txt; echo y >> src/b.txt', ['src/b.txt', 'src/new.txt']],
    [
      'rm -rf src vendor',
      'echo n > src/new.txt; git init -q vendor; echo v > vendor/v.txt',
      ['src/new.txt', 'vendor/v.txt'],
    ],
    ['find . -maxdepth 1 -name src -exec rm -rf {} +', 'echo n > src/new.txt', ['src/new.txt']],
    ['git checkout -qf other', 'git branch other; echo x >> a.txt', ['a.txt']],
    [
      'git merge --abort',
      'git checkout -qb o; echo o > a.txt; git commit -qam o; git checkout -q main; echo m > a.txt; git commit -qam m; git merge o || echo mine > a.txt',
      ['a.txt'],
    ],
    ["bash -c 'git checkout .'", 'echo x >> a.txt', ['a.txt']],
    ['git undo-all', "git config alias.undo-all 'checkout -- .'; echo x >> a.txt", ['a.txt']],
    [
      'git nuke src',
      "git config alias.nuke '!f() { git clean -fdq $1; }; f'; echo n > src/new.txt",
      ['src/new.txt'],
    ],
    ['git branch | grep feat | xargs git branch -qD', BRANCH, ['feature']],
    ['git ls-files -m | xargs git checkout -q --', 'echo x >> a.txt', ['a.txt']],
    ['if test -d .git; then git checkout .; fi', 'echo x >> a.txt', ['a.txt']],
  ])('%s', async (command, before, names) => {
    user(before);
    const status = user('git status --porcelain --ignored; git stash list; git branch');
    const first = await agent.shell(command);
    expect(first).toMatchObject({ verdict: 'deny', reason: expect.stringContaining('[WOULD_DESTROY]') });
    const named = [...(first.reason ?? '').matchAll(/^- (\S+?)(?: \(\w+\))?: /gm)].map(([, name]) => name);
    expect(named).toEqual(names);
    expect(user('git status --porcelain --ignored; git stash list; git branch')).toBe(status);
    // Repeated, the line runs, and everything comes back.
    const again = await agent.shell(command);
    expect(again).toMatchObject({ verdict: 'pass' });
    const [, change = ''] = /lookfirst undo (c[0-9a-f]+)/.exec(again.context ?? '') ?? [];
    expect(await lookfirst(places, ['undo', change])).toMatchObject({ code: 0 });
    expect(user('git status --porcelain --ignored; git stash list; git branch')).toBe(status);
  });
});

it.each([
  ['a file of which git knows an edit', 'true'],
  ['a file that git does not look at', 'git update-index --assume-unchanged many/7'],
])('a line that deletes many files by name does not delete an unseen edit: %s', async (_what, mark) => {
  user(`${MANY}; ${mark}; echo mine >> many/7`);
  const { reason } = await agent.shell('find many -type f -delete');
  expect(reason).toMatch(/delete many\/7: read it first \[NOT_READ\]/);
  await agent.read('many/7', '7\nmine\n');
  expect(await agent.shell('find many -type f -delete')).toMatchObject({ verdict: 'pass' });
});

it('names a popped stash whose file the same line removes, and restores it', async () => {
  user('echo x >> a.txt; git stash -q');
  const { context = '' } = await agent.shell('git stash pop -q && rm a.txt');
  const [, change = ''] = /stash [0-9a-f]{7} .*lookfirst undo (c[0-9a-f]+)/.exec(context) ?? [];
  expect(await lookfirst(places, ['undo', change])).toMatchObject({ code: 0 });
  expect(user('cat a.txt; git show stash@{0}:a.txt')).toBe('one\ntwo\none\ntwo\nx\n');
});

it('an undo brings back what a line moved from the index into its file', async () => {
  user('echo staged > a.txt; git add a.txt; echo later > a.txt');
  await agent.shell('git checkout -q . && git reset -q');
  expect(await agent.shell('git checkout -q . && git reset -q')).toMatchObject({ verdict: 'pass' });
  const { stdout } = await lookfirst(places, ['log', '--kind', 'change', '--json']);
  const { change } = JSON.parse(stdout) as { change: string };
  expect(await lookfirst(places, ['undo', change])).toMatchObject({ code: 0 });
  expect(user('git show :a.txt; cat a.txt')).toBe('staged\nlater\n');
});

it('a copied folder does not replace edits that the session has not seen', async () => {
  user('mkdir -p kit/src; echo k > kit/src/b.txt; echo k > kit/new.txt; echo y >> src/b.txt');
  const { verdict, reason } = await agent.shell('cp -r kit/. .');
  expect(verdict).toBe('deny');
  expect(reason).toMatch(/src\/b\.txt[\s\S]*NOT_READ/);
});

describe('passes at once, because nothing would be lost', () => {
  it.each([
    ['git checkout .', 'echo n > new.txt'],
    ['git checkout -- a.txt', 'echo y >> src/b.txt'],
    ['git checkout -q other', 'git branch other; echo x >> a.txt'],
    ['git commit -qam x && git reset -q --hard', 'echo x >> a.txt'],
    ['git add -A && git commit -qm x && git clean -fdq', 'echo n > new.txt'],
    ['git add -A && git commit -qm x && git clean -fdxq', 'echo n > new.txt'],
    ['find . -type d -empty -delete', 'mkdir e; echo n > new.txt'],
    [
      "find . -name '*.pyc' -delete && find . -name .DS_Store -delete",
      'echo c > src/c.pyc; echo d > src/.DS_Store',
    ],
    ['find many -type f -delete', MANY],
    ['git stash -q && git stash pop -q', 'echo x >> a.txt'],
    ['git stash -q', 'echo x >> a.txt'],
    ['git clean -nd', 'echo n > new.txt'],
    ['git clean -fdXq', 'mkdir dist node_modules; echo o > dist/o.js; echo m > node_modules/m.js'],
    ['git stash drop -q', 'echo x >> a.txt; git stash -q; git stash apply -q'],
    ['git checkout .', 'echo x >> a.txt; git stash -q; git stash apply -q'],
    ['git branch -D merged', 'git branch merged'],
    ['git branch -D feature', `${BRANCH}; git merge -q --squash feature; git commit -qm f`],
    ['rm -rf src dist', 'mkdir dist; echo o > dist/o.js'],
    ['git reset -q', 'echo x >> a.txt; git add a.txt'],
    ['rm -rf src', 'echo n > src/new.txt; git add src'],
    ['git gc -q --prune=now', 'true'],
    ['git rm -rqf src', 'echo n > src/new.txt'],
    ['git st', "git config alias.st 'status -sb'; echo x >> a.txt"],
    ['git branch --merged | grep -v main | xargs git branch -qD', 'git branch merged'],
    ['cp -r src copy && cp -r src/. copy', 'echo y >> src/b.txt'],
    ['cp -r kit/. .', 'mkdir -p kit/src; echo k > kit/src/b.txt'],
    [
      'git checkout -- a.txt',
      'git checkout -qb keep; echo k > a.txt; git commit -qam k; git checkout -q main; git show keep:a.txt > a.txt',
    ],
    [
      'git clean -fdq',
      'git commit -q --allow-empty -m x; git show HEAD~1:a.txt > old.txt; echo n >> a.txt; git commit -qam n',
    ],
    ['rm plan.txt', `${BRANCH}; git show feature:f.txt > plan.txt`],
    ['rm -rf plans', `${BRANCH}; mkdir plans; git show feature:f.txt > plans/one.txt`],
  ])('%s after %s', async (command, before) => {
    user(before);
    expect(await agent.shell(command)).toMatchObject({ verdict: 'pass' });
  });

  it("the session's own work, also that of its sub-agents", async () => {
    await write(agent, 'a.txt', 'mine\n');
    await write(agent.other('s/helper'), 'src/new.txt', 'of the helper\n');
    expect(await agent.shell('git checkout -q . && git clean -fdq')).toMatchObject({ verdict: 'pass' });
    expect(existsSync(join(places.root, 'src/new.txt'))).toBe(false);
  });

  it('a file that a stash still has, which the answer says', async () => {
    user('echo x >> a.txt; git stash -q; git stash apply -q');
    const context = expect.stringContaining('A stash still has what this removed: a.txt.');
    expect(await agent.shell('git checkout -q .')).toMatchObject({ verdict: 'pass', context });
  });

  it.each(['merge', 'rebase', 'cherry-pick'])(
    'the end of a %s with conflicts that the session began',
    async (verb) => {
      user(
        'git checkout -qb o; echo o > a.txt; git commit -qam o; git checkout -q main; echo m > a.txt; git commit -qam m',
      );
      await agent.shell(`git ${verb} o`);
      expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toContain('<<<<<<<');
      expect(await agent.shell(`git ${verb} --abort`)).toMatchObject({ verdict: 'pass' });
      expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('m\n');
    },
  );

  it('a repository that the session made', async () => {
    const WHO = '-c user.name=a -c user.email=a@b';
    for (const line of [
      `git init -q lab && cd lab && echo x > f && git add . && git ${WHO} commit -qm one`,
      'cd lab && echo y > f && git reset -q --hard',
      `cd lab && git ${WHO} commit -q --amend -m two && git reflog expire --expire=now --all && git gc -q --prune=now`,
      'rm -rf lab',
    ]) {
      const answer = await agent.shell(line);
      expect([line, answer.verdict, answer.reason, answer.context]).toEqual([
        line,
        'pass',
        undefined,
        undefined,
      ]);
    }
    expect(existsSync(join(places.root, 'lab'))).toBe(false);
  });

  it('but not files of the user in a folder in which the session has made a repository', async () => {
    user('mkdir photos; echo p > photos/p.jpg');
    await agent.shell(
      'cd photos && git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm p',
    );
    const reason = expect.stringMatching(/\[WOULD_DESTROY\][\s\S]*photos\/\.git/);
    expect(await agent.shell('rm -rf photos')).toMatchObject({ verdict: 'deny', reason });
  });

  it('but not the content of a branch that the same line deletes', async () => {
    user(
      'git checkout -qb keep; echo k > a.txt; git commit -qam k; git checkout -q main; git show keep:a.txt > a.txt',
    );
    const reason = expect.stringContaining('[WOULD_DESTROY]');
    expect(await agent.shell('git branch -qD keep; git checkout -q .')).toMatchObject({
      verdict: 'deny',
      reason,
    });
  });

  it('a stash and a branch that the session made', async () => {
    await write(agent, 'a.txt', 'mine\n');
    await agent.shell('git stash -q');
    await agent.shell(
      'git checkout -qb try && git commit -q --allow-empty -m x && echo t > t && git add t && git commit -qm t',
    );
    await agent.shell('git checkout -q main');
    expect(await agent.shell('git stash drop -q')).toMatchObject({ verdict: 'pass' });
    expect(await agent.shell('git branch -D try')).toMatchObject({ verdict: 'pass' });
  });

  it('a named file of which the session has seen the present bytes', async () => {
    user('echo x >> a.txt');
    await agent.read('a.txt', 'one\ntwo\nx\n');
    expect(await agent.shell('git checkout -q -- a.txt')).toMatchObject({ verdict: 'pass' });
  });

  it("but not another session's edit under the own one, or a popped stash of the user", async () => {
    user('echo of the user >> a.txt; git stash -q');
    await agent.shell('git stash pop -q');
    const reason = expect.stringMatching(/\[WOULD_DESTROY\][\s\S]*a\.txt/);
    expect(await agent.shell('git checkout -q .')).toMatchObject({ verdict: 'deny', reason });
  });
});

describe('is refused, however often it is repeated', () => {
  it.each([
    ['git reset -q --hard', 'hard reset'],
    ['git stash -q', 'stash'],
    ['rm -rf src', 'removal'],
    ['git checkout -- src/b.txt', 'a named file that was read'],
    ['rm src/b.txt', 'a removal of a file that was read'],
    ['echo x > src/b.txt', 'a redirection to a file that was read'],
  ])("%s over another session's present work (%s)", async (command) => {
    await write(agent.other('B'), 'src/b.txt', 'work of B\n');
    await agent.read('src/b.txt', 'work of B\n');
    for (const _ of [1, 2]) {
      const { verdict, reason } = await agent.shell(command);
      expect(verdict).toBe('deny');
      expect(reason).toMatch(
        /another session's uncommitted work \[WOULD_DESTROY\].*repeating does not help[\s\S]*Session B[\s\S]*src\/b\.txt/,
      );
    }
    expect(readFileSync(join(places.root, 'src/b.txt'), 'utf8')).toBe('work of B\n');
  });

  it('but not if its work is committed', async () => {
    await write(agent.other('B'), 'src/b.txt', 'work of B\n');
    await agent.read('src/b.txt', 'work of B\n');
    user('git commit -qam b');
    expect(await agent.shell('rm src/b.txt')).toMatchObject({ verdict: 'pass' });
  });

  it.each([
    ['rm -rf .git/refs .git/objects', 'true'],
    ['cd .. && rm -rf root', 'true'],
    ['mv .git .git-old && git init -q && rm -rf .git-old', 'true'],
    ['git reflog expire --expire=now --all', 'git commit -q --allow-empty -m x; git reset -q --hard HEAD~1'],
    ['git gc -q --prune=now', 'echo x >> a.txt; git stash -q; git stash drop -q'],
    [
      'git -c gc.reflogExpireUnreachable=now gc -q',
      'git commit -q --allow-empty -m x; git reset -q --hard HEAD~1',
    ],
    ['git commit -q --amend -m y && git reflog expire --expire=now --all', 'true'],
    ['git filter-branch -f --msg-filter cat', 'true'],
    [
      'git checkout -q --orphan o && git branch -D main && git reflog expire --expire=now --all && git gc -q --prune=now',
      'true',
    ],
    ['git stash drop -q && git gc -q --prune=now', 'echo x >> a.txt; git stash -q'],
    ['git stash clear; git prune', 'echo x >> a.txt; git stash -q'],
    ['git branch -D feature && git prune', BRANCH],
    ['git reset -q --hard && git prune --expire=now', ONLY_STAGED],
  ])('%s after %s: only the user may', async (command, before) => {
    user(before);
    for (const _ of [1, 2])
      expect(await agent.shell(command)).toMatchObject({
        verdict: 'deny',
        reason: expect.stringMatching(
          /history that only this .*\[WOULD_DESTROY\] .*ask the user to run it; repeating does not help/,
        ),
      });
  });

  it.each(['bash -c "shopt -s dotglob; rm -rf *"', "zsh -c 'setopt glob_dots; rm -rf *'"])(
    '%s, which takes .git',
    async (command) => {
      for (const _ of [1, 2]) {
        const reason = expect.stringContaining('refusing to delete .git: it is protected');
        expect(await agent.shell(command)).toMatchObject({ verdict: 'deny', reason });
      }
    },
  );

  it('what is too large to be kept', async () => {
    user('head -c 9000000 /dev/zero > .env');
    for (const _ of [1, 2])
      expect(await agent.shell('git clean -fdx')).toMatchObject({
        verdict: 'deny',
        reason: expect.stringContaining('cannot all be kept'),
      });
  });

  it('a private key, which is protected and so never copied', async () => {
    user('echo "*.pem" >> .gitignore; git commit -qam i; mkdir secret; echo k > secret/k.pem');
    for (const command of ['git clean -fdx', 'git clean -fdx', 'rm -rf secret'])
      expect(await agent.shell(command)).toMatchObject({
        verdict: 'deny',
        reason: expect.stringContaining('refusing to delete secret/k.pem: it is protected'),
      });
  });
});

describe('a repeated line runs only', () => {
  const refused = { verdict: 'deny', reason: expect.stringContaining('[WOULD_DESTROY]') };
  const ask = (call: string, command = 'git checkout .', more: object = {}) =>
    agent.send({ event: 'before', action: 'run', input: { command }, call, turn: 't1', ...more });

  beforeEach(() => void user('echo x >> a.txt'));

  it('as another call', async () => {
    expect(await ask('1')).toMatchObject(refused);
    expect(await ask('1')).toMatchObject(refused);
    expect(await ask('2')).toMatchObject({ verdict: 'pass' });
  });

  it('if it arrived after the answer', async () => {
    const both = await Promise.all([ask('1'), ask('2')]);
    expect(both).toMatchObject([refused, refused]);
  });

  it('in the same turn', async () => {
    expect(await ask('1')).toMatchObject(refused);
    expect(await ask('2', 'git checkout .', { turn: 't2' })).toMatchObject(refused);
  });

  it('as the same line, with the same things at risk', async () => {
    expect(await ask('1')).toMatchObject(refused);
    expect(await ask('2', 'git checkout -f')).toMatchObject(refused);
    user('echo y >> src/b.txt');
    expect(await ask('3')).toMatchObject(refused);
    expect(await ask('4')).toMatchObject({ verdict: 'pass' });
  });

  it('in the same session', async () => {
    expect(await ask('1')).toMatchObject(refused);
    expect(await ask('2', 'git checkout .', { session: 'B' })).toMatchObject(refused);
  });
});

it('`lookfirst allow` lets a path pass', async () => {
  user('echo x >> a.txt; echo y >> src/b.txt');
  expect(await lookfirst(places, ['allow', 'a.txt', '--once'])).toMatchObject({ code: 0 });
  const { reason } = await agent.shell('git checkout .');
  expect(reason).toContain('src/b.txt');
  expect(reason).not.toContain('a.txt');
  expect(await agent.shell('git checkout -- a.txt')).toMatchObject({ verdict: 'pass' });
  expect(await outputOf('cat a.txt', places.root)).toBe('one\ntwo\n');
});

describe.skipIf(here === undefined)('`lookfirst run`', () => {
  const run = (session: readonly string[], line: string) =>
    lookfirst(places, ['run', ...session, '--', 'sh', '-c', line]);

  it('of an agent is judged by the same rules', async () => {
    user('echo x >> a.txt');
    const first = await run(['--session', 's'], 'git checkout -q .');
    expect(first).toMatchObject({ code: 2, stderr: expect.stringMatching(/WOULD_DESTROY\][\s\S]*a\.txt/) });
    expect(await run(['--session', 's'], 'git checkout -q .')).toMatchObject({ code: 0 });
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  it('is refused once for a file outside the workspace', async () => {
    const notes = join(places.outside, 'notes.txt');
    writeFileSync(notes, 'of the user\n');
    const line = `sed -i 1d ${notes}`;
    const stderr = expect.stringMatching(/WOULD_DESTROY\][\s\S]*notes\.txt/);
    expect(await run(['--session', 's'], line)).toMatchObject({ code: 2, stderr });
    expect(await run(['--session', 's'], line)).toMatchObject({ code: 0 });
  });

  it('of the user is not', async () => {
    user('echo x >> a.txt');
    expect(await run([], 'git checkout -q .')).toMatchObject({ code: 0 });
  });
});

it('a write through a link to a file outside is refused once; a removal of the link is not', async () => {
  writeFileSync(join(places.outside, 'notes.txt'), 'of the user\n');
  user(`ln -s ${join(places.outside, 'notes.txt')} here.txt; git add .; git commit -qm link`);
  const reason = expect.stringMatching(/WOULD_DESTROY[\s\S]*notes\.txt/);
  expect(await agent.shell('echo x > here.txt')).toMatchObject({ verdict: 'deny', reason });
  expect(await agent.shell('rm here.txt')).toMatchObject({ verdict: 'pass' });
});

it('edits in another worktree that a loop over all worktrees takes are kept, and named afterwards', async () => {
  user('git worktree add -q -b wt ../wt; echo x >> ../wt/a.txt');
  const each = 'while read -r w; do git -C "$w" checkout -q .; done';
  const line = `git worktree list --porcelain | sed -n 's/^worktree //p' | ${each}`;
  const { context = '' } = await agent.shell(line);
  expect(context).toMatch(/removed what nothing else holds: \S*a\.txt/);
  expect(await lookfirst(places, ['undo', '--yes'])).toMatchObject({ code: 0 });
  expect(readFileSync(join(places.root, '../wt/a.txt'), 'utf8')).toBe('one\ntwo\nx\n');
});

it('edits in a submodule that git takes are named afterwards', async () => {
  const allow = 'git -c protocol.file.allow=always';
  user(`git init -q ../lib; cd ../lib; git config user.name a; git config user.email a@b; echo i > i.txt; git add .; git commit -qm i
cd ../root; ${allow} submodule --quiet add ../lib lib; git commit -qm lib; echo x >> lib/i.txt`);
  const context = expect.stringContaining('removed what nothing else holds: lib/i.txt');
  expect(await agent.shell('git submodule update -q --force')).toMatchObject({ verdict: 'pass', context });
});

it('a git command in a repository outside the workspace is refused once, too', async () => {
  const outside = join(places.outside, 'project');
  user(`git init -q ${outside} && cd ${outside} && git config user.name a && git config user.email a@b
echo i > i.txt && git add . && git commit -qm i && echo j >> i.txt`);
  const line = `git -C ${outside} reset -q --hard`;
  const first = await agent.shell(line);
  expect(first).toMatchObject({
    verdict: 'deny',
    reason: expect.stringMatching(/WOULD_DESTROY[\s\S]*i\.txt/),
  });
  expect(await agent.shell(line)).toMatchObject({ verdict: 'pass' });
  expect(await lookfirst(places, ['undo', '--yes'])).toMatchObject({ code: 0 });
  expect(readFileSync(join(outside, 'i.txt'), 'utf8')).toBe('i\nj\n');
});
