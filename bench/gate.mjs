// Measures the cost of the gate: each row is the median time of gated work ÷ that of the same work
// without a gate. The two alternate in one process.
import { hash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openDisk } from '../build/disk/context.js';
import { readSnapshot } from '../build/disk/read.js';
import { replace } from '../build/disk/replace.js';
import { diffLines } from '../build/text/diff.js';
import { Workspace } from '../build/workspace/workspace.js';
import { openSession } from '../dist/index.js';
import { interleaved } from './measure.mjs';

const LINE = `${'y'.repeat(59)}\n`;

export async function rows() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const root = join(base, 'root');
  const home = join(base, 'home');
  mkdirSync(join(root, 'src/app'), { recursive: true });
  mkdirSync(home);
  const session = await openSession({
    roots: [root],
    home,
    store: 'memory:',
    policy: { durability: 'none' },
  });
  try {
    return [
      ...(await vetRows(session, root)),
      ...(await readRows(session, root)),
      ...(await editRows(root, home)),
      ...(await noMatchRows(session, root)),
      ...(await diffRows()),
      ...(await memoryRows(root, home)),
    ];
  } finally {
    await session.close();
    rmSync(base, { recursive: true, force: true });
  }
}

/**
 * Writes a file with an old modification time, as most files of a checkout have. The gate trusts an
 * old time as proof that the file is unchanged, and does not hash the file again.
 */
function put(path, text) {
  writeFileSync(path, text);
  utimesSync(path, 1e9, 1e9);
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 2200));

async function vetRows(session, root) {
  put(join(root, 'top.ts'), LINE.repeat(16));
  put(join(root, 'src/app/deep.ts'), LINE.repeat(16));
  await settled();
  const found = [];
  for (const [where, name] of [
    ['a file of the root', 'top.ts'],
    ['a file two folders down', 'src/app/deep.ts'],
  ]) {
    await session.read(name);
    const [gated, plain] = await interleaved(
      [
        () => session.vet({ kind: 'write', path: name, content: 'x' }),
        () => statSync(join(root, name), { bigint: true }),
      ],
      { rounds: 4000 },
    );
    found.push({
      name: `vet of ${where} / bigint stat`,
      ratio: gated / plain,
      bar: 3,
    });
  }
  return found;
}

/**
 * Measures first reads, each of an unread file, then second reads of a file that has not changed.
 */
async function readRows(session, root) {
  const found = [];
  for (const [label, lines, first, again] of [
    ['1 KB', 17, 2, 2],
    ['1 MB', 17_000, 1.9, 1.2],
  ]) {
    const rounds = lines > 1000 ? 60 : 2000;
    const name = (round) => `read-${lines}-${round}.txt`;
    for (let round = 0; round < 2 * rounds; round += 1)
      put(join(root, name(round)), `${round}${LINE.repeat(lines)}`);
    await settled();
    const all = { limit: Number.MAX_SAFE_INTEGER };
    const gated = async (file) => (await session.read(file, all)).text.length;
    // A read by a tool without a gate: resolve the path and return the text.
    const plain = (file) => readFileSync(realpathSync(join(root, file)), 'utf8').length;
    const turns = [0, 0];
    const [firstRead, base] = await interleaved(
      [() => gated(name(turns[0]++)), () => plain(name(turns[1]++))],
      { rounds, warmup: rounds },
    );
    found.push({
      name: `first gated read of ${label} / realpath + readFileSync`,
      ratio: firstRead / base,
      bar: first,
    });
    const [second, base2] = await interleaved([() => gated(name(0)), () => plain(name(0))], { rounds });
    found.push({
      name: `second gated read of ${label} / realpath + readFileSync`,
      ratio: second / base2,
      bar: again,
    });
  }
  return found;
}

/**
 * Measures edits that are synced to disk (the default; only this row has a limit) and edits that
 * are not synced, where the gate's share of the time is largest.
 */
async function editRows(root, home) {
  const found = [];
  for (const durability of ['none', 'full']) {
    const session = await openSession({
      roots: [root],
      home: join(home, durability),
      store: 'memory:',
      policy: { durability },
    });
    const workspace = Workspace.open([root]);
    const disk = openDisk({ home: join(home, 'plain'), owner: `bench-${durability}`, durability });
    try {
      for (const [label, lines, rounds] of [
        ['64 KB', 1100, 500],
        ['5 MB', 87_000, 15],
      ]) {
        const tasks = [
          await gatedEdit(session, root, { name: `gated-${durability}-${lines}.txt`, lines }),
          plainEdit({ workspace, disk }, root, { name: `plain-${durability}-${lines}.txt`, lines }),
        ];
        const [gated, plain] = await interleaved(tasks, { rounds, warmup: rounds });
        found.push({
          name: `gated edit in ${label}, ${durability === 'none' ? 'not synced' : 'synced'} / read + splice + commit without a gate`,
          ratio: gated / plain,
          ...(durability === 'none' ? {} : { bar: 1.3 }),
        });
      }
    } finally {
      await disk.close();
      workspace.close();
      await session.close();
    }
  }
  return found;
}

function putAnchor(path, lines) {
  put(path, `${LINE.repeat(lines / 2)}anchor 0\n${LINE.repeat(lines / 2)}`);
}

async function gatedEdit(session, root, { name, lines }) {
  putAnchor(join(root, name), lines);
  await session.read(name, { limit: Number.MAX_SAFE_INTEGER });
  let turn = 0;
  return async () => {
    const edit = { oldString: `anchor ${turn}\n`, newString: `anchor ${turn + 1}\n` };
    const outcome = await session.edit(name, [edit]);
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
    turn += 1;
  };
}

function plainEdit({ workspace, disk }, root, { name, lines }) {
  putAnchor(join(root, name), lines);
  let turn = 0;
  return async () => {
    const { located } = workspace.locate(name, 'edit');
    const snapshot = await readSnapshot(located.place, { clock: disk.clock });
    const anchor = `anchor ${turn}\n`;
    const at = snapshot.bytes.indexOf(anchor);
    const bytes = Buffer.concat([
      snapshot.bytes.subarray(0, at),
      Buffer.from(`anchor ${turn + 1}\n`),
      snapshot.bytes.subarray(at + anchor.length),
    ]);
    const expected = { fingerprint: snapshot.fingerprint, bytes: snapshot.bytes };
    const done = await replace(disk, located.place, { bytes, expected });
    located.place.dir.close();
    if (!done.ok) throw new Error(done.reason);
    rmSync(done.displaced);
    turn += 1;
  };
}

/**
 * Measures edits whose text does not occur in the file. Each matching rule, from exact to tolerant,
 * then searches the whole file, and the refusal looks for the nearest lines.
 */
async function noMatchRows(session, root) {
  const lines = 87_000;
  const exact = await gatedEdit(session, root, { name: 'matched.txt', lines });
  const text = Array.from(
    { length: lines },
    (_, index) => `const value${index} = call(${index * 7}, "and some more text");\n`,
  ).join('');
  put(join(root, 'unmatched.txt'), text);
  await session.read('unmatched.txt', { limit: Number.MAX_SAFE_INTEGER });
  const oldString = 'const value = [\n  someone(else),\n  entirely.different,\n];\n';
  const noMatch = async () => {
    const outcome = await session.edit('unmatched.txt', [{ oldString, newString: 'x\n' }]);
    if (outcome.ok || outcome.refusal.code !== 'NO_MATCH') throw new Error('a match was found');
  };
  const [missed, found] = await interleaved([noMatch, exact], { rounds: 8, warmup: 3 });
  return [
    { name: 'NO_MATCH over all tiers in 5 MB / an exact edit in 5 MB', ratio: missed / found, bar: 10 },
  ];
}

async function diffRows() {
  const before = Buffer.from(LINE.repeat(87_000));
  const after = Buffer.from(before);
  after[2_600_000] = 122;
  const copy = Buffer.from(before);
  const [ours, compare] = await interleaved([() => diffLines(before, after), () => before.equals(copy)], {
    rounds: 100,
  });
  return [{ name: 'diff of one line in 5 MB / comparing the bytes', ratio: ours / compare, bar: 5 }];
}

/** Measures the memory per remembered file, without the bytes kept for diffs. */
async function memoryRows(root, home) {
  const { openStore } = await import('../build/store/open-state.js');
  const { NO_FLAGS } = await import('../build/model/sighting.js');
  const store = await openStore('memory:');
  const count = 20_000;
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  gc();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < count; index += 1) {
    const key = `${root}/src/folder/file-${index}.ts`;
    const sighting = {
      key,
      fingerprint: { sha256: hash('sha256', key, 'hex'), size: index },
      stamp: { dev: 1n, ino: BigInt(index), size: BigInt(index), mtimeNs: 1n, ctimeNs: 1n },
      racy: false,
      coverage: { kind: 'whole' },
      totalLines: 10,
      flags: NO_FLAGS,
      how: 'read',
      atMs: index,
    };
    await store.record({ views: [{ session: home, view: { sighting } }] });
  }
  gc();
  const bytes = (process.memoryUsage().heapUsed - before) / count;
  // Use the store once more, so that V8 cannot free it before its memory is measured.
  await store.sightings(home);
  return [{ name: 'memory per sighting, bytes', value: Math.round(bytes) }];
}
