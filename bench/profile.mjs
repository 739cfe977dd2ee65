// Shows where the time of a 1 KB write goes: by function (V8's profiler) and by system call (strace, if it is there).
//   node bench/profile.mjs [WRITES]
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RawClient } from './raw-client.mjs';

const SERVER = fileURLToPath(new URL('../dist/bin/lookfirst.js', import.meta.url));
const SHOWN = 20;

if (process.argv[1] === fileURLToPath(import.meta.url)) await profile(Number(process.argv[2] ?? 600));

async function profile(writes) {
  const base = mkdtempSync(join(tmpdir(), 'lookfirst-profile-'));
  try {
    const folder = join(base, 'profile');
    const node = [process.execPath, '--cpu-prof', `--cpu-prof-dir=${folder}`];
    await serve(node, join(base, 'functions'), writes);
    print(`microseconds of each of ${writes} writes, by function`, byFunction(folder, writes));
    if (spawnSync('strace', ['-V']).status !== 0) return;
    const table = join(base, 'calls');
    await serve(['strace', '-f', '-c', '-o', table, process.execPath], join(base, 'traced'), writes);
    print(`system calls of each of ${writes} writes, start included`, byCall(table, writes));
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

/** Starts a server and lets it overwrite one file repeatedly, with different bytes each time. */
async function serve(node, base, writes) {
  const root = join(base, 'root');
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, 'a.txt'), 'x\n');
  const env = { LOOKFIRST_HOME: join(base, 'home') };
  const client = new RawClient([...node, SERVER, 'serve', root], env);
  await client.open();
  await client.text(['read_file', { path: 'a.txt' }]);
  for (let turn = 0; turn < writes; turn += 1)
    await client.text(['write_file', { path: 'a.txt', content: `${turn}\n${'y'.repeat(1000)}\n` }]);
  await client.close();
}

function byFunction(folder, writes) {
  const times = new Map();
  for (const name of readdirSync(folder)) {
    const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    const byId = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
    for (const [index, id] of samples.entries()) {
      const { functionName, url, lineNumber } = byId.get(id);
      const key = `${functionName || '(anonymous)'} ${url.replace(/^.*\/(dist|node_modules)\//, '')}:${lineNumber + 1}`;
      times.set(key, (times.get(key) ?? 0) + timeDeltas[index]);
    }
  }
  return [...times]
    .filter(([name]) => !name.startsWith('(idle)'))
    .map(([name, total]) => [name, total / writes]);
}

/**
 * The number of system calls per write, by name, from strace's table. Its columns are: share,
 * seconds, microseconds a call, calls, errors if any, name.
 */
function byCall(table, writes) {
  const lines = readFileSync(table, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, calls, name] = /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$/.exec(line) ?? [];
    return name === undefined || name === 'total' ? [] : [[name, Number(calls) / writes]];
  });
}

function print(title, rows) {
  process.stdout.write(`${title}\n`);
  const sorted = [...rows].sort(([, one], [, other]) => other - one).slice(0, SHOWN);
  for (const [name, value] of sorted) process.stdout.write(`${value.toFixed(1).padStart(9)}  ${name}\n`);
  process.stdout.write('\n');
}
