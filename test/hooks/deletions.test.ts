import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;

const FILES: Readonly<Record<string, string>> = {
  '.gitignore': 'dist/\nnode_modules/\n.env\n*.db\n',
  'clean.txt': 'committed\n',
  'src/clean.js': 'committed\n',
  'edited.txt': 'committed\n',
  'src/edited.js': 'committed\n',
  'staged.txt': 'committed\n',
};

function write(name: string, text: string): void {
  mkdirSync(dirname(join(places.root, name)), { recursive: true });
  writeFileSync(join(places.root, name), text);
}

function git(...args: readonly string[]): void {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: places.root });
}

beforeEach(() => {
  places = scratch();
  for (const [name, text] of Object.entries(FILES)) write(name, text);
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'one');
  for (const name of ['edited.txt', 'src/edited.js', 'staged.txt'])
    appendFileSync(join(places.root, name), 'the user\n');
  git('add', 'staged.txt');
  for (const name of [
    'new.txt',
    'a b.txt',
    'src/new.js',
    '.env',
    'local.db',
    'dist/app.js',
    'node_modules/x/i.js',
  ])
    write(name, 'the user\n');
  git('archive', '-o', join(places.outside, 'a.tar'), 'HEAD');
  execFileSync('zip', ['-q', join(places.outside, 'a.zip'), 'edited.txt'], { cwd: places.root });
  agent = new Hooked(places);
});

/** The code with which a command is denied before it runs, or `pass`. */
async function verdictOf(command: string): Promise<string> {
  const input = { command: command.replaceAll('OUTSIDE', places.outside) };
  const { verdict, reason } = await agent.send({ event: 'before', action: 'run', input, call: command });
  return /\[(\w+)\]/.exec(reason ?? '')?.[1] ?? verdict;
}

it.each([
  ['rm many/*.txt', 60],
  ['find many -type f -delete', 60],
  ['find many -type f -delete', 600],
])('an unseen file is found behind committed ones: %s, %i files', async (command, count) => {
  for (let at = 0; at < count; at += 1) write(`many/${at}.txt`, `${at}\n`);
  git('add', 'many');
  git('commit', '-qm', 'many');
  expect(await verdictOf(command)).toBe('pass');
  write('many/z.txt', 'the user\n');
  expect(await verdictOf(`${command} # again`)).toBe('NOT_READ');
  git('add', 'many');
  git('commit', '-qm', 'all');
  write('many/id_rsa', 'the user\n');
  git('add', '-f', 'many/id_rsa');
  git('commit', '-qm', 'key');
  if (command.startsWith('find')) expect(await verdictOf(`${command} # last`)).toBe('PROTECTED');
});

describe('an unseen file whose bytes exist nowhere else', () => {
  it.each([
    ['rm edited.txt'],
    ['rm -f new.txt'],
    ['rm "a b.txt"'],
    ['rm -- new.txt clean.txt'],
    ['cd src && rm new.js'],
    ['rm *.txt'],
    ['rm src/{clean,new}.js'],
    ['rm -f .env'],
    ['rm local.db'],
    ['unlink new.txt'],
    ['shred -u -n 3 new.txt'],
    ['truncate -s 0 edited.txt'],
    [': > edited.txt'],
    ['dd if=/dev/null of=edited.txt'],
    ['dd if=/dev/null of=edited.txt conv=notrunc'],
    ['ln -sf clean.txt edited.txt'],
    ['ln -f clean.txt src/edited.js'],
    ['sort -o edited.txt clean.txt'],
    ['sort clean.txt --output=edited.txt'],
    ['install -m 644 clean.txt edited.txt'],
    ['curl -sSo edited.txt http://localhost:1/'],
    ['wget -qO edited.txt http://localhost:1/'],
    ["sed -i 's/a/b/' src/*.js"],
    ["perl -pi -e 's/a/b/' src/*.js"],
    ["find . -name 'new*' -delete"],
    ["find . -name '*.js' -not -path './node_modules/*' -exec rm {} +"],
    ["find src -type f -exec sed -i 's/a/b/' {} \\;"],
    ["find . -name 'new*' -print0 | xargs -0 rm"],
    ['git ls-files -m | xargs rm -f'],
    ['ls *.txt | grep new | xargs rm'],
    ['git ls-files --others --exclude-standard | xargs -I{} rm {}'],
    ['git rm -f edited.txt'],
    ['git rm -f staged.txt'],
    ['mv clean.txt edited.txt'],
    ['tar -xf OUTSIDE/a.tar'],
    ['tar xf OUTSIDE/a.tar -C .'],
    ['unzip -qo OUTSIDE/a.zip'],
    ["bash -c 'rm new.txt'"],
    ['rm new.txt || true'],
    ['for f in new edited; do rm $f.txt; done'],
    ['for f in *.txt; do rm "$f"; done'],
    ['F=new.txt; rm "$F"'],
    ['clean() { rm -f "$1"; }; clean new.txt'],
    ['if [ $X ]; then echo a > edited.txt; else echo b > edited.txt; fi'],
    ['for f in a b; do echo $f > edited.txt; done'],
  ])('is not destroyed by %s', async (command) => {
    expect(await verdictOf(command)).toBe('NOT_READ');
  });

  it('may be removed once the session has seen it', async () => {
    await agent.read('new.txt', 'the user\n');
    expect(await verdictOf('rm new.txt')).toBe('pass');
    appendFileSync(join(places.root, 'new.txt'), 'more\n');
    expect(await verdictOf('unlink new.txt')).toBe('STALE');
  });

  it('is named by the refusal, with the other files that the command would destroy', async () => {
    const input = { command: 'rm *.txt' };
    const { reason } = await agent.send({ event: 'before', action: 'run', input, call: 'c' });
    expect(reason).toContain('edited.txt');
    expect(reason).toContain('new.txt');
    expect(reason).not.toContain('clean.txt');
  });
});

describe('a command that destroys nothing of value', () => {
  it.each([
    ['rm clean.txt'],
    ['rm staged.txt'],
    ['rm missing.txt'],
    ['rm -f missing*.txt'],
    ['rm src/cl*.js'],
    ['rm dist/app.js'],
    ['rm -rf dist node_modules'],
    ['rm node_modules/x/i.js'],
    ['rm -f .git/index.lock'],
    ['truncate -s 0 clean.txt'],
    ['truncate -s +10 edited.txt'],
    ['ln -s clean.txt new-link'],
    ['sort clean.txt -o sorted.txt'],
    ["sed -i 's/a/b/' src/cl*.js"],
    ["find . -name '*.pyc' -delete"],
    ['find dist -type f -delete'],
    ['find . -name "*.txt" -print'],
    ["find . -name 'new*' | xargs grep user"],
    ['git rm clean.txt'],
    ['git rm --cached edited.txt'],
    ['rm /tmp/lookfirst-no-such-file'],
    ['echo rm new.txt'],
    ['git commit -m "rm new.txt"'],
    ['mv edited.txt t && mv clean.txt edited.txt && mv t clean.txt'],
    ['for f in clean staged; do rm $f.txt; done'],
    ['if [ -f new.txt ]; then rm new.txt; fi'],
  ])('passes: %s', async (command) => {
    expect(await verdictOf(command)).toBe('pass');
  });

  it('passes for a file like the last commit, whose staged content differs', async () => {
    write('staged.txt', 'committed\n');
    expect(await verdictOf('rm staged.txt')).toBe('pass');
  });

  it('passes for a file that the session has made', async () => {
    expect((await agent.shell('seq 3 > made.txt; mkdir -p t && seq 9 > t/x.txt')).verdict).toBe('pass');
    expect((await agent.shell('rm made.txt t/*.txt')).verdict).toBe('pass');
    expect(existsSync(join(places.root, 'made.txt'))).toBe(false);
  });
});

it('a clean file that a command removes is kept and can be undone', async () => {
  expect((await agent.shell('rm clean.txt src/cl*.js')).verdict).toBe('pass');
  await lookfirst(places, ['undo', '--session', 's']);
  expect(readFileSync(join(places.root, 'clean.txt'), 'utf8')).toBe('committed\n');
  expect(readFileSync(join(places.root, 'src/clean.js'), 'utf8')).toBe('committed\n');
});

describe.skipIf(spawnSync('rsync', ['--version']).error !== undefined)('rsync', () => {
  it.each([
    ['rsync -a --delete dist/ src/', 'NOT_READ'],
    ['rsync -avP --delete ./dist/ src', 'NOT_READ'],
    ['rsync -r clean.txt edited.txt', 'NOT_READ'],
    ['rsync -a dist/new.txt .', 'NOT_READ'],
    ['rsync -a src/ copy/', 'pass'],
    ['rsync -an --delete dist/ src/', 'pass'],
    ['rsync -a --delete --exclude="*.js" dist/ src/', 'pass'],
    ['rsync -a src/ host.invalid:src/', 'pass'],
    ['rsync -a --backup --delete dist/ src/', 'pass'],
  ])('%s: %s', async (command, verdict) => {
    write('dist/new.txt', 'another text\n');
    expect(await verdictOf(command)).toBe(verdict);
  });
});

it('the check runs no program of the agent to learn which files xargs gets', async () => {
  const evil = join(places.root, 'ls');
  writeFileSync(evil, `#!/bin/sh\necho ran > ${places.outside}/ran\necho new.txt\n`, { mode: 0o755 });
  for (const feed of [
    './ls',
    `PATH=${places.root} ls`,
    `env PATH=${places.root} ls`,
    'sudo ls',
    'ls $(./ls)',
    'sh ls',
  ])
    await verdictOf(`${feed} | xargs rm`);
  expect(existsSync(join(places.outside, 'ran'))).toBe(false);
});

it('outside the workspace, a deletion is refused if the policy refuses all changes there', async () => {
  expect(await verdictOf('rm OUTSIDE/a.tar')).toBe('pass');
  writeFileSync(join(places.home, 'lookfirst.json'), '{"hooks": {"outside": "refuse"}}');
  expect(await verdictOf('rm -rf OUTSIDE')).toBe('OUTSIDE_WORKSPACE');
});
