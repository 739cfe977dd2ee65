// Measures commands on a long journal: processor seconds of a new process, at a million entries and at a tenth of them.
//   node bench/journal.mjs [--entries N] [--keep FOLDER]   FOLDER: create the journals there, or use existing ones
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStore } from '../build/store/open-state.js';
import { openSession } from '../dist/index.js';
import { median } from './measure.mjs';

const PROGRAM = fileURLToPath(new URL('../dist/bin/lookfirst.js', import.meta.url));
const MILLION = 1_000_000;
const STEP = 5000;
/** The number of sessions that write the journal, and of files that they read and change. */
const [SESSIONS, FILES] = [1000, 5000];
const CHANGES_TO_UNDO = 20;

export async function rows({ entries = MILLION, keep } = {}) {
  const base = realpathSync(keep ?? mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  try {
    const large = await journal(join(base, String(entries)), entries);
    const small = await journal(join(base, String(entries / 10)), entries / 10);
    const seconds = (args) => cpuSeconds(large, args, 3);
    return [
      { name: `status at ${entries} entries, s CPU`, value: seconds(['status']), bar: '<= 0.5' },
      { name: `gc --dry-run at ${entries} entries, s CPU`, value: seconds(['gc', '--dry-run']), bar: '<= 5' },
      {
        name: `log --verify at ${entries} entries, s CPU`,
        value: seconds(['log', '--verify']),
        bar: '<= 10',
      },
      // An undo reads all changes since the oldest one that it undoes. So the undo of late changes
      // has a limit (`bar`), and the undo of early changes has none.
      { ...undoRow(large, small, { entries, session: 'late' }), bar: '<= 1.2' },
      undoRow(large, small, { entries, session: 'early' }),
    ];
  } finally {
    if (keep === undefined) rmSync(base, { recursive: true, force: true });
  }
}

function undoRow(large, small, { entries, session }) {
  const args = ['undo', '--session', session, '--dry-run'];
  const times = { large: [], small: [] };
  for (let turn = 0; turn < 5; turn += 1) {
    times.large.push(cpuSeconds(large, args, 1));
    times.small.push(cpuSeconds(small, args, 1));
  }
  const ratio = median(times.large) / median(times.small);
  const where = session === 'late' ? 'its changes the newest' : 'its changes in the middle';
  return { name: `undo --session at ${entries} entries / at a tenth, ${where}`, ratio };
}

/** A state folder with `entries` entries. In the middle and at the end, a session makes a few changes of real files. */
async function journal(folder, entries) {
  const made = { root: join(folder, 'root'), home: join(folder, 'home') };
  if (existsSync(folder)) return made;
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  const [root, home] = [join(unfinished, 'root'), join(unfinished, 'home')];
  for (const path of [root, home]) mkdirSync(path, { recursive: true });
  // The entries must name `made.root`, where the files are after the rename below.
  await fill(home, { root: made.root, from: 0, to: entries / 2 });
  renameSync(unfinished, folder);
  await changeFiles(made, 'early');
  await fill(made.home, { root: made.root, from: entries / 2, to: entries });
  await changeFiles(made, 'late');
  return made;
}

async function fill(home, { root, from, to }) {
  const store = await openStore(`sqlite:${join(home, 'lookfirst.db')}`);
  for (let at = from; at < to; at += STEP) {
    const count = Math.min(STEP, to - at);
    await store.record({ entries: Array.from({ length: count }, (_, n) => sampleEntry(root, at + n)) });
  }
  for (let n = from === 0 ? 0 : SESSIONS; n < SESSIONS; n += 1) {
    const record = { id: `agent-${n}`, root, startedMs: Date.now(), lastMs: Date.now(), named: true };
    await store.record({ session: record });
  }
  await store.close();
}

/** Makes the journal entry with the number `n`: a change for every fourth number, otherwise a read. */
function sampleEntry(root, n) {
  const path = `src/file-${n % FILES}.ts`;
  const base = { atMs: Date.now(), session: `agent-${Math.floor(n / 50) % SESSIONS}`, root, path };
  const sha256 = String(n).padStart(64, '0');
  if (n % 4 !== 0) return { ...base, kind: 'read', action: 'read', lines: 'whole', sha256 };
  const side = (kept) => ({ kind: 'file', fingerprint: { sha256, size: 4096 }, mode: 0o644, kept });
  const effect = { key: `${root}/${path}`, relative: path, before: side(true), after: side(false) };
  return { ...base, kind: 'change', action: 'edit', change: `c${n}`, deltas: [effect] };
}

async function changeFiles({ root, home }, name) {
  const session = await openSession({ roots: [root], home, session: name, policy: { durability: 'none' } });
  for (let n = 0; n < CHANGES_TO_UNDO; n += 1) {
    const file = `${name}-${n}.txt`;
    writeFileSync(join(root, file), 'before\n');
    await session.read(file);
    const outcome = await session.write(file, 'after\n');
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  }
  await session.close();
}

/**
 * The median processor time of a new process, in seconds. The process writes its time to a file
 * when it ends.
 */
function cpuSeconds({ root, home }, args, times) {
  const file = join(home, 'cpu');
  const at = `import{writeFileSync as w}from'node:fs';process.on('exit',()=>{const u=process.cpuUsage();w(${JSON.stringify(file)},String((u.user+u.system)/1e6))})`;
  const preload = `data:text/javascript,${encodeURIComponent(at)}`;
  const taken = Array.from({ length: times }, () => {
    const { status, stderr } = spawnSync(process.execPath, ['--import', preload, PROGRAM, ...args], {
      cwd: root,
      env: { ...process.env, LOOKFIRST_HOME: home },
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    return Number(readFileSync(file, 'utf8'));
  });
  return Number(median(taken).toFixed(2));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name) => {
    const at = process.argv.indexOf(name);
    return at < 0 ? undefined : process.argv[at + 1];
  };
  const keep = option('--keep');
  if (keep !== undefined) mkdirSync(keep, { recursive: true });
  const entries = Number(option('--entries') ?? MILLION);
  for (const row of await rows({ entries, ...(keep === undefined ? {} : { keep }) }))
    console.log(JSON.stringify(row));
}
