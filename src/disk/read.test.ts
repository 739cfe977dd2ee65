import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startChild } from '../../test/support/child.ts';
import { bench } from '../../test/support/disk.ts';
import { asNobody } from '../../test/support/nobody.ts';
import type { Place } from '../model/path.ts';
import { FileSystemClock } from './file-system.ts';
import { fingerprintOf, openRegular, type ReadLimits, readSnapshot, type Snapshot } from './read.ts';

/**
 * A clock that accepts the stat fields (stamp) of every file as proof of its bytes. Only the
 * reader's own checks can then mark a snapshot as racy.
 */
class TrustingClock extends FileSystemClock {
  override isRacy(): boolean {
    return false;
  }
}

async function snapshot(place: Place, limits: ReadLimits): Promise<Snapshot> {
  const seen = await readSnapshot(place, limits);
  if ('problem' in seen) throw new Error(seen.problem);
  return seen;
}

function replaceBy(path: string, make: (other: string) => void): void {
  rmSync(path);
  make(path);
}

/**
 * A clock that writes to the file during each check and then answers "not racy". The answer is
 * wrong for the new bytes.
 */
class BusyClock extends FileSystemClock {
  readonly #write: () => void;

  constructor(write: () => void) {
    super();
    this.#write = write;
  }

  override isRacy(): boolean {
    this.#write();
    return false;
  }
}

describe('readSnapshot', () => {
  it.each([
    ['after a look', true],
    ['without one', false],
  ])(
    '%s checks the clock before it reads, so that a later write cannot have an older time',
    async (_how, looked) => {
      const disk = bench([]);
      const file = join(disk.root, 'f');
      writeFileSync(file, 'old');
      const clock = new BusyClock(() => writeFileSync(file, 'new'));
      const seen = looked ? { seen: lstatSync(file, { bigint: true }) } : {};
      const read = await snapshot(disk.place('f'), { clock, ...seen });
      expect(read.bytes.toString()).toBe('new');
    },
  );

  it.each<[string, Buffer]>([
    ['an empty file', Buffer.alloc(0)],
    ['one byte', Buffer.from('a')],
    ['text', Buffer.from('a\nb\r\nc')],
    ['bytes that are no text', Buffer.from([0, 255, 254, 10, 0])],
    ['a file of just the size that is read at once', Buffer.alloc(1 << 20, 'x')],
    ['a file that is read by the thread pool', Buffer.alloc((1 << 20) + 1, 'y')],
  ])('reads %s with its fingerprint and stamp', async (_what, bytes) => {
    const disk = bench([]);
    writeFileSync(join(disk.root, 'f'), bytes);
    const seen = await snapshot(disk.place('f'), disk.context);
    expect(seen.bytes.equals(bytes)).toBe(true);
    expect(seen.fingerprint).toEqual(fingerprintOf(bytes));
    expect(seen.stamp).toMatchObject({ size: BigInt(bytes.length), ino: seen.stats.ino });
  });

  it('refuses a file over the limit', async () => {
    const { place, context } = bench(['f: 12345']);
    const file = place('f');
    expect(await readSnapshot(file, { clock: context.clock, maxBytes: 5 })).toHaveProperty('bytes');
    expect(await readSnapshot(file, { clock: context.clock, maxBytes: 4 })).toEqual({
      problem: 'too-large',
      size: 5,
    });
  });

  it.each<[string, (path: string) => void, unknown]>([
    ['nothing happened', () => {}, 'one'],
    ['other bytes of the same size', (path) => writeFileSync(path, 'two'), 'two'],
    ['more bytes', (path) => appendFileSync(path, ' and more'), 'one and more'],
    ['another file', (path) => replaceBy(path, (other) => writeFileSync(other, 'two')), 'two'],
    ['a link', (path) => replaceBy(path, (other) => symlinkSync('elsewhere', other)), 'swapped'],
    ['a folder', (path) => replaceBy(path, (other) => mkdirSync(other)), 'kind'],
    ['nothing', (path) => rmSync(path), 'missing'],
  ])('reads the current file, whatever happened since the lstat: %s', async (_what, happens, expected) => {
    const disk = bench(['f: one']);
    const place = disk.place('f');
    const seen = lstatSync(join(disk.root, 'f'), { bigint: true });
    happens(join(disk.root, 'f'));
    const read = await readSnapshot(place, { clock: disk.context.clock, seen });
    expect('problem' in read ? read.problem : read.bytes.toString()).toBe(expected);
    if ('bytes' in read) expect(read.fingerprint).toEqual(fingerprintOf(read.bytes));
  });

  it('uses a known fingerprint only while the stamp is the same', async () => {
    const disk = bench(['f: one']);
    const place = disk.place('f');
    const told = { sha256: 'told', size: 3 };
    const known = { stamp: (await snapshot(place, disk.context)).stamp, fingerprint: told };
    const limits = { clock: disk.context.clock, known };
    expect((await snapshot(place, limits)).fingerprint).toEqual(told);
    writeFileSync(join(disk.root, 'f'), 'two');
    expect((await snapshot(place, limits)).fingerprint).toEqual(fingerprintOf(Buffer.from('two')));
  });
});

describe('a file that changes while it is read', () => {
  const first = Buffer.alloc(3 << 20, 'a');

  it.each<[string, (file: string) => void, Buffer]>([
    ['grows', (file) => appendFileSync(file, 'more'), Buffer.concat([first, Buffer.from('more')])],
    ['shrinks', (file) => truncateSync(file, 1 << 20), first.subarray(0, 1 << 20)],
    ['is emptied', (file) => truncateSync(file, 0), Buffer.alloc(0)],
    ['is rewritten at its size', (file) => writeFileSync(file, first.fill('b')), Buffer.alloc(3 << 20, 'b')],
  ])('and %s is read again', async (_how, change, expected) => {
    const disk = bench([]);
    writeFileSync(join(disk.root, 'f'), Buffer.alloc(3 << 20, 'a'));
    const reading = snapshot(disk.place('f'), disk.context);
    // Change the file after the reader has taken its size, while it still reads the bytes.
    change(join(disk.root, 'f'));
    const seen = await reading;
    expect(seen.bytes.equals(expected)).toBe(true);
    expect(seen.stamp.size).toBe(BigInt(expected.length));
  });

  it('is not read if it has grown over the limit', async () => {
    const disk = bench([]);
    writeFileSync(join(disk.root, 'f'), first);
    const reading = readSnapshot(disk.place('f'), { clock: disk.context.clock, maxBytes: first.length });
    appendFileSync(join(disk.root, 'f'), 'more');
    expect(await reading).toEqual({ problem: 'too-large', size: first.length + 4 });
  });

  it('is the file that was opened, even if another file takes its name', async () => {
    const disk = bench(['g: other']);
    writeFileSync(join(disk.root, 'f'), Buffer.alloc(2 << 20, 'a'));
    const reading = snapshot(disk.place('f'), disk.context);
    renameSync(join(disk.root, 'g'), join(disk.root, 'f'));
    expect((await reading).bytes.length).toBe(2 << 20);
  });

  it('is racy if its writer outpaces every retry', async () => {
    const disk = bench([]);
    writeFileSync(join(disk.root, 'f'), Buffer.alloc(2 << 20, 'a'));
    let done = false;
    const reading = snapshot(disk.place('f'), { clock: new TrustingClock() }).finally(() => {
      done = true;
    });
    while (!done) {
      appendFileSync(join(disk.root, 'f'), '.');
      await setImmediate();
    }
    expect(await reading).toMatchObject({ racy: true });
  });

  it('by another process is always read in one of its states', async () => {
    const disk = bench(['f: ']);
    const writes = 2000;
    const child = await startChild('kernel-outside-writer', {
      kind: 'append',
      target: join(disk.root, 'f'),
      writes,
    });
    await child.message();
    child.send('go');
    const sizes = new Set<number>();
    while (child.waiting === 0) {
      const seen = await snapshot(disk.place('f'), disk.context);
      const lines = seen.bytes.toString().split('\n').slice(0, -1);
      expect(lines).toEqual(Array.from({ length: lines.length }, (_, index) => `w${index + 1}`));
      sizes.add(seen.bytes.length);
      await setImmediate();
    }
    expect(sizes.size).toBeGreaterThan(1);
  });
});

describe('openRegular', () => {
  it('reports anything but a regular file by its kind', async () => {
    const disk = bench(['d/', 'dangling => nowhere', 'f']);
    execFileSync('mkfifo', [join(disk.root, 'fifo')]);
    const server = createServer().listen(join(disk.root, 'socket'));
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    expect(openRegular(disk.place('d'))).toEqual({ problem: 'kind', kind: 'directory' });
    expect(openRegular(disk.place('.'))).toEqual({ problem: 'kind', kind: 'directory' });
    expect(openRegular(disk.place('fifo'))).toEqual({ problem: 'kind', kind: 'fifo' });
    expect(openRegular(disk.place('socket'))).toEqual({ problem: 'kind', kind: 'socket' });
    expect(openRegular(disk.place('missing'))).toEqual({ problem: 'missing' });
    expect(openRegular({ ...disk.place('f'), name: 'dangling' })).toEqual({ problem: 'swapped' });
  });

  it.skipIf(process.getuid?.() !== 0)('refuses a device', () => {
    const disk = bench([]);
    execFileSync('mknod', [join(disk.root, 'null'), 'c', '1', '3']);
    expect(openRegular(disk.place('null'))).toEqual({ problem: 'kind', kind: 'device' });
  });

  it('does not follow a link that took the name after it was located', () => {
    const disk = bench(['f', 'OUTSIDE/f']);
    const place = disk.place('f');
    renameSync(join(disk.root, 'f'), join(disk.root, 'g'));
    symlinkSync(join(disk.outside, 'f'), join(disk.root, 'f'));
    expect(openRegular(place)).toEqual({ problem: 'swapped' });
  });

  it('distinguishes a denied file from a missing one', () => {
    const disk = bench(['f']);
    chmodSync(join(disk.root, 'f'), 0);
    const place = disk.place('f');
    expect(asNobody(() => openRegular(place))).toEqual({ problem: 'denied', errno: 'EACCES' });
  });

  it('does not open a FIFO, so that a waiting writer keeps waiting', async () => {
    const disk = bench([]);
    const fifo = join(disk.root, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const place = disk.place('fifo');
    const writer = spawn('sh', ['-c', 'echo hello > "$0"', fifo], { stdio: 'ignore' });
    let ended: number | null | undefined;
    writer.once('exit', (code) => {
      ended = code;
    });
    // Call `openRegular` many times, because the writer may not be waiting yet. If one call opened
    // the FIFO, even without blocking, the writer would end with a broken pipe.
    for (let turn = 0; turn < 3000 && ended === undefined; turn += 1) {
      expect(openRegular(place)).toEqual({ problem: 'kind', kind: 'fifo' });
      await setImmediate();
    }
    expect(ended).toBeUndefined();
    expect(execFileSync('cat', [fifo]).toString()).toBe('hello\n');
  });

  it('returns the descriptor of the file that was checked', () => {
    const disk = bench(['f']);
    const opened = openRegular(disk.place('f'));
    if ('problem' in opened) throw new Error(opened.problem);
    expect(opened.stats.isFile()).toBe(true);
    closeSync(opened.fd);
  });
});

it('a file larger than any buffer is too large, even without a limit', async () => {
  const disk = bench(['f']);
  const size = 2 ** 31;
  truncateSync(join(disk.root, 'f'), size);
  expect(await readSnapshot(disk.place('f'), { clock: undefined })).toEqual({ problem: 'too-large', size });
});
