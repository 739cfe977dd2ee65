// Compares this checkout with another commit: `npm run bench -- --against REF [gate|cli]`. REF is
// built in a worktree of its own with the dependencies installed here, and both builds do the same
// work in turns. A ratio over 1 means that this checkout is slower than REF.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { interleaved, median } from './measure.mjs';

const project = fileURLToPath(new URL('..', import.meta.url));
const REPEATS = 5;
const BAR = 1.05;
const LINE = `${'y'.repeat(59)}\n`;

/**
 * One row for each benchmark. `wanted`: the groups to run (`gate`, `cli`); all groups if it is
 * empty.
 */
export async function rowsAgainst(ref, wanted) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-against-')));
  const then = join(base, 'then');
  try {
    process.stderr.write(`building ${ref} …\n`);
    git('worktree', 'add', '--detach', '--quiet', then, ref);
    symlinkSync(join(project, 'node_modules'), join(then, 'node_modules'));
    execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: then, stdio: ['ignore', 2, 2] });
    const groups = { gate: gateRows, cli: cliRows };
    const found = [];
    for (const [module, rows] of Object.entries(groups)) {
      if (wanted.length > 0 && !wanted.includes(module)) continue;
      for (const row of await rows([project, then], base)) found.push({ module, ...row, bar: BAR });
    }
    return found;
  } finally {
    git('worktree', 'remove', '--force', then);
    rmSync(base, { recursive: true, force: true });
  }
}

function git(...args) {
  execFileSync('git', args, { cwd: project, stdio: ['ignore', 2, 2] });
}

async function gateRows(checkouts, base) {
  const sides = [];
  for (const [index, checkout] of checkouts.entries()) {
    const root = join(base, `root-${index}`);
    const home = join(base, `home-${index}`);
    mkdirSync(root);
    mkdirSync(home);
    const { openSession } = await import(pathToFileURL(join(checkout, 'dist/index.js')));
    const policy = { durability: 'none' };
    sides.push({ root, session: await openSession({ roots: [root], home, store: 'memory:', policy }) });
  }
  try {
    const found = [];
    for (const [name, rounds, work] of GATE_WORK) {
      const tasks = [];
      for (const side of sides) tasks.push(await work(side));
      found.push({ name: `${name} / the same at REF`, ratio: await ratioOf(tasks, rounds) });
    }
    return found;
  } finally {
    for (const { session } of sides) await session.close();
  }
}

const GATE_WORK = [
  ['vet of a seen file', 2000, vet],
  ['read of 64 KB', 300, read],
  ['write of 1 KB', 200, write],
  ['exact edit in 64 KB', 200, (side) => edit(side, 1100)],
  ['exact edit in 5 MB', 10, (side) => edit(side, 87_000)],
];

/**
 * Writes a file with an old modification time. The gate trusts an old time as proof that the file
 * is unchanged. With a new time, the gate would hash the file at every check.
 */
async function put({ root }, name, text) {
  writeFileSync(join(root, name), text);
  utimesSync(join(root, name), 1e9, 1e9);
  await setTimeout(50);
}

async function vet(side) {
  await put(side, 'vet.txt', LINE.repeat(20));
  await side.session.read('vet.txt');
  return () => side.session.vet({ kind: 'write', path: 'vet.txt', content: 'x' });
}

async function read(side) {
  await put(side, 'read.txt', LINE.repeat(1100));
  return () => side.session.read('read.txt');
}

async function write(side) {
  let turn = 0;
  return async () => {
    turn += 1;
    await done(side.session.write('write.txt', `${turn}\n${LINE.repeat(17)}`));
  };
}

async function edit(side, lines) {
  const name = `edit-${lines}.txt`;
  await put(side, name, `${LINE.repeat(lines / 2)}anchor 0\n${LINE.repeat(lines / 2)}`);
  await done(side.session.read(name, { limit: Number.MAX_SAFE_INTEGER }));
  let turn = 0;
  return async () => {
    const change = { oldString: `anchor ${turn}\n`, newString: `anchor ${turn + 1}\n` };
    await done(side.session.edit(name, [change]));
    turn += 1;
  };
}

async function done(outcome) {
  const settled = await outcome;
  if (!settled.ok) throw new Error(JSON.stringify(settled.refusal));
}

async function cliRows(checkouts, base) {
  const root = join(base, 'cli');
  mkdirSync(root);
  const run = (args) =>
    checkouts.map((checkout, index) => () => {
      const env = { ...process.env, LOOKFIRST_HOME: join(base, `cli-home-${index}`) };
      const command = [join(checkout, 'dist/bin/lookfirst.js'), ...args];
      execFileSync(process.execPath, command, { cwd: root, env, stdio: 'ignore' });
    });
  const found = [];
  for (const args of [['--version'], ['log'], ['status']])
    found.push({ name: `lookfirst ${args.join(' ')} / the same at REF`, ratio: await ratioOf(run(args), 8) });
  return found;
}

/**
 * The time of this checkout divided by that of REF: the median of several measurements, because a
 * single one on a busy machine is unreliable.
 */
async function ratioOf(tasks, rounds) {
  const ratios = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const [now, then] = await interleaved(tasks, { rounds, warmup: Math.ceil(rounds / 4) });
    ratios.push(now / then);
  }
  return median(ratios);
}
