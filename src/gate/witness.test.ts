import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Desk, desk, ok, refusal } from '../../test/support/desk.ts';

const open = async (): Promise<Desk> => {
  const t = await desk({ store: 'memory:' });
  await t.put('a.txt', 'one\ntwo\nthree\n');
  return t;
};

describe('a witnessed read of some lines', () => {
  const ranges = [{ from: 2, to: 3 }];

  it.each([
    ['the lines themselves', 'two\nthree\n'],
    ['the lines without their end', 'two\nthree'],
    ['the lines with other ends', 'two\r\nthree\r\n'],
    ['the whole file they were taken from', 'one\ntwo\nthree\n'],
  ])('counts if its content is %s', async (_what, content) => {
    const t = await open();
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', content, ranges }));
    expect((await ok(t.session.status('a.txt'))).files[0]).toMatchObject({ freshness: 'fresh', ranges });
  });

  it('is one of other bytes if its content is not there', async () => {
    const t = await open();
    const all = [{ from: 1, to: 3 }];
    const content = 'one\nTWO\nthree\n';
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', content, ranges: all }));
    const stale = await refusal(t.session.write('a.txt', 'x'), 'STALE');
    expect(stale.detail?.diff).toContain('+two');
  });

  it.each([[[]], [[{ from: 7, to: 9 }]]])('%j shows nothing, and that counts as unread', async (none) => {
    const t = await open();
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', ranges: none }));
    const unread = await refusal(t.session.write('a.txt', 'x'), 'NOT_READ');
    expect(unread.detail?.reason).toBeUndefined();
  });

  it('adds up with lines past the end left out', async () => {
    const t = await open();
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', ranges: [{ from: 1, to: 9 }] }));
    await ok(t.session.write('a.txt', 'x'));
  });
});

describe('a witnessed read of a whole file', () => {
  it.each([
    ['line ends of Windows', 'one\r\ntwo\r\n', 'utf8'],
    ['a byte order mark', '\ufeffone\ntwo\n', 'utf8'],
    ['no newline at its end', 'one\ntwo', 'utf8'],
    ['two bytes for each character', '\ufeffone\ntwo\n', 'utf16le'],
  ] as const)('counts if the host showed its text plain: %s', async (_what, there, encoding) => {
    const t = await open();
    await t.put('b.txt', Buffer.from(there, encoding));
    await ok(t.session.witness({ kind: 'read', path: 'b.txt', content: 'one\ntwo\n' }));
    await ok(t.session.write('b.txt', 'x'));
  });

  it('counts in an older encoding, whole and in part', async () => {
    const t = await open();
    await t.put('b.txt', Buffer.from('caf\xe9 au lait\nth\xe9\n', 'latin1'));
    const content = (await ok(t.session.read('b.txt'))).text;
    const other = await t.open();
    await ok(other.witness({ kind: 'read', path: 'b.txt', content }));
    await ok(other.vet({ kind: 'write', path: 'b.txt', content: 'x' }));
    const third = await t.open();
    const ranges = [{ from: 2, to: 2 }];
    await ok(third.witness({ kind: 'read', path: 'b.txt', content: content.split('\n')[1] ?? '', ranges }));
    expect((await ok(third.status('b.txt'))).files[0]).toMatchObject({ freshness: 'fresh', ranges });
  });

  it('does not count with a line too many', async () => {
    const t = await open();
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', content: 'one\ntwo\nthree\n\n' }));
    await refusal(t.session.write('a.txt', 'x'), 'STALE');
  });
});

describe('a witnessed move', () => {
  it('of a folder takes along what was seen in it', async () => {
    const t = await open();
    await t.put('old/in/b.txt', 'one\n');
    await t.put('older.txt', 'one\n');
    await ok(t.session.read('old/in/b.txt'));
    await ok(t.session.read('older.txt'));
    renameSync(join(t.root, 'old'), join(t.root, 'new'));
    await ok(t.session.witness({ kind: 'move', source: 'old', destination: 'new' }));
    await ok(t.session.write('new/in/b.txt', 'two\n'));
    await ok(t.session.write('older.txt', 'two\n'));
    mkdirSync(join(t.root, 'old/in'), { recursive: true });
    writeFileSync(join(t.root, 'old/in/b.txt'), 'other\n');
    await refusal(t.session.write('old/in/b.txt', 'x'), 'NOT_READ');
  });

  it('to where other bytes are licenses nothing there', async () => {
    const t = await open();
    await t.put('b.txt', 'others\n');
    await ok(t.session.read('a.txt'));
    rmSync(join(t.root, 'a.txt'));
    await ok(t.session.witness({ kind: 'move', source: 'a.txt', destination: 'b.txt' }));
    await refusal(t.session.write('b.txt', 'x'), 'STALE');
  });
});
