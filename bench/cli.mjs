// Measures the cost of the journal: `lookfirst log` in a new process, a recorded read, a journalled
// write, and the space on disk.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStore } from '../build/store/open-state.js';
import { loadSqlite } from '../build/store/sqlite/driver.js';
import { openSession } from '../dist/index.js';
import { interleaved } from './measure.mjs';

const ENTRIES = 100_000;
const project = fileURLToPath(new URL('..', import.meta.url));
const { bin } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
const program = join(project, bin.lookfirst);

export async function rows() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  try {
    return [
      ...(await coldLog(join(base, 'log'))),
      await recordedRead(join(base, 'read')),
      ...(await journalledWrites(join(base, 'write'))),
      await storeSize(join(base, 'size')),
    ];
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

/**
 * Compares a new process that shows the last entries of a long journal with a new process that does
 * nothing.
 */
async function coldLog(base) {
  const { root, home } = folders(base);
  const store = await openStore(`sqlite:${join(home, 'lookfirst.db')}`);
  for (let from = 0; from < ENTRIES; from += 5000)
    await store.record({ entries: Array.from({ length: 5000 }, (_, i) => sampleEntry(root, from + i)) });
  await store.close();
  const empty = join(base, 'empty.mjs');
  writeFileSync(empty, '');
  const options = {
    cwd: root,
    env: { ...process.env, LOOKFIRST_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  };
  const run = (...args) => execFileSync(process.execPath, args, options);
  const [log, nothing] = await interleaved([() => run(program, 'log'), () => run(empty)], {
    rounds: 15,
    warmup: 2,
  });
  return [
    {
      name: `cold log of ${ENTRIES} entries over an empty start, ms`,
      value: Math.round((log - nothing) / 1000),
      bar: 150,
    },
    {
      name: 'cold log beyond 1.5 empty starts, ms',
      value: Math.round((log - 1.5 * nothing) / 1000),
      bar: 60,
    },
  ];
}

function sampleEntry(root, n) {
  const path = `src/file-${n % 500}.ts`;
  const base = { atMs: 1_700_000_000_000 + n, session: `agent-${n % 7}`, root, path };
  const sha256 = String(n).padStart(64, '0');
  if (n % 3 !== 0) return { ...base, kind: 'read', action: 'read', lines: 'whole', sha256 };
  const side = (kept) => ({ kind: 'file', fingerprint: { sha256, size: 4096 }, mode: 0o644, kept });
  const effect = { key: `${root}/${path}`, relative: path, before: side(true), after: side(false) };
  return { ...base, kind: 'change', action: 'edit', change: `c${n}`, deltas: [effect] };
}

/** Compares reads of many files that are recorded in SQLite with reads recorded in memory. */
async function recordedRead(base) {
  const { root, home } = folders(base);
  const names = Array.from({ length: 200 }, (_, i) => `file-${i}.txt`);
  for (const name of names)
    writeFileSync(join(root, name), `${name}\n`.concat('x'.repeat(63), '\n').repeat(13));
  const sessions = [
    await openSession({ roots: [root], home, session: 'bench' }),
    await openSession({ roots: [root], home, session: 'bench', store: 'memory:' }),
  ];
  try {
    // Read every file once before measuring: the first read of a file also stores its content in
    // the background.
    for (const session of sessions) for (const name of names) await done(session.read(name));
    const tasks = sessions.map((session) => {
      let turn = 0;
      return () => done(session.read(names[++turn % names.length]));
    });
    const [recorded, remembered] = await interleaved(tasks, { rounds: 3000 });
    return {
      name: 'read of 1 KB, record in SQLite over memory, µs',
      value: round(recorded - remembered),
      bar: 60,
    };
  } finally {
    for (const session of sessions) await session.close();
  }
}

/**
 * Measures a gated write of 4 KB that keeps the old content and the journal entry on disk. Compares
 * it with a gated write that keeps them in memory, and with a careful write without a journal:
 * temporary file, fsync, rename, fsync of the folder. All three sync the file.
 */
async function journalledWrites(base) {
  const { root, home } = folders(base);
  const texts = ['a', 'b'].map((letter) => letter.repeat(63).concat('\n').repeat(64));
  const open = (more) => openSession({ roots: [root], home, session: 'bench', ...more });
  const sessions = [await open({}), await open({ store: 'memory:' })];
  try {
    const tasks = [];
    for (const [who, session] of sessions.entries()) {
      const name = `${who}.txt`;
      writeFileSync(join(root, name), texts[0]);
      await done(session.read(name));
      let turn = 0;
      tasks.push(() => done(session.write(name, texts[++turn % 2])));
    }
    let turn = 0;
    tasks.push(() => durableWrite(root, 'plain.txt', texts[++turn % 2]));
    const [journalled, unjournalled, plain] = await interleaved(tasks, { rounds: 400 });
    return [
      {
        name: 'journalled write of 4 KB / unjournalled one, both synced',
        ratio: journalled / unjournalled,
        bar: 1.5,
      },
      { name: 'journalled write of 4 KB / ungated temp, fsync, rename, fsync', ratio: journalled / plain },
    ];
  } finally {
    for (const session of sessions) await session.close();
  }
}

/** Returns the outcome, or throws: a refused or empty operation would be measured as a fast one. */
async function done(outcome) {
  const settled = await outcome;
  if (!settled.ok || settled.changed === false)
    throw new Error(JSON.stringify(settled.refusal ?? 'nothing changed'));
  return settled;
}

/** Writes a temporary file, syncs it, renames it and syncs the folder. Keeps no journal. */
function durableWrite(folder, name, text) {
  const temporary = join(folder, `.${name}.tmp`);
  const file = openSync(temporary, 'wx');
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
  renameSync(temporary, join(folder, name));
  const directory = openSync(folder, 'r');
  fsyncSync(directory);
  closeSync(directory);
}

/**
 * Measures the disk space of a thousand edits, each with different bytes: journal entries, records
 * of what the session has seen, and kept old contents.
 */
async function storeSize(base) {
  const { root, home } = folders(base);
  const lines = Array.from({ length: 160 }, (_, i) => `line ${i} ${'z'.repeat(54)}\n`);
  writeFileSync(join(root, 'a.txt'), `edit 0\n${lines.join('')}`);
  const session = await openSession({
    roots: [root],
    home,
    session: 'bench',
    policy: { durability: 'none' },
  });
  await done(session.read('a.txt'));
  for (let i = 0; i < 1000; i += 1)
    await done(session.edit('a.txt', [{ oldString: `edit ${i}\n`, newString: `edit ${i + 1}\n` }]));
  await session.close();
  // Empty the write-ahead log before measuring the size, so that its content is not counted twice.
  const database = (await loadSqlite())(join(home, 'lookfirst.db'));
  database.exec('pragma wal_checkpoint(truncate)');
  database.close();
  const journal = statSync(join(home, 'lookfirst.db')).size;
  // Small images are in the database. The folder is made for the first large one.
  const blobs = join(home, 'blobs');
  const images = existsSync(blobs) ? treeSize(blobs) : 0;
  return {
    name: 'store after 1,000 edits of a 10 KB file, MB (journal + images)',
    value: `${megabytes(journal)} + ${megabytes(images)}`,
  };
}

function treeSize(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function folders(base) {
  const made = { root: join(base, 'root'), home: join(base, 'home') };
  for (const folder of Object.values(made)) mkdirSync(folder, { recursive: true });
  return made;
}

function round(microseconds) {
  return Math.round(microseconds * 10) / 10;
}

function megabytes(bytes) {
  return (bytes / 1024 / 1024).toFixed(1);
}
