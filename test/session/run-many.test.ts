import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadNative } from '../../src/disk/context.ts';
import { fingerprintOf } from '../../src/disk/read.ts';
import { readLayer } from '../../src/gate/command/layer-content.ts';
import { readWriteSet } from '../../src/gate/command/write-set.ts';
import type { RunOptions } from '../../src/model/session.ts';
import { removeLayer } from '../../src/process/layer.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok } from '../support/desk.ts';
import { withDatabase } from '../support/kept.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { treeOf } from '../support/tree-of.ts';

// Tests of commands that write many files. From 200 files on, a commit links the files of a
// command's overlay layer into the workspace instead of writing them again.

const here = await sandboxHere();

let base: string;
let root: string;
let sessions: Sessions;
let session: GatedSession;

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-many-')));
  root = join(base, 'work');
  mkdirSync(root);
  sessions = await Sessions.open({ roots: [root], home: join(base, 'state') });
  session = await sessions.session('agent');
});

afterEach(async () => {
  await sessions.close();
  await layersRemoved();
  removeLayer({ folder: base });
});

function put(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

async function ran(command: string, options: RunOptions = {}): Promise<string> {
  const { change, exitCode, committed } = await ok(session.run(command, { profile: 'undo', ...options }));
  expect({ exitCode, committed }).toEqual({ exitCode: 0, committed: true });
  return change ?? '';
}

/**
 * Waits until the overlay layers of finished commands are removed. A separate process removes a
 * large layer.
 */
async function layersRemoved(): Promise<void> {
  const layers = join(base, 'state', 'layers');
  while (existsSync(layers) && readdirSync(layers).length > 0) await wait(20);
}

/** Owner, group and number of hard links of every file below a folder. */
function ownersOf(folder: string): Readonly<Record<string, string>> {
  const files = Object.entries(treeOf(folder)).filter(([, what]) => /^\d/.test(what));
  return Object.fromEntries(
    files.map(([path]) => {
      const { uid, gid, nlink } = lstatSync(join(folder, path));
      return [path, `${uid}:${gid} ${nlink}`];
    }),
  );
}

const MAKE_250 = 'mkdir -p big/sub; for i in $(seq 250); do echo "text $i" > big/f$i; done';
/** A script that leaves every kind of file, among many ordinary ones. */
const MIXED = [
  'umask 022',
  MAKE_250,
  'echo run > big/run.sh; chmod 755 big/run.sh',
  'echo only > big/read-only; chmod 444 big/read-only',
  'echo own > big/own; chmod 600 big/own',
  'echo copy > big/like-an-image; chmod 400 big/like-an-image',
  ': > big/sub/empty; head -c 200000 /dev/zero > big/sub/large',
  'ln -s ../f1 big/sub/link; ln -s /nowhere big/dangling; mkdir big/sub/bare; chmod 555 big/sub',
  'echo changed > a.txt; rm gone.txt; mv d moved; chmod 755 e.txt',
].join('; ');

it.skipIf(here === undefined)(
  'the writes of a command take bounded memory until they are committed',
  async () => {
    const { world } = sessions;
    const probe = await world.processes.probe();
    if (!probe.ok) throw new Error(probe.missing);
    const run = await world.processes.run(
      {
        id: 'w1',
        session: 'agent',
        profile: { kind: 'undo' },
        layered: [root],
        mounted: [],
        boundThrough: [],
        cwd: root,
        command: ['/bin/sh', '-c', 'for i in $(seq 300); do head -c 65536 /dev/zero > f$i; done'],
        hide: [],
        env: [],
        timeoutMs: undefined,
        output: 'kept',
      },
      probe,
    );
    const { set } = await ok(readWriteSet(world, readLayer(run.layer, probe.attributes)));
    removeLayer(run.layer);
    expect(set.written).toHaveLength(300);
    // After its layer was removed, a file can be read only if its bytes are held in memory.
    const held = set.written.filter(({ bytes }) => isHeld(bytes));
    expect(held).toHaveLength((16 << 20) / 65_536);
  },
);

function isHeld(bytes: (() => Buffer) | undefined): boolean {
  try {
    return bytes?.() !== undefined;
  } catch {
    return false;
  }
}

describe.skipIf(here === undefined)('a command that makes a folder of many files', () => {
  it('is committed as the shell left it, undone, and the undo undone', async () => {
    for (const name of ['a.txt', 'gone.txt', 'd/b.txt', 'd/c/d.txt', 'e.txt']) put(name, `${name}\n`);
    const before = treeOf(root);
    const plain = join(base, 'plain');
    execFileSync('cp', ['-a', root, plain]);
    execFileSync('sh', ['-c', MIXED], { cwd: plain });
    const change = await ran(MIXED);
    expect(treeOf(root)).toEqual(treeOf(plain));
    // `ownersOf` also compares the number of hard links. It is 1 for each file, so the workspace
    // shares no file with the command's overlay layer.
    expect(ownersOf(root)).toEqual(ownersOf(plain));
    const undone = await ok(session.undo({ change }));
    expect(treeOf(root)).toEqual(before);
    await ok(session.undo({ change: undone.change ?? '' }));
    expect(treeOf(root)).toEqual(treeOf(plain));
  });

  it('drops setuid and setgid bits, and separates two hard links to one file', async () => {
    const outcome = await ok(
      session.run(`${MAKE_250}; chmod 4755 big/f1; chmod 2644 big/f2; ln big/f3 big/other`, {
        profile: 'undo',
      }),
    );
    expect([...outcome.droppedBits].sort()).toEqual(['big/f1', 'big/f2']);
    const modes = ['f1', 'f2'].map((name) => (lstatSync(join(root, 'big', name)).mode & 0o7777).toString(8));
    expect(modes).toEqual(['755', '644']);
    appendFileSync(join(root, 'big/f3'), 'more\n');
    expect(readFileSync(join(root, 'big/other'), 'utf8')).toBe('text 3\n');
  });

  it('keeps the permissions of files while another process removes the layer', async () => {
    const make =
      'mkdir -p big/d; for i in $(seq 700); do echo $i > big/d/f$i; done; chmod 444 big/d/f*; chmod 555 big/d';
    await ran(make);
    const [tree, owners] = [treeOf(root), ownersOf(root)];
    expect(Object.values(tree).filter((what) => what.startsWith('444 '))).toHaveLength(700);
    await layersRemoved();
    expect(treeOf(root)).toEqual(tree);
    expect(ownersOf(root)).toEqual(owners);
  });

  it('leaves nothing that the next command takes for a change by another program', async () => {
    await ran('mkdir big; seq 1000 | split -l 1 -a 3 - big/f');
    const times = (): bigint[] =>
      readdirSync(join(root, 'big')).map(
        (name) => lstatSync(join(root, 'big', name), { bigint: true }).ctimeNs,
      );
    const before = times();
    await ran('for f in big/faa?; do echo more >> $f; done; sleep 0.3');
    const changed = times().filter((time, index) => time !== before[index]);
    expect(changed).toHaveLength(26);
    await layersRemoved();
  });

  it('has a layer that two processes may remove at once', async () => {
    const folder = join(base, 'layer');
    execFileSync('sh', [
      '-c',
      `mkdir -p '${folder}/up-0/d'; seq 1200 | split -l 1 -a 3 - '${folder}/up-0/d/f'`,
    ]);
    const other = spawn('rm', ['-rf', folder]);
    const ended = once(other, 'close');
    for (let tries = 0; existsSync(folder) && tries < 1000; tries += 1) removeLayer({ folder });
    // The folder is already gone. Removing it once more must not fail.
    removeLayer({ folder });
    await ended;
    expect(existsSync(folder)).toBe(false);
  });

  it('is not changed after its commit by processes that it leaves running', async () => {
    const late = 'setsid sh -c "exec 3>>big/f7; while :; do echo late >&3; sleep 0.01; done" &';
    await ran(`${MAKE_250}; ${late} while [ $(wc -l < big/f7) -lt 3 ]; do sleep 0.01; done`);
    const after = treeOf(root);
    await wait(200);
    expect(treeOf(root)).toEqual(after);
    expect(new Set(Object.values(ownersOf(root)).map((each) => each.split(' ')[1]))).toEqual(new Set(['1']));
  });

  it('does not share files with the layer that a refused command leaves', async () => {
    put('a.txt', 'one\n');
    const go = join(base, 'go');
    const outcome = await session.run(
      `${MAKE_250}; echo two > a.txt; echo ready; while ! [ -e '${go}' ]; do sleep 0.01; done`,
      {
        profile: 'undo',
        onProgress: () => {
          writeFileSync(join(root, 'a.txt'), 'three\n');
          writeFileSync(go, '');
        },
      },
    );
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'COMMAND_CONFLICT' } });
    expect(Object.keys(treeOf(root))).toEqual(['a.txt']);
    const layer = outcome.ok ? '' : String(outcome.refusal.detail?.['layer']);
    await ok(session.run({ kept: layer }));
    expect(Object.keys(treeOf(root))).toHaveLength(253);
    expect(new Set(Object.values(ownersOf(root)).map((each) => each.split(' ')[1]))).toEqual(new Set(['1']));
  });
});

/** Mode, owner, number of hard links and extended attributes of every file of a folder. */
function marksOf(folder: string): Readonly<Record<string, string>> {
  const native = loadNative();
  const marks = readdirSync(folder).map((name) => {
    const fd = openSync(join(folder, name), 'r');
    const { mode, uid, gid, nlink } = fstatSync(fd);
    const attributes = [...(native?.listAttrsSync(fd) ?? [])];
    closeSync(fd);
    return [name, `${mode.toString(8)} ${uid}:${gid} ${nlink} ${attributes.join(',')}`];
  });
  return Object.fromEntries(marks);
}

describe.skipIf(here === undefined)('a command that changes many files', () => {
  const CHANGE = [
    'for f in many/*; do echo new >> $f; done',
    'chmod 600 many/f1; sed -i s/new/newer/ many/f2 many/marked; cp many/f3 many/made; rm many/f4; : > many/f5',
  ].join('; ');

  it("keeps mode, owner and attributes of each file, and adds none of the layer's attributes", async () => {
    for (let index = 0; index < 210; index += 1) put(`many/f${index}`, `file ${index}\n`);
    for (const name of ['marked', 'marked-too']) put(`many/${name}`, 'text\n');
    const native = loadNative();
    for (const name of ['marked', 'marked-too']) {
      const fd = openSync(join(root, 'many', name), 'r+');
      native?.setAttrSync(fd, 'user.mark', Buffer.from('1'));
      closeSync(fd);
    }
    const before = [treeOf(root), marksOf(join(root, 'many'))];
    const plain = join(base, 'plain');
    execFileSync('cp', ['-a', root, plain]);
    execFileSync('sh', ['-c', CHANGE], { cwd: plain });
    const change = await ran(CHANGE);
    expect(treeOf(root)).toEqual(treeOf(plain));
    // Without the gate, `sed -i` replaces the file and loses its attributes. Through the gate, the
    // file keeps them.
    const marked = { marked: `${marksOf(join(plain, 'many'))['marked']}user.mark` };
    expect(marksOf(join(root, 'many'))).toEqual({ ...marksOf(join(plain, 'many')), ...marked });
    await ok(session.undo({ change }));
    expect([treeOf(root), marksOf(join(root, 'many'))]).toEqual(before);
  });

  it('keeps the new text of seen files, to show which lines a later command drops', async () => {
    for (let index = 0; index < 210; index += 1) put(`many/f${index}`, `file ${index}\n`);
    await ok(session.read('many/f150'));
    await ran('for f in many/*; do echo new >> $f; done');
    put('many/f150', 'file 150\nnew\nother\n');
    const outcome = await session.run("printf 'file 150\\nnewer\\n' > many/f150", { profile: 'undo' });
    if (outcome.ok || outcome.refusal.code !== 'COMMAND_CONFLICT') throw new Error('not a conflict');
    const { detail } = outcome.refusal;
    expect(detail?.diff).toContain('+other');
    await ok(session.run({ kept: String(detail?.['layer']) }));
  });
});

describe.skipIf(here === undefined)('the undo of a command that changed many files', () => {
  const content = (index: number): string => `file ${index}\n${'the same line again\n'.repeat(400)}`;

  async function changed(): Promise<string> {
    for (let index = 0; index < 210; index += 1) put(`many/f${index}`, content(index));
    const change = await ran('for f in many/*; do echo new > $f; done');
    return change;
  }

  it('keeps few bytes in memory, and says in the diff which files are not shown', async () => {
    const change = await ran(
      'mkdir big; for i in 1 2 3; do head -c 7000000 /dev/zero > big/f$i; echo $i >> big/f$i; done',
    );
    const before = treeOf(root);
    const preview = await ok(session.undo({ change, preview: true }));
    expect(preview.diff).toMatch(/big\/f\d\n\(not shown: too many bytes\)/);
    expect(preview.diff?.match(/too many bytes/g)).toHaveLength(1);
    const undone = await ok(session.undo({ change }));
    expect(treeOf(root)).toEqual({});
    await ok(session.undo({ change: undone.change ?? '' }));
    expect(treeOf(root)).toEqual(before);
  });

  it('keeps few bytes of replaced files in memory, too', async () => {
    for (const name of ['f1', 'f2', 'f3']) put(`big/${name}`, `old ${name}\n`);
    const before = treeOf(root);
    const change = await ran(
      'for i in 1 2 3; do head -c 7000000 /dev/zero > big/f$i; echo $i >> big/f$i; done',
    );
    const preview = await ok(session.undo({ change, preview: true }));
    expect(preview.diff?.match(/too many bytes/g)).toHaveLength(1);
    await ok(session.undo({ change }));
    expect(treeOf(root)).toEqual(before);
  });

  it('changes nothing if a before-image is damaged, and succeeds if it is whole', async () => {
    const change = await changed();
    const before = treeOf(root);
    const home = join(base, 'state');
    const { sha256 } = fingerprintOf(Buffer.from(content(100)));
    const put = (text: string): Promise<unknown> =>
      withDatabase(home, (db) =>
        db.prepare('update blobs set body = ? where sha256 = ?').run(Buffer.from(text), sha256),
      );
    await put(content(100).slice(0, 100));
    await expect(session.undo({ change })).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(treeOf(root)).toEqual(before);
    await put(content(100));
    await ok(session.undo({ change }));
    for (let index = 0; index < 210; index += 1)
      expect(readFileSync(join(root, `many/f${index}`), 'utf8')).toBe(content(index));
  });
});
