// Random repositories and command lines: compares what a guard names before a line runs with what
// dies when it runs.
//   node bench/clobber/random.mjs [--guard lookfirst-hooks] [--cases 1000] [--seed 7] [--details]
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blobName, census, makeWorld, missing } from './world.mjs';

/** A generator of random numbers with a seed (mulberry32). */
function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const TRACKED = ['a.txt', 'README.md', 'src/a.js', 'src/b.js', 'src/c.js', 'docs/guide.md', 'docs/faq.md'];
const UNTRACKED = ['notes.txt', 'todo.md', 'src/new.js', 'ideas/one.md', 'ideas/two.md', 'src/deep/er/x.js'];
const IGNORED = ['.env', 'local.db', 'uploads/one.png', 'uploads/two.png', 'secret/key.pem'];
const OUTPUT = ['dist/a.js', 'node_modules/x/index.js'];

/** What may be in a repository: a shell text that makes it. */
const FACTS = [
  (pick) => `edit ${pick(TRACKED)}`,
  (pick) => `edit ${pick(TRACKED)}; edit ${pick(TRACKED)}`,
  (pick) => `new ${pick(UNTRACKED)}`,
  (pick) => `new ${pick(UNTRACKED)} ${pick(UNTRACKED)}`,
  (pick) => `new ${pick(IGNORED)}`,
  (pick) => `new ${pick(IGNORED)} ${pick(OUTPUT)}`,
  (pick) => `staged ${pick(TRACKED)}`,
  (pick) => `only_staged ${pick(TRACKED)}`,
  (pick) => `edit ${pick(TRACKED)}; git add -u`,
  (pick) => `new ${pick(UNTRACKED)}; git add .`,
  (pick) => `stashed ${pick(TRACKED)}`,
  (pick) => `branch topic ${pick(UNTRACKED)}`,
  (pick) => `rm ${pick(TRACKED)}`,
  () => 'nested vendor/lib',
  () => '',
];

/** Command lines. Writes by name (`>`, `cp`, `mv`) are left out: they are judged by what was read. */
const LINES = [
  () => 'git checkout .',
  (pick) => `git checkout -- ${pick([...TRACKED, 'src', 'docs'])}`,
  () => 'git checkout -f',
  () => 'git checkout HEAD~1 -- src',
  () => 'git checkout -q -f topic',
  () => 'git restore .',
  (pick) => `git restore ${pick([...TRACKED, 'docs'])}`,
  () => 'git restore --staged --worktree .',
  () => 'git restore --staged .',
  () => 'git reset --hard',
  () => 'git reset -q --hard HEAD~1',
  () => 'git reset -q',
  () => 'git clean -fq',
  () => 'git clean -fdq',
  () => 'git clean -fdxq',
  () => 'git clean -fdXq',
  (pick) => `git clean -fdxq ${pick(['src', 'ideas', 'uploads', 'docs'])}`,
  () => 'git clean -nd',
  () => 'git stash -q',
  () => 'git stash -q -u',
  () => 'git stash drop -q',
  () => 'git stash clear',
  () => 'git stash -q && git stash drop -q',
  () => 'git stash pop -q',
  () => 'git branch -D topic',
  () => 'git add -A && git reset -q --hard',
  () => 'git commit -qam all && git reset -q --hard HEAD~1',
  (pick) => `git rm -qf ${pick(TRACKED)}`,
  (pick) => `git rm -q --cached ${pick(TRACKED)}`,
  (pick) => `rm -f ${pick([...TRACKED, ...UNTRACKED, ...IGNORED])}`,
  (pick) => `rm -rf ${pick(['src', 'docs', 'ideas', 'uploads', 'secret', 'dist', 'node_modules', 'vendor'])}`,
  () => 'rm -rf ./*',
  () => 'rm -f *.txt',
  () => 'cd src && rm -rf *',
  () => "find . -name '*.md' -not -path './.git/*' -delete",
  (pick) => `find ${pick(['src', 'docs', 'ideas', 'uploads'])} -type f -delete`,
  () => "find . -name '*.log' -exec rm {} +",
  (pick) => `truncate -s 0 ${pick([...TRACKED, ...UNTRACKED])}`,
  () => 'git ls-files -o --exclude-standard | xargs rm -f',
  () => 'git status -sb && git diff --stat',
  () => 'ls -la && grep -rn work . | head -3',
];

function caseOf(random) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const facts = Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(FACTS)(pick));
  const own = random() < 0.3 ? { [pick(['try.js', 'src/try.js', 'src/c.js'])]: `a try ${random()}\n` } : {};
  return { made: facts.filter(Boolean).join('\n'), own, run: pick(LINES)(pick) };
}

/** Things that a text names before a line runs: one in each line of its list, or the one in its first line. */
function named(text) {
  const items = [...text.matchAll(/^- (?!and \d)(?:refusing to [a-z]+ )?(.+?)(?: \((\w+)\))?: /gm)];
  const alone = [...text.matchAll(/^refusing to \w+ (?!the command)(\S+): /gm)];
  return [...items, ...alone].map(([, what, kind = 'file']) => ({
    what: what.replace(/^\.\//, '').replace(/\/$/, ''),
    kind,
  }));
}

const covers = ({ what, kind }, path) =>
  what === path || path.startsWith(`${what}/`) || !['file', 'folder'].includes(kind);

/** A world, or undefined if the facts do not fit together, for example a stash without a change. */
function prepared(made) {
  try {
    return makeWorld(made);
  } catch {
    return undefined;
  }
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/**
 * Runs a line as an agent that obeys: if files have to be read first, it reads them and repeats the
 * line once. Returns all that it was told before the line ran.
 */
async function obeyed(watch, { root, run, sh }) {
  const call = { session: 'agent', command: run, sh };
  const first = await watch.run(call);
  if (!first.refused || !/\[NOT_READ\]/.test(first.text) || watch.read === undefined) return first;
  for (const { what } of named(first.text))
    if (existsSync(join(root, what))) await watch.read({ session: 'agent', path: what });
  const second = await watch.run(call);
  return { refused: true, text: second.refused ? `${first.text}\n${second.text}` : first.text };
}

/** Plays a case. Returns the files that died, those of them that were not named, and names without need. */
async function play(guard, { made, own, run }) {
  const world = prepared(made);
  if (world === undefined) return undefined;
  const contents = new Set();
  try {
    const watch = await guard.open(world);
    try {
      for (const [path, text] of Object.entries(own)) {
        await watch.write?.({
          session: 'agent',
          path,
          text,
          make: () => write(join(world.root, path), text),
        });
        contents.add(blobName(Buffer.from(text)));
      }
      const before = census(world);
      let hasRun = false;
      const sh = (command) => {
        hasRun = true;
        return world.sh(command);
      };
      const { refused, text = '' } = await obeyed(watch, { root: world.root, run, sh });
      const things = refused ? named(text) : [];
      if (!hasRun) await world.sh(run);
      const died = missing(before, census(world), contents).map(({ paths }) => paths);
      const isCut = /^- and \d+ more/m.test(text);
      const unnamed = isCut
        ? []
        : died.filter((paths) => !paths.some((path) => things.some((each) => covers(each, path))));
      const needless = things.filter(
        (each) => !died.some((paths) => paths.some((path) => covers(each, path))),
      );
      return { run, made, refused, died: died.length, unnamed, needless: needless.map(({ what }) => what) };
    } finally {
      await watch.close?.();
    }
  } finally {
    world.remove();
  }
}

function flag(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { guard } = await import(
    new URL(`./guards/${flag('guard', 'lookfirst-hooks')}.mjs`, import.meta.url)
  );
  const [cases, seed] = [Number(flag('cases', 1000)), Number(flag('seed', Date.now() % 1e6))];
  const random = numbers(seed);
  const sum = { cases: 0, refused: 0, died: 0, named: 0, needless: 0 };
  while (sum.cases < cases) {
    const played = await play(guard, caseOf(random));
    if (played === undefined) continue;
    sum.cases += 1;
    sum.refused += played.refused ? 1 : 0;
    sum.died += played.died;
    sum.named += played.died - played.unnamed.length;
    sum.needless += played.needless.length;
    if (process.argv.includes('--details') && played.unnamed.length + played.needless.length > 0)
      console.log(JSON.stringify(played));
  }
  const share = sum.died === 0 ? 100 : (100 * sum.named) / sum.died;
  console.log(`${guard.name}, seed ${seed}: ${sum.cases} cases, ${sum.refused} lines refused`);
  console.log(`${sum.named} of ${sum.died} things that die are named before (${share.toFixed(1)} %)`);
  console.log(`${sum.needless} things named without need`);
}
