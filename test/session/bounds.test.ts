import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { desk, ok, refusal } from '../support/desk.ts';
import { setLimits } from '../support/limits.ts';

const LINE = `${'x'.repeat(999)}\n`;

describe('maxAnswerBytes', () => {
  it('cuts a read at a line end, and the rest can be read in pages', async () => {
    const t = await desk();
    await t.put('a.txt', LINE.repeat(1000));
    const first = await ok(t.session.read('a.txt'));
    expect(first).toMatchObject({ from: 1, to: 262, totalLines: 1000, complete: false });
    expect(Buffer.byteLength(first.text)).toBeLessThanOrEqual(256 * 1024);
    await refusal(t.session.write('a.txt', 'x'), 'PARTIALLY_READ');
    for (let offset = 263; offset <= 1000; offset += 262) await ok(t.session.read('a.txt', { offset }));
    await ok(t.session.write('a.txt', 'x'));
  });

  it('shows at least one line, counts long lines at their shortened length, and does not cut raw reads', async () => {
    const t = await desk({ policy: { maxAnswerBytes: 100 } });
    await t.put('a.txt', LINE.repeat(10));
    expect(await ok(t.session.read('a.txt'))).toMatchObject({ from: 1, to: 1 });
    expect((await ok(t.session.read('a.txt', { raw: true }))).text).toHaveLength(10_000);
  });

  it('cuts pages of huge files and files in other encodings', async () => {
    setLimits({ hugeBytes: 1000 });
    const t = await desk({ policy: { maxAnswerBytes: 5000 } });
    await t.put('huge.txt', LINE.repeat(100));
    expect(await ok(t.session.read('huge.txt'))).toMatchObject({ from: 1, to: 5 });
    expect(await ok(t.session.read('huge.txt', { offset: 6 }))).toMatchObject({ from: 6, to: 10 });
    setLimits({ hugeBytes: 1 << 20 });
    const wide = await desk({ policy: { maxAnswerBytes: 5000 } });
    await wide.put('utf16.txt', Buffer.from(`\ufeff${LINE.repeat(100)}`, 'utf16le'));
    expect(await ok(wide.session.read('utf16.txt'))).toMatchObject({ from: 1, to: 5, totalLines: 100 });
  });
});

it.each([
  ['latin1', Buffer.from('caf\xe9\ndeux \xe9\ntrois\n', 'latin1'), Buffer.from('deux \xe9\n', 'latin1')],
  ['utf16le', Buffer.from('\ufeffun\ndeux\ntrois\n', 'utf16le'), Buffer.from('deux\n', 'utf16le')],
])('a raw read of some lines returns only their bytes: %s', async (_encoding, bytes, line) => {
  const t = await desk();
  await t.put('a.txt', bytes);
  const read = await ok(t.session.read('a.txt', { raw: true, offset: 2, limit: 1 }));
  expect(Buffer.from(read.bytes ?? [])).toEqual(line);
});

it('numbers the lines of a huge file from its top if it changed since the last page', async () => {
  setLimits({ hugeBytes: 100, maxReadLines: 10 });
  const t = await desk();
  const text = Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`).join('');
  await t.put('a', text);
  await ok(t.session.read('a'));
  await t.put('a', `inserted\n${text}`);
  const { from, text: shown } = await ok(t.session.read('a', { offset: 11, limit: 2 }));
  expect({ from, shown }).toEqual({ from: 11, shown: 'line 10\nline 11' });
});

describe('maxReadMs', () => {
  it.each([2 ** 31, 2 ** 33])('of %i ms, more than a timer can wait, is no limit', async (maxReadMs) => {
    setLimits({ maxReadMs, maxEditBytes: 10, hugeBytes: 10 });
    const t = await desk();
    await t.put('a.txt', 'one\ntwo\nthree\n');
    await ok(t.session.read('a.txt'));
    await ok(t.session.move('a.txt', 'b.txt'));
  });

  it('ends the read of a sparse file of 1 TB', async () => {
    setLimits({ maxReadMs: 200 });
    const t = await desk();
    const path = join(t.root, 'sparse');
    closeSync(openSync(path, 'w'));
    try {
      truncateSync(path, 2 ** 40);
    } catch {
      // This file system allows no file of 1 TB, so use one of 64 GB.
      truncateSync(path, 2 ** 36);
    }
    const refused = await refusal(t.session.read('sparse'), 'UNVERIFIABLE');
    expect(refused.detail?.reason).toContain('could not be read within');
  });

  it('refuses the last lines of a file that cannot be counted in time', async () => {
    setLimits({ maxReadMs: 200 });
    const t = await desk();
    const path = join(t.root, 'sparse');
    writeFileSync(path, 'one\ntwo\n');
    truncateSync(path, 2 ** 36);
    const refused = await refusal(t.session.read('sparse', { last: 1 }), 'UNVERIFIABLE');
    expect(refused.detail?.reason).toContain('could not be read within');
  });

  it('shows the lines that were read in time', async () => {
    setLimits({ maxReadMs: 300 });
    const t = await desk();
    const path = join(t.root, 'sparse');
    writeFileSync(path, 'one\ntwo\n');
    const fd = openSync(path, 'r+');
    ftruncateSync(fd, 2 ** 36);
    closeSync(fd);
    const read = await ok(t.session.read('sparse'));
    expect(read).toMatchObject({ text: 'one\ntwo', from: 1, to: 2, complete: false });
    await ok(t.session.read('sparse', { limit: 1 }));
  });

  it('refuses raw lines that were read only in part, because they have no numbers', async () => {
    setLimits({ maxReadMs: 50 });
    const t = await desk();
    const path = join(t.root, 'sparse');
    writeFileSync(path, 'one\ntwo\n');
    truncateSync(path, 2 ** 36);
    const refused = await refusal(t.session.read('sparse', { raw: true, limit: 3 }), 'UNVERIFIABLE');
    expect(refused.detail?.reason).toContain('could not be read within');
  });
});

describe('files that are too large to be loaded', () => {
  it('are neither moved nor deleted if they cannot be hashed within maxReadMs', async () => {
    setLimits({ maxReadMs: 300 });
    const t = await desk();
    writeFileSync(join(t.root, 'large'), 'first line\n');
    truncateSync(join(t.root, 'large'), 2 ** 36);
    await ok(t.session.read('large', { limit: 1 }));
    for (const change of [t.session.move('large', 'moved'), t.session.delete('large')])
      expect((await refusal(change, 'UNVERIFIABLE')).detail?.reason).toContain('could not be read within');
    expect(statSync(join(t.root, 'large')).size).toBe(2 ** 36);
  });

  const SMALL = { hugeBytes: 500, maxEditBytes: 1000 };
  const policy = { maxAnswerBytes: 100_000 };

  it('issue 14, point 32: are moved back by an undo, but not after a change', async () => {
    setLimits(SMALL);
    const t = await desk({ policy });
    await t.put('a.txt', LINE.repeat(3));
    await ok(t.session.move('a.txt', 'b.txt'));
    await t.put('b.txt', LINE.repeat(4));
    await refusal(t.session.undo({}), 'STALE');
    await t.put('b.txt', LINE.repeat(3));
    const { change } = await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe(LINE.repeat(3));
    await ok(t.session.undo({ change: change ?? '' }));
    expect(t.text('b.txt')).toBe(LINE.repeat(3));
  });

  it('are deleted and restored with their folder', async () => {
    setLimits(SMALL);
    const t = await desk({ policy });
    for (let n = 0; n < 10; n += 1) await t.put(`d/${n}.txt`, `${n}\n${LINE.repeat(n)}`);
    await ok(t.session.list('.', { depth: 3 }));
    await ok(t.session.delete('d', { recursive: true }));
    expect(existsSync(join(t.root, 'd'))).toBe(false);
    await ok(t.session.undo({}));
    for (let n = 0; n < 10; n += 1) expect(t.text(`d/${n}.txt`)).toBe(`${n}\n${LINE.repeat(n)}`);
  });

  it('issue 14, point 32: are deleted after a read, refused after a change, and restored by an undo', async () => {
    setLimits({ hugeBytes: 500, maxEditBytes: 1000 });
    const t = await desk({ policy: { maxAnswerBytes: 100_000 } });
    await t.put('a.txt', LINE.repeat(3));
    await t.put('b.txt', LINE.repeat(3));
    await refusal(t.session.delete('a.txt'), 'NOT_READ');
    for (const path of ['a.txt', 'b.txt']) await ok(t.session.read(path));
    await t.put('b.txt', LINE.repeat(4));
    await refusal(t.session.delete('b.txt'), 'STALE');
    await ok(t.session.delete('a.txt'));
    await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe(LINE.repeat(3));
  });
});
