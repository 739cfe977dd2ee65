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
    ['the lines without the final newline', 'two\nthree'],
    ['the lines with other endings', 'two\r\nthree\r\n'],
    ['the whole file that contains the lines', 'one\ntwo\nthree\n'],
  ])('counts if its content is %s', async (_what, content) => {
    const t = await open();
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', content, ranges }));
    expect((await ok(t.session.status('a.txt'))).files[0]).toMatchObject({ freshness: 'fresh', ranges });
  });

  it('counts as a read of other bytes if the file does not contain the text', async () => {
    const t = await open();
    const all = [{ from: 1, to: 3 }];
    const content = 'one\nTWO\nthree\n';
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', content, ranges: all }));
    const stale = await refusal(t.session.write('a.txt', 'x'), 'STALE');
    expect(stale.detail?.diff).toContain('+two');
  });

  it.each([[[]], [[{ from: 7, to: 9 }]]])(
    'with the ranges %j shows nothing, so the file stays unread',
    async (none) => {
      const t = await open();
      await ok(t.session.witness({ kind: 'read', path: 'a.txt', ranges: none }));
      const unread = await refusal(t.session.write('a.txt', 'x'), 'NOT_READ');
      expect(unread.detail?.reason).toBeUndefined();
    },
  );

  it('covers the whole file if its range goes past the end', async () => {
    const t = await open();
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', ranges: [{ from: 1, to: 9 }] }));
    await ok(t.session.write('a.txt', 'x'));
  });
});

describe('a witnessed read of a whole file', () => {
  it.each([
    ['CRLF line endings', 'one\r\ntwo\r\n', 'utf8'],
    ['a byte order mark', '\ufeffone\ntwo\n', 'utf8'],
    ['no newline at its end', 'one\ntwo', 'utf8'],
    ['UTF-16', '\ufeffone\ntwo\n', 'utf16le'],
  ] as const)('counts if the host showed the decoded text: %s', async (_what, there, encoding) => {
    const t = await open();
    await t.put('b.txt', Buffer.from(there, encoding));
    await ok(t.session.witness({ kind: 'read', path: 'b.txt', content: 'one\ntwo\n' }));
    await ok(t.session.write('b.txt', 'x'));
  });

  it('counts in a legacy encoding, whole and in part', async () => {
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

  it('does not count if it showed a line too many', async () => {
    const t = await open();
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', content: 'one\ntwo\nthree\n\n' }));
    await refusal(t.session.write('a.txt', 'x'), 'STALE');
  });
});

describe('a witnessed move', () => {
  it('of a folder moves the sightings of its files', async () => {
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

  it('licenses nothing at the destination if other bytes are there', async () => {
    const t = await open();
    await t.put('b.txt', 'others\n');
    await ok(t.session.read('a.txt'));
    rmSync(join(t.root, 'a.txt'));
    await ok(t.session.witness({ kind: 'move', source: 'a.txt', destination: 'b.txt' }));
    await refusal(t.session.write('b.txt', 'x'), 'STALE');
  });
});

describe("another program's edit inside a line that was not shown", () => {
  it.each([
    [
      'witnessed',
      async (t: Desk, edited: string) => {
        await t.put('a.txt', edited);
        await ok(t.session.witness({ kind: 'write', path: 'a.txt' }));
      },
    ],
    [
      'announced',
      async (t: Desk, edited: string) => {
        const edits = [{ oldString: 'three', newString: 'THREE' }];
        const { change } = await ok(t.session.announce([{ kind: 'edit', path: 'a.txt', edits }]));
        await t.put('a.txt', edited);
        await ok(t.session.settle(change, 'done'));
      },
    ],
  ])('does not count as a view of the line: %s', async (_how, edit) => {
    const t = await open();
    await t.put('a.txt', 'one\ntwo\nthree and more\n');
    await ok(t.session.read('a.txt', { limit: 2 }));
    await edit(t, 'one\ntwo\nTHREE and more\n');
    expect((await ok(t.session.read('a.txt', { limit: 1 }))).complete).toBe(false);
    await refusal(t.session.write('a.txt', 'x'), 'PARTIALLY_READ');
  });
});

describe('a repeated refusal', () => {
  const refusedTwice = async (content: string | undefined): Promise<number | undefined> => {
    const t = await open();
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'one\nTWO\nthree\n');
    await refusal(t.session.write('a.txt', 'x'), 'STALE');
    await ok(t.session.witness({ kind: 'read', path: 'a.txt', content }));
    const again = await t.session.write('a.txt', 'x');
    return again.ok ? undefined : again.refusal.detail?.repeated;
  };

  it('is cleared by a witnessed read of the present bytes', async () => {
    expect(await refusedTwice('one\nTWO\nthree\n')).toBeUndefined();
    expect(await refusedTwice(undefined)).toBeUndefined();
  });

  it('is not cleared by a witnessed read of other bytes', async () => {
    expect(await refusedTwice('one\ntwo\nthree\n')).toBe(2);
    expect(await refusedTwice('other\n')).toBe(2);
  });
});
