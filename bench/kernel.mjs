// Compares reads, careful commits and listings inside a workspace with plain file operations. Also
// measures the memory of reading the end of a huge file.
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDisk } from '../build/disk/context.js';
import { listNames } from '../build/disk/list.js';
import { readPage } from '../build/disk/page.js';
import { fingerprintOf, readSnapshot } from '../build/disk/read.js';
import { replace } from '../build/disk/replace.js';
import { Workspace } from '../build/workspace/workspace.js';
import { interleaved } from './measure.mjs';

const SELF = fileURLToPath(import.meta.url);

export async function rows() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const root = join(base, 'root');
  mkdirSync(join(root, 'a/b/c'), { recursive: true });
  const workspace = Workspace.open([root]);
  try {
    return [
      ...(await readRows({ base, root, workspace })),
      ...(await commitRows({ base, root, workspace })),
      ...(await listRows({ root, workspace })),
      ...(await pageRows({ base, root, workspace })),
    ];
  } finally {
    workspace.close();
    rmSync(base, { recursive: true, force: true });
  }
}

/**
 * Locates a file of the workspace, runs `work` with its open folder, and closes the folder
 * afterwards.
 */
async function at(workspace, path, work) {
  const outcome = workspace.locate(path, 'read');
  if (!outcome.ok) throw new Error(outcome.refusal.code);
  const { place } = outcome.located;
  try {
    return await work(place, outcome.located);
  } finally {
    place.dir.close();
  }
}

async function readRows({ base, root, workspace }) {
  const context = openDisk({ home: join(base, 'home'), owner: 'bench', durability: 'none' });
  const found = [];
  for (const [label, size, rounds] of [
    ['1 KB', 1 << 10, 4000],
    ['64 KB', 1 << 16, 2000],
    ['1 MB', 1 << 20, 800],
  ]) {
    const path = join(root, `a/b/c/${size}.txt`);
    writeFileSync(path, Buffer.alloc(size, 'x\n'));
    const relative = `a/b/c/${size}.txt`;
    const [gated, promised, checked, hashed] = await interleaved(
      [
        () =>
          at(workspace, relative, (place, { stats }) =>
            readSnapshot(place, { clock: context.clock, seen: stats }),
          ),
        () => readFile(path),
        () => {
          const real = realpathSync.native(path);
          if (!real.startsWith(`${root}/`)) throw new Error('outside');
          return void readFileSync(real);
        },
        () => void hash('sha256', readFileSync(path), 'hex'),
      ],
      { rounds },
    );
    found.push(
      row(
        `gated read of ${label}, depth 3 / fs.promises.readFile`,
        gated,
        promised,
        size === 1 << 10 ? 1 : undefined,
      ),
      row(`gated read of ${label}, depth 3 / realpath, then open`, gated, checked),
      row(
        `gated read of ${label}, depth 3 / read + sha256`,
        gated,
        hashed,
        size === 1 << 20 ? 1.1 : undefined,
      ),
    );
  }
  await context.close();
  return found;
}

async function commitRows({ base, root, workspace }) {
  const found = existsSync('/dev/shm') ? await memoryCommitRows() : [];
  for (const durability of ['none', 'full']) {
    for (const commit of ['exchange', 'claim']) {
      const home = join(base, `home-${durability}-${commit}`);
      mkdirSync(home);
      const context = openDisk({ home, owner: 'bench', durability, commit });
      const [ours, plain] = await commitPair({ root, workspace, context });
      await context.close();
      const bar = commit === 'exchange' ? 1.3 : undefined;
      const synced = durability === 'full' ? 'with fsync' : 'without fsync';
      found.push(row(`replace of 4 KB by ${commit} / temp + rename, ${synced}`, ours, plain, bar));
    }
  }
  return found;
}

/**
 * Measures commits on a file system in memory, where only processor time remains. The row has no
 * limit, because real workspaces are on disk.
 */
async function memoryCommitRows() {
  const base = mkdtempSync('/dev/shm/lookfirst-bench-');
  mkdirSync(join(base, 'root/a/b/c'), { recursive: true });
  const workspace = Workspace.open([join(base, 'root')]);
  const context = openDisk({ home: join(base, 'home'), owner: 'bench', durability: 'none' });
  try {
    const [ours, plain] = await commitPair({ root: join(base, 'root'), workspace, context });
    return [row('replace of 4 KB by exchange / temp + rename, in memory', ours, plain)];
  } finally {
    await context.close();
    workspace.close();
    rmSync(base, { recursive: true, force: true });
  }
}

async function commitPair({ root, workspace, context }) {
  const files = ['ours.txt', 'plain.txt'].map((name) => join(root, 'a/b/c', name));
  const states = [Buffer.alloc(4096, 'a'), Buffer.alloc(4096, 'b')];
  // Prepare the fingerprint and the bytes of the old file: a real caller also has both, because it
  // has read the file before.
  const expected = states.map((bytes) => ({ fingerprint: fingerprintOf(bytes), bytes }));
  for (const file of files) writeFileSync(file, states[0]);
  let turn = 0;
  let displaced;
  const before = () => {
    // Remove the old file that the commit has moved aside. Normally the journal does this; here old
    // files would only fill the disk.
    if (displaced !== undefined) unlinkSync(displaced);
    displaced = undefined;
  };
  const ours = () =>
    at(workspace, 'a/b/c/ours.txt', async (place) => {
      const change = { bytes: states[(turn + 1) % 2], expected: expected[turn % 2] };
      turn += 1;
      const done = await replace(context, place, change);
      if (!done.ok) throw new Error(done.reason);
      displaced = done.displaced;
    });
  const full = context.durability === 'full';
  const plain = () => replacePlainly(files[1], states[turn % 2], full);
  return interleaved([ours, plain], { rounds: full ? 300 : 1500, before });
}

function replacePlainly(file, bytes, full) {
  const temp = `${file}.tmp`;
  const fd = openSync(temp, 'w');
  writeSync(fd, bytes);
  if (full) fsyncSync(fd);
  closeSync(fd);
  renameSync(temp, file);
  if (!full) return;
  const folder = openSync(join(file, '..'), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

async function listRows({ root, workspace }) {
  const folder = join(root, 'many');
  mkdirSync(folder);
  for (let file = 0; file < 10_000; file += 1) writeFileSync(join(folder, `file-${file}.txt`), '');
  const [ours, plain] = await interleaved(
    [
      () => at(workspace, 'many/x', (place) => listNames(place.dir)),
      () => void readdirSync(folder, { withFileTypes: true }),
    ],
    { rounds: 60, warmup: 10 },
  );
  return [row('sorted list of 10,000 entries / readdir with types', ours, plain)];
}

async function pageRows({ base, root }) {
  const lines = 16 << 20;
  makeLines(join(root, 'huge.txt'), lines);
  // Measure in a new process: the memory that this process has already claimed would hide the
  // growth.
  const settings = JSON.stringify({ root, home: join(base, 'home-page'), from: lines - 200 });
  const grownBytes = Number(execFileSync(process.execPath, [SELF, '--page', settings], { encoding: 'utf8' }));
  const value = Number((grownBytes / (1 << 20)).toFixed(1));
  return [{ name: 'memory of reading 100 lines at the end of 1 GB, MB', value, bar: 64 }];
}

/**
 * Runs in the child process of `pageRows`. Prints by how many bytes the memory of that process
 * grew.
 */
async function readHugePage({ root, home, from }) {
  const workspace = Workspace.open([root]);
  const context = openDisk({ home, owner: 'page', durability: 'none' });
  const peak = watchMemory();
  const range = { clock: context.clock, from, limit: 100, maxLineBytes: 2000 };
  const page = await at(workspace, 'huge.txt', (place) => readPage(place, range));
  process.stdout.write(String(peak.stop()));
  await context.close();
  workspace.close();
  if (page.lines.length !== 100) throw new Error('wrong page');
}

/** Writes a file with this number of lines, each of 64 bytes. */
function makeLines(path, lines) {
  const block = Buffer.alloc(1 << 22, `${'l'.repeat(63)}\n`);
  const fd = openSync(path, 'w');
  for (let written = 0; written < lines * 64; written += block.length) writeSync(fd, block);
  ftruncateSync(fd, lines * 64);
  closeSync(fd);
}

/**
 * Samples this process's memory every few milliseconds. `stop` returns its largest growth in bytes.
 */
function watchMemory() {
  const before = process.memoryUsage.rss();
  let most = before;
  const look = () => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  const timer = setInterval(look, 5);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return most - before;
    },
  };
}

function row(name, ours, base, bar) {
  return { name, ours, base, ratio: ours / base, ...(bar === undefined ? {} : { bar }) };
}

if (process.argv[2] === '--page') await readHugePage(JSON.parse(process.argv[3]));
