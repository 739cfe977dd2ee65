// Makes the small world of a scene, and finds out which bytes exist in it.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** Folders whose contents a build makes again. What is lost there counts as nothing. */
const OUTPUT = new Set(['node_modules', 'dist', 'build', 'target', 'coverage', '.cache', '__pycache__']);

/**
 * Shell functions for the texts that prepare scenes. The bytes of each file are unlike those of any
 * other file, so that none of them survives by chance.
 */
const WORDS = `
put() { mkdir -p "$(dirname "$1")"; printf '%s\\n' "$2 in $1" 'line two' "and line three of $1" > "$1"; }
new() { for f; do put "$f" "new work of the user"; done; }
edit() { for f; do echo "an edit of the user in $f" >> "$f"; done; }
staged() { for f; do put "$f" "staged work of the user"; git add -f "$f"; put "$f" "later work of the user"; done; }
only_staged() { for f; do put "$f" "staged work of the user"; git add -f "$f"; git show "HEAD:$f" > "$f" 2> /dev/null || rm "$f"; done; }
stashed() { edit "$1"; git stash push -q -m "\${2:-work in progress}"; }
branch() { (
  export GIT_INDEX_FILE="$PWD/.git/index-of-branch"
  git read-tree "\${3:-HEAD}"
  blob=$(echo "work on branch $1 in $2" | git hash-object -w --stdin)
  git update-index --add --cacheinfo "100644,$blob,$2"
  git update-ref "refs/heads/$1" "$(git commit-tree "$(git write-tree)" -p "\${3:-HEAD}" -m "work on $1")"
  rm "$GIT_INDEX_FILE"
); }
nested() { git init -q -b main "$1"; (cd "$1"; put inner.txt "committed"; git add .; git commit -qm inner; edit inner.txt; new own.txt); }
worktree() { git worktree add -q -b "$1" "../$1"; }
`;

const COMMITTED = `
git init -q -b main
for f in a.txt README.md src/a.js src/b.js src/c.js src/e.js docs/guide.md docs/faq.md scripts/reset.sh; do put "$f" "first version"; done
git add .; git commit -qm first
for f in a.txt README.md src/a.js src/b.js src/c.js src/e.js docs/guide.md docs/faq.md; do put "$f" "second version"; done
printf '%s\\n' .env '*.db' '*.log' dist/ node_modules/ uploads/ secret/ > .gitignore
echo 'rm -f local.db; echo "schema" > schema.sql' > scripts/reset.sh
printf 'clean:\\n\\tgit clean -fdxq\\nreset:\\n\\trm -rf uploads\\nbuild:\\n\\tmkdir -p dist && cp src/a.js dist/a.js\\n' > Makefile
echo '{ "name": "x", "scripts": { "clean": "rm -rf uploads local.db", "build": "mkdir -p dist && cp src/a.js dist/a.js", "fresh": "git checkout . && git clean -fd" } }' > package.json
git add .; git commit -qm second
`;

let template;

/** Worlds are outside the temporary folder, because a guard may take lightly what is in there. */
function parentFolder() {
  return process.env.CLOBBER_DIR ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
}

/** A new folder with a repository in `root`, a home folder in `user`, and `outside`. */
export function makeWorld(prepare = '') {
  template ??= makeTemplate();
  const base = realpathSync(mkdtempSync(join(parentFolder(), 'clobber-')));
  cpSync(template, base, { recursive: true, preserveTimestamps: true });
  const at = (name) => join(base, name);
  const world = {
    base,
    root: at('root'),
    outside: at('outside'),
    user: at('user'),
    // Belong to the guard. What is in there counts as nothing.
    state: at('state'),
    scratch: at('scratch'),
    env: environment(base),
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
  world.sh = (command) => run(world, 'bash', ['-c', command]);
  world.start = (program, args, env) => run(world, program, args, env);
  if (prepare !== '') prepared(world.root, world.env, prepare);
  return world;
}

function makeTemplate() {
  const base = realpathSync(mkdtempSync(join(parentFolder(), 'clobber-')));
  for (const name of ['root', 'outside', 'user', 'state', 'scratch', 'temp']) mkdirSync(join(base, name));
  const who =
    '[user]\n\tname = User\n\temail = user@example.org\n[gc]\n\tauto = 0\n[advice]\n\tdetachedHead = false\n';
  writeFileSync(join(base, 'user', '.gitconfig'), who);
  prepared(join(base, 'root'), environment(base), COMMITTED);
  process.on('exit', () => rmSync(base, { recursive: true, force: true }));
  return base;
}

function environment(base) {
  const own = { HOME: join(base, 'user'), TMPDIR: join(base, 'temp'), LC_ALL: 'C.UTF-8' };
  // npm writes logs beside its cache. They would count as changed files of the user.
  return { PATH: process.env.PATH, ...own, npm_config_cache: join(base, 'state', 'npm') };
}

function prepared(cwd, env, text) {
  execFileSync('bash', ['-ec', `${WORDS}\n${text}`], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Runs a program in the workspace, as an agent's shell does. */
function run({ root, env }, program, args, more = {}) {
  return new Promise((resolve) => {
    const options = { cwd: root, env: { ...env, ...more }, timeout: 60_000 };
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      resolve({
        code: error === null ? 0 : (error.code ?? -1),
        stdout,
        stderr,
        output: `${stdout}${stderr}`,
      }),
    );
    child.stdin.end();
  });
}

/** What git prints; nothing if a command has left no repository there. */
function git(cwd, env, script) {
  const options = { cwd, env, maxBuffer: 1 << 26, encoding: 'utf8' };
  return spawnSync('sh', ['-c', script], { ...options, stdio: ['ignore', 'pipe', 'ignore'] }).stdout;
}

/**
 * All bytes that exist in a world: by git's name of their content, the number of bytes and the paths
 * that have them. Git counts as having what a ref, a reflog, a stash or an index leads to. What only
 * dangles is gone at the next cleaning; `deep` counts it too.
 */
export function census(world, deep = false) {
  const found = new Map();
  const state = new Map();
  const add = (id, size, path) => {
    const one = found.get(id) ?? { size, paths: new Set() };
    if (path !== '') one.paths.add(path);
    found.set(id, one);
  };
  const repositories = [];
  walk(world, world.base, { add, state, repositories });
  for (const folder of repositories) {
    const list = deep
      ? 'git cat-file --batch-all-objects --batch-check="%(objectname) %(objecttype) %(objectsize) "'
      : 'git rev-list --objects --all --reflog --indexed-objects --ignore-missing | git cat-file --batch-check="%(objectname) %(objecttype) %(objectsize) %(rest)"';
    const name = relative(world.root, folder);
    for (const line of git(folder, world.env, list).split('\n')) {
      const [id, type, size, ...rest] = line.split(' ');
      if (type === 'blob') add(id, Number(size), join(name, rest.join(' ')).replace(/^\.$/, ''));
    }
    const positions =
      'git symbolic-ref -q HEAD; git rev-parse -q --verify HEAD; git for-each-ref; git ls-files -s; cut -d" " -f1,2 "$(git rev-parse --git-common-dir)/logs/refs/stash"; true';
    state.set(join(name, '.git'), git(folder, world.env, positions));
  }
  return { found, state };
}

function walk(world, folder, into) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (path === world.state || path === world.scratch || OUTPUT.has(entry.name)) continue;
    if (entry.name === '.git') {
      into.repositories.push(folder);
      continue;
    }
    if (entry.isDirectory()) {
      walk(world, path, into);
      continue;
    }
    const isLink = entry.isSymbolicLink();
    if (!isLink && !entry.isFile()) continue;
    const bytes = isLink ? Buffer.from(readlinkSync(path)) : readFileSync(path);
    const name = relative(world.root, path);
    const id = blobName(bytes);
    into.add(id, bytes.length, name);
    into.state.set(name, `${isLink ? 'link' : (lstatSync(path).mode & 0o777).toString(8)} ${id}`);
  }
}

/** The name that git gives to these bytes. */
export function blobName(bytes) {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/** What the first census has and the second has not. `own` lists contents that do not count. */
export function missing(before, after, own = new Set()) {
  return [...before.found]
    .filter(([id, { size }]) => size > 0 && !after.found.has(id) && !own.has(id))
    .map(([id, { size, paths }]) => ({ id, size, paths: [...paths] }));
}

/** The paths (and, as `.git`, the repositories) that differ between two censuses. */
export function differences(before, after) {
  const names = new Set([...before.state.keys(), ...after.state.keys()]);
  return [...names].filter((name) => before.state.get(name) !== after.state.get(name));
}
