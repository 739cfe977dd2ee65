// Measures what it costs to find out, before a command line runs, what it would destroy.
//   node bench/destruction.mjs [--files 5000] [--only TEXT]      prints the rows
// The figures are milliseconds of processor time, with that of git, in a process that stays.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeLayer } from '../build/process/layer.js';
import { Hooks } from './clobber/lookfirst.mjs';

const ROUNDS = 12;
const BARS = { nothing: 3, unknown: 30, named: 40, whole: 150, large: 1000 };

/** Command lines that only the hooks see: they never run. `make`: what the user did before. */
const LINES = [
  { line: 'ls src', bar: 'nothing' },
  { line: 'git status', bar: 'nothing' },
  { line: 'python3 build.py', bar: 'unknown' },
  { line: 'git reset --hard', bar: 'named' },
  { line: 'git checkout -- src/d1', bar: 'named' },
  { line: 'git clean -fdx', bar: 'named' },
  { line: 'git stash drop', bar: 'named', make: 'echo x >> src/d0/f2.js; git stash -q' },
  { line: 'git branch -D topic', bar: 'named', make: 'git branch topic' },
  { line: 'rm -rf src/d1', bar: 'named' },
  { line: 'rm -rf ./*', bar: 'whole' },
  { line: 'find . -name "*.js" -delete', bar: 'whole' },
];

export async function rows({ files = 5000, only = '' } = {}) {
  const lines = LINES.filter(({ line }) => line.includes(only));
  const base = realpathSync(mkdtempSync(join(homedir(), '.lookfirst-bench-')));
  const world = { root: join(base, 'work'), state: join(base, 'state'), env: { ...process.env } };
  mkdirSync(world.root);
  fill(world.root, files);
  const git =
    'git init -q -b main && git config user.name a && git config user.email a@b && git config gc.auto 0';
  const made = lines.map(({ make = 'true' }) => make).join('; ');
  execFileSync(
    'sh',
    ['-ec', `${git}; git add .; git commit -qm one; sleep 1.1; ${made}; sleep 1.1; git status -s`],
    {
      cwd: world.root,
    },
  );
  const hooks = new Hooks(world);
  const found = [];
  try {
    for (const { line, bar } of lines) {
      const { cpu, processes } = await measured(hooks, base, line);
      found.push({
        name: `before \`${line}\`, ${files} files: CPU ms`,
        value: round(cpu),
        bar: `<= ${BARS[files > 50_000 ? 'large' : bar]}`,
      });
      found.push({ name: `before \`${line}\`, ${files} files: git processes`, value: processes });
    }
  } finally {
    await hooks.close();
    removeLayer({ folder: base });
  }
  return found;
}

async function measured(hooks, base, line) {
  const event = { session: line, action: 'run', input: { command: line } };
  const ask = (call) => hooks.send({ ...event, event: 'before', call });
  const done = (call) => hooks.send({ ...event, event: 'after', call, output: '' });
  for (let at = 0; at < 3; at += 1) await ask(`w${at}`).then(() => done(`w${at}`));
  let cpu = 0;
  let processes = 0;
  for (let at = 0; at < ROUNDS; at += 1) {
    const trace = join(base, `trace${at}`);
    process.env.GIT_TRACE2 = trace;
    const before = cpuMs();
    await ask(`c${at}`);
    cpu += cpuMs() - before;
    delete process.env.GIT_TRACE2;
    processes = startsIn(trace);
    rmSync(trace, { force: true });
    await done(`c${at}`);
  }
  return { cpu: cpu / ROUNDS, processes };
}

/** Files in folders of 100, as in a project. */
function fill(root, files) {
  for (let at = 0; at < files; at += 1) {
    const folder = join(root, 'src', `d${Math.floor(at / 100)}`);
    if (at % 100 === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `f${at}.js`), `export const value${at} = ${at};\n`);
  }
}

function startsIn(trace) {
  try {
    return readFileSync(trace, 'utf8')
      .split('\n')
      .filter((line) => / start /.test(line)).length;
  } catch {
    return 0;
  }
}

/** Processor time of this process and of those that it has started and awaited. The kernel counts it in ticks of 10 ms. */
function cpuMs() {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1).split(' ');
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * 10;
}

const round = (value) => Math.round(value * 10) / 10;

function flag(name) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = Number(flag('files') ?? 5000);
  for (const row of await rows({ files, only: flag('only') })) console.log(JSON.stringify(row));
}
