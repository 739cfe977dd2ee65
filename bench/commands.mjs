// Measures the cost of running a command on a layer, an overlay file system that holds the
// command's writes until they are committed. Compares the command with the same command without a
// layer, and the commit of its writes with plain writes.
//   node bench/commands.mjs        prints the rows; none on a machine without a sandbox
import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { readLayer } from '../build/gate/command/layer-content.js';
import { readWriteSet } from '../build/gate/command/write-set.js';
import { removeLayer } from '../build/process/layer.js';
import { Sessions } from '../build/session/sessions.js';
import { interleaved, median } from './measure.mjs';

const ROUNDS = 5;

export async function rows() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const root = join(base, 'work');
  mkdirSync(root);
  const sessions = await Sessions.open({ roots: [root], home: join(base, 'state') });
  try {
    const probe = await sessions.world.processes.probe();
    if (!probe.ok) {
      process.stderr.write(`skipped: commands need a sandbox: ${probe.missing}; ${probe.cure}\n`);
      return [];
    }
    const bench = { base, root, sessions, probe, session: await sessions.session('bench') };
    return [
      ...(await startRows(bench)),
      ...(await findRows(bench)),
      await testRow(bench),
      await writeSetRow(bench),
      await commitRow(bench),
      ...(await folderRows(bench)),
    ];
  } finally {
    await sessions.close();
    removeLayer({ folder: base });
  }
}

/**
 * Runs a command on an overlay layer with the `undo` profile, which hooks and `lookfirst run` use.
 */
async function onLayer({ session }, command, options = {}) {
  const outcome = await session.run(command, { profile: 'undo', ...options });
  if (!outcome.ok || outcome.exitCode !== 0) throw new Error(JSON.stringify(outcome));
  return outcome;
}

function plainly({ root }, command) {
  return ended(spawn('sh', ['-c', command], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] }));
}

function ended(child) {
  return new Promise((resolve, reject) => {
    child.stdout.resume();
    child.stderr.resume();
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`exit code ${code}`))));
  });
}

async function startRows(bench) {
  const { processes } = bench.sessions.world;
  let count = 0;
  const sandboxed = async () => {
    count += 1;
    const run = await processes.run(requestOf(bench, `t${count}`, 'true'), bench.probe);
    removeLayer(run.layer);
  };
  const [plain, layered] = await interleaved([() => plainly(bench, 'true'), sandboxed], {
    rounds: 40,
    warmup: 5,
  });
  return [
    { name: 'commands: `true` in the sandbox / plain', ratio: layered / plain, bar: 7 },
    {
      name: 'commands: `true` in the sandbox, ms more',
      value: round((layered - plain) / 1000),
      bar: '<= 15',
    },
  ];
}

function requestOf({ root }, id, script) {
  return {
    id,
    session: 'bench',
    profile: { kind: 'undo' },
    layered: [root],
    mounted: [],
    boundThrough: [],
    cwd: root,
    command: ['/bin/sh', '-c', script],
    hide: [],
    env: [],
    timeoutMs: 600_000,
    output: 'kept',
  };
}

async function findRows(bench) {
  const folder = join(bench.root, 'tree');
  execFileSync('sh', [
    '-c',
    `mkdir -p '${folder}'; cd '${folder}'; for d in $(seq 100); do mkdir d$d; (cd d$d; seq 1000 | sed s/^/f/ | xargs touch); done`,
  ]);
  const find = 'find . -name "*7.ts" | wc -l';
  const tasks = [() => plainly(bench, find), () => onBareOverlay(bench, find), () => onLayer(bench, find)];
  const [plain, bare, layered] = await interleaved(tasks, { rounds: ROUNDS, warmup: 1 });
  rmSync(folder, { recursive: true });
  return [
    { name: 'commands: find over 100,000 files on a bare overlay / plain', ratio: bare / plain },
    { name: 'commands: find over 100,000 files on a layer / plain', ratio: layered / plain, bar: 1.6 },
  ];
}

/**
 * Mounts an overlay and runs a command on it, with no other work. No layer can take less time than
 * this.
 */
function onBareOverlay({ base, root, probe: { tools } }, command) {
  const [upper, work] = ['bare-up', 'bare-work'].map((name) => join(base, name));
  for (const folder of [upper, work]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
  }
  const namespace = tools.namespace === 'root' ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  const options = `lowerdir=${root},upperdir=${upper},workdir=${work},userxattr,volatile`;
  const script = `"$0" -t overlay overlay -o "$1" "$2" && cd "$2" && ${command}`;
  const argv = [...namespace, '--', '/bin/sh', '-c', script, tools.mount, options, root];
  return ended(spawn(tools.unshare, argv, { stdio: ['ignore', 'pipe', 'pipe'] }));
}

/**
 * Measures the tests of a small project, which start a process per file, like the tests of most
 * projects.
 */
async function testRow(bench) {
  const project = join(bench.root, 'project');
  mkdirSync(join(project, 'test'), { recursive: true });
  writeFileSync(
    join(project, 'package.json'),
    '{"name":"project","private":true,"scripts":{"test":"node --test"}}',
  );
  for (let file = 0; file < 20; file += 1) {
    const modules = Array.from({ length: 20 }, (_, index) => `m${file}-${index}.js`);
    for (const name of modules) writeFileSync(join(project, name), `module.exports = '${name}';\n`);
    const lines = modules.map((name) => `require('assert').equal(require('../${name}'), '${name}');`);
    writeFileSync(
      join(project, 'test', `t${file}.test.js`),
      `require('node:test')('all', () => {\n${lines.join('\n')}\n});\n`,
    );
  }
  const command = 'cd project && npm test';
  const [plain, layered] = await interleaved([() => plainly(bench, command), () => onLayer(bench, command)], {
    rounds: ROUNDS,
    warmup: 1,
  });
  rmSync(project, { recursive: true });
  return {
    name: 'commands: `npm test` of a small project on a layer / plain',
    ratio: layered / plain,
    bar: 1.15,
  };
}

const WRITE_1000 = 'for i in $(seq 1000); do echo "text $i $0" > many/f$i; done';

/** Measures how long it takes to find and hash the 1,000 files that a command has changed. */
async function writeSetRow(bench) {
  await onLayer(bench, `mkdir many; ${WRITE_1000}`);
  const { world } = bench.sessions;
  const run = await world.processes.run(requestOf(bench, 'w1', WRITE_1000), bench.probe);
  const times = [];
  for (let turn = 0; turn < ROUNDS; turn += 1) {
    const start = performance.now();
    const read = await readWriteSet(world, readLayer(run.layer, bench.probe.attributes));
    times.push(performance.now() - start);
    if (!read.ok || read.set.written.length !== 1000) throw new Error(JSON.stringify(read));
  }
  removeLayer(run.layer);
  return { name: 'commands: write set of 1,000 files, s', value: round(median(times) / 1000), bar: '<= 0.3' };
}

/**
 * Compares committing 1,000 changed files of a command with writing and syncing them. The command's
 * own time is subtracted.
 */
async function commitRow(bench) {
  const plain = [];
  const gated = [];
  const copy = join(bench.base, 'copy');
  mkdirSync(copy);
  for (let turn = 0; turn < ROUNDS; turn += 1) {
    const start = performance.now();
    for (let i = 0; i < 1000; i += 1) writeSynced(join(copy, `f${i}`), `text ${i} ${turn}\n`);
    plain.push(performance.now() - start);
    const discarded = await timed(() =>
      onLayer(bench, ['sh', '-c', WRITE_1000, `x${turn}`], { writes: 'discard' }),
    );
    const committed = await timed(() => onLayer(bench, ['sh', '-c', WRITE_1000, `x${turn}`]));
    gated.push(committed - discarded);
  }
  return {
    name: 'commands: commit of 1,000 small files / writing and syncing them',
    ratio: median(gated) / median(plain),
    bar: 2,
  };
}

function writeSynced(path, text) {
  const fd = openSync(path, 'w');
  writeSync(fd, text);
  fsyncSync(fd);
  closeSync(fd);
}

/**
 * Measures committing and undoing a new folder of 20,000 files. Takes the median of three rounds,
 * because the first round also pays for code that is not compiled yet.
 */
async function folderRows(bench) {
  const make =
    'mkdir big; cd big; for d in $(seq 20); do mkdir d$d; (cd d$d; seq 1000 | sed s/^/$d-/ | split -l 1 -a 3 - f); done';
  const [committing, comparing, undoing] = [[], [], []];
  for (let turn = 0; turn < 3; turn += 1) {
    const discarded = await timed(() => onLayer(bench, make, { writes: 'discard' }));
    let change;
    const committed = await timed(async () => {
      ({ change } = await onLayer(bench, make));
    });
    const undone = await timed(async () => {
      const outcome = await bench.session.undo({ change });
      if (!outcome.ok || readdirSync(bench.root).includes('big')) throw new Error(JSON.stringify(outcome));
    });
    committing.push(committed - discarded);
    comparing.push(discarded);
    undoing.push(undone);
  }
  return [
    {
      name: 'commands: a new folder of 20,000 files committed, s',
      value: round(median(committing) / 1000),
      bar: '<= 3',
    },
    {
      name: 'commands: a new folder of 20,000 files, comparing and showing, s',
      value: round(median(comparing) / 1000),
    },
    {
      name: 'commands: a new folder of 20,000 files undone, s',
      value: round(median(undoing) / 1000),
      bar: '<= 3',
    },
  ];
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function round(value) {
  return Number(value.toPrecision(3));
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const row of await rows())
    process.stdout.write(`${row.name}: ${row.ratio?.toFixed(2) ?? row.value} (bar ${row.bar ?? '-'})\n`);
