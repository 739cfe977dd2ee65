import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ChangeResult } from '../../src/model/results.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import { explain } from '../../src/report/explain.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { setLimits } from '../support/limits.ts';

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

async function bothPages({ session }: Desk): Promise<boolean> {
  await ok(session.read('a', { limit: 50 }));
  return (await ok(session.read('a', { offset: 51 }))).complete;
}

describe('overwrite', () => {
  it('needs a read of the whole file: pages add up, one page is not enough', async () => {
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 50 }));
    const { detail } = await refusal(t.session.write('a', 'x'), 'PARTIALLY_READ');
    expect(detail?.missing).toEqual([{ from: 51, to: 100 }]);
    expect((await ok(t.session.read('a', { offset: 51 }))).complete).toBe(true);
    await ok(t.session.write('a', 'x'));
  });

  it.each([
    [
      'this session’s own edit',
      async (t: Desk) =>
        void (await ok(t.session.edit('a', [{ oldString: 'line 3\n', newString: 'LINE 3\n' }]))),
    ],
    ['a touch', async (t: Desk) => utimesSync(join(t.root, 'a'), 1, 1)],
  ])('pages that covered a huge file still cover it after %s and one more page', async (_what, between) => {
    setLimits({ hugeBytes: 100 });
    const t = await desk();
    await t.put('a', numbered(100));
    // Try repeatedly: a file's time and size are trusted only after the clock has moved on since
    // the file was written.
    await expect.poll(() => bothPages(t)).toBe(true);
    await between(t);
    expect((await ok(t.session.read('a', { offset: 51, limit: 5 }))).complete).toBe(true);
    await ok(t.session.write('a', 'x'));
  });

  it('after a compaction, an edit needs a unique exact anchor, and in a huge file a new read of the page', async () => {
    setLimits({ hugeBytes: 1000 });
    const t = await desk();
    await t.put('small', 'one\ntwo\ntwo\n');
    await t.put('huge', numbered(200));
    await ok(t.session.read('small'));
    await ok(t.session.read('huge', { limit: 20 }));
    await t.session.compacted();
    const edit = (path: string, oldString: string, replaceAll = false) =>
      t.session.edit(path, [{ oldString, newString: 'X', replaceAll }]);
    await ok(edit('small', 'one'));
    await refusal(edit('small', 'two', true), 'NOT_READ');
    await refusal(edit('huge', 'line 150'), 'NOT_READ');
  });

  it("a page of a huge file still counts as seen after the session's own edit and another page", async () => {
    setLimits({ hugeBytes: 100 });
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 50 }));
    await ok(t.session.edit('a', [{ oldString: 'line 3\n', newString: 'LINE 3\n' }]));
    await ok(t.session.read('a', { offset: 90, limit: 5 }));
    await ok(t.session.insert('a', 'more', { afterLine: 5 }));
    await ok(t.session.insert('a', 'more', { afterLine: 92 }));
    await refusal(t.session.insert('a', 'more', { afterLine: 70 }), 'PARTIALLY_READ');
  });

  it('a huge file that grew is not stale in the pages that were shown', async () => {
    setLimits({ hugeBytes: 100 });
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 20 }));
    await ok(t.session.read('a', { offset: 21, limit: 20 }));
    await t.put('a', numbered(120));
    const edit = (line: string) => t.session.edit('a', [{ oldString: `${line}\n`, newString: `${line}!\n` }]);
    await refusal(edit('line 77'), 'PARTIALLY_READ');
    await refusal(t.session.write('a', 'x'), 'PARTIALLY_READ');
    await ok(edit('line 7'));
    await ok(edit('line 33'));
    await refusal(edit('line 77'), 'PARTIALLY_READ');
    await refusal(t.session.write('a', 'x'), 'PARTIALLY_READ');
    expect(t.text('a')).toContain('line 7!\n');
  });

  it('a huge file that changed inside a shown page is stale', async () => {
    setLimits({ hugeBytes: 100 });
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 20 }));
    await t.put('a', numbered(120).replace('line 9\n', 'LINE 9\n'));
    await refusal(t.session.edit('a', [{ oldString: 'line 7\n', newString: 'x\n' }]), 'STALE');
  });

  it('is not licensed by pages of different states of the file', async () => {
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 50 }));
    await t.put('a', numbered(100).replace('line 7', 'line seven'));
    await ok(t.session.read('a', { offset: 51 }));
    await refusal(t.session.write('a', 'x'), 'PARTIALLY_READ');
  });

  it('is not licensed by pages of different states of a huge file, until the changed page is read again', async () => {
    setLimits({ hugeBytes: 100 });
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 40 }));
    await t.put('a', numbered(100).replace('line 7\n', 'LINE 7\n'));
    // Wait: the gate trusts a file's time only after the clock has moved on since the file was
    // written.
    await setTimeout(50);
    await ok(t.session.read('a', { offset: 41, limit: 30 }));
    expect((await ok(t.session.read('a', { offset: 71 }))).complete).toBe(false);
    await refusal(t.session.write('a', 'x'), 'PARTIALLY_READ');
    await refusal(t.session.insert('a', 'x', { afterLine: 7 }), 'PARTIALLY_READ');
    const reread = async (): Promise<boolean> => {
      await ok(t.session.read('a', { limit: 20 }));
      await ok(t.session.read('a', { offset: 21, limit: 20 }));
      await ok(t.session.read('a', { offset: 41, limit: 30 }));
      return (await ok(t.session.read('a', { offset: 71 }))).complete;
    };
    await expect.poll(reread).toBe(true);
    await ok(t.session.write('a', 'x'));
  });

  it.each([
    ['an edit', (t: Desk) => t.session.edit('a', [{ oldString: 'begin', newString: 'BEGIN' }])],
    ['an append', (t: Desk) => t.session.insert('a', 'more\n')],
  ])('is not licensed by %s inside an unseen line and another read', async (_what, change) => {
    const t = await desk();
    await t.put('a', `${numbered(9)}begin never shown`);
    await ok(t.session.read('a', { limit: 9 }));
    await ok(change(t));
    expect((await ok(t.session.read('a', { limit: 1 }))).complete).toBe(false);
    const { detail } = await refusal(t.session.write('a', 'x'), 'PARTIALLY_READ');
    expect(detail?.missing).toEqual([{ from: 10, to: 10 }]);
  });

  it('is licensed by an edit whose old text is the whole unseen line', async () => {
    const t = await desk();
    await t.put('a', `${numbered(9)}last\n`);
    await ok(t.session.read('a', { limit: 9 }));
    await ok(t.session.edit('a', [{ oldString: 'last', newString: 'LAST' }]));
    expect((await ok(t.session.read('a', { limit: 1 }))).complete).toBe(true);
  });

  it('pages of a huge file that a compaction removed do not count after another page', async () => {
    setLimits({ hugeBytes: 100 });
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 20 }));
    await t.session.compacted();
    await t.put('a', numbered(101));
    await ok(t.session.read('a', { offset: 50, limit: 20 }));
    await ok(t.session.insert('a', 'x', { afterLine: 60 }));
    await refusal(t.session.insert('a', 'x', { afterLine: 5 }), 'PARTIALLY_READ');
  });

  it('is licensed after an edited file was moved to the path of a file that was seen in part', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await t.put('b', numbered(3));
    await ok(t.session.read('b', { limit: 2 }));
    rmSync(join(t.root, 'b'));
    await ok(t.session.read('a'));
    await ok(t.session.edit('a', [{ oldString: 'one', newString: 'two' }]));
    await ok(t.session.move('a', 'b'));
    await ok(t.session.write('b', 'x'));
  });

  it('of a huge file that was seen in part and is empty now is not exempt', async () => {
    setLimits({ hugeBytes: 100 });
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 20 }));
    await t.put('a', '');
    await refusal(t.session.write('a', 'x'), 'PARTIALLY_READ');
    await ok(t.session.read('a'));
    await ok(t.session.write('a', 'x'));
  });

  it('of an unread file is NOT_READ even if the content equals its bytes', async () => {
    const t = await desk();
    await t.put('a', 'same\n');
    await refusal(t.session.write('a', 'same\n'), 'NOT_READ');
  });

  it('with identical bytes succeeds and writes nothing', async () => {
    const t = await desk();
    await t.put('a', 'same\n');
    await ok(t.session.read('a'));
    const before = statSync(join(t.root, 'a'), { bigint: true });
    const result = await ok(t.session.write('a', 'same\n'));
    expect(result).toMatchObject({ changed: false, created: false });
    expect(result.change).toBeUndefined();
    expect(statSync(join(t.root, 'a'), { bigint: true }).ctimeNs).toBe(before.ctimeNs);
  });

  it('of an empty file needs no read', async () => {
    const t = await desk();
    await t.put('a', '');
    await ok(t.session.write('a', 'x\n'));
  });

  it.each<[string, (t: Desk) => Promise<Outcome<ChangeResult>>]>([
    ['an edit', (t) => t.session.edit('a', [{ oldString: '', newString: 'x\n' }])],
    ['an insert', (t) => t.session.insert('a', 'x\n')],
  ])('is allowed after %s of an empty file, because the session wrote all of its text', async (_, change) => {
    const t = await desk();
    await t.put('a', '');
    expect((await ok(change(t))).revision).toBeDefined();
    await ok(t.session.write('a', 'y\n'));
  });

  it('is allowed after an edit of a file that was seen in part and then emptied by another program', async () => {
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 50 }));
    await t.put('a', '');
    // Refused: some editors empty a file for a moment before they write its new text.
    await refusal(t.session.edit('a', [{ oldString: '', newString: 'x\n' }]), 'STALE');
    await ok(t.session.read('a'));
    await ok(t.session.edit('a', [{ oldString: '', newString: 'x\n' }]));
    await ok(t.session.write('a', 'y\n'));
  });

  it('and creation are refused if the content has half of a surrogate pair, which UTF-8 cannot represent', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    for (const path of ['a', 'new/b']) await refusal(t.session.write(path, 'x\ud800y'), 'INVALID_ARGUMENT');
    expect(t.text('a')).toBe('one\n');
    expect(readdirSync(t.root)).toEqual(['a']);
  });

  it('of a file with lines that were shown cut is refused; an edit works', async () => {
    const t = await desk();
    await t.put('a', `${'x'.repeat(5000)}\nshort\n`);
    const read = await ok(t.session.read('a'));
    expect(read).toMatchObject({ complete: false, clamped: [1] });
    const refused = await refusal(t.session.write('a', 'y'), 'PARTIALLY_READ');
    expect(refused.next).toBe('use_edit');
    await ok(t.session.edit('a', [{ oldString: 'short', newString: 'long' }]));
  });

  it('is licensed by the current revision alone, and refused with another revision', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    const { revision = '' } = await ok(t.session.read('a'));
    const other = await t.open({ session: 'other' });
    await refusal(other.write('a', 'x', { expectedRevision: 'nonsense' }), 'REVISION_MISMATCH');
    await ok(other.write('a', 'two\n', { expectedRevision: revision }));
    // A client that did not receive the answer repeats the write, which changes nothing.
    const again = await ok(other.write('a', 'two\n', { expectedRevision: revision }));
    expect(again.changed).toBe(false);
    await refusal(t.session.write('a', 'three\n', { expectedRevision: revision }), 'REVISION_MISMATCH');
  });

  it('names the sibling session that changed the file', async () => {
    const t = await desk({ session: 'first' });
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    const sibling = await t.open({ session: 'second' });
    await ok(sibling.read('a'));
    await ok(sibling.write('a', 'two\n'));
    const refused = await refusal(t.session.write('a', 'three\n'), 'STALE');
    expect(refused.detail?.writer?.session).toBe('second');
    expect(explain(refused, { nowMs: Date.now() })).toContain('second');
  });
});

describe('a whole write', () => {
  const over = async (before: string, policy: { matching?: 'safe' | 'exact' } = {}): Promise<string> => {
    const t = await desk({ policy });
    await t.put('a', before);
    await ok(t.session.read('a'));
    await ok(t.session.write('a', 'one\ntwo\n'));
    expect((await ok(t.session.write('a', 'one\ntwo\n'))).changed).toBe(false);
    return t.text('a');
  };

  it('keeps a BOM and CRLF endings of the file it replaces', async () => {
    expect(await over('\ufeffa\r\nb\r\n')).toBe('\ufeffone\r\ntwo\r\n');
  });

  it('writes exactly the given bytes in a new file, or if the policy says so', async () => {
    expect(await over('\ufeffa\r\n', { matching: 'exact' })).toBe('one\ntwo\n');
    const t = await desk();
    await ok(t.session.write('new', '\ufeffa\r\nb\n'));
    expect(t.text('new')).toBe('\ufeffa\r\nb\n');
  });
});

describe('a file that is not text', () => {
  it('is described, and cannot be changed as text', async () => {
    const t = await desk();
    await t.put('b.bin', Buffer.from([0, 1, 2, 255, 254, 0, 7]));
    const read = await ok(t.session.read('b.bin'));
    expect(read).toMatchObject({ complete: false, media: { mimeType: 'application/octet-stream' } });
    await refusal(t.session.edit('b.bin', [{ oldString: 'x', newString: 'y' }]), 'NOT_TEXT');
    await refusal(t.session.write('b.bin', 'text'), 'NOT_TEXT');
    await ok(t.session.delete('b.bin'));
  });

  it('may be replaced by a moved or copied file after it was read, if it is unchanged since', async () => {
    const t = await desk();
    const [one, two] = [Buffer.from([0, 1, 2]), Buffer.from([0, 9, 9])];
    for (const name of ['p.bin', 'q.bin']) await t.put(name, one);
    for (const name of ['new', 'new2']) await t.put(name, two);
    await refusal(t.session.move('new', 'p.bin'), 'NOT_READ');
    await ok(t.session.read('p.bin'));
    await t.put('p.bin', Buffer.from([0, 5]));
    await refusal(t.session.move('new', 'p.bin'), 'STALE');
    await ok(t.session.read('p.bin'));
    await ok(t.session.move('new', 'p.bin'));
    expect(readFileSync(join(t.root, 'p.bin'))).toEqual(two);
    await ok(t.session.undo());
    expect(readFileSync(join(t.root, 'p.bin'))).toEqual(Buffer.from([0, 5]));
    await ok(t.session.read('q.bin'));
    await ok(t.session.copy('new2', 'q.bin'));
    await ok(t.session.read('p.bin'));
    const swap = [
      { kind: 'move', source: 'p.bin', destination: 'q.bin' },
      { kind: 'move', source: 'q.bin', destination: 'p.bin' },
    ] as const;
    await ok(t.session.apply(swap));
  });

  it('is refused as NOT_A_FILE if it is a folder', async () => {
    const t = await desk();
    mkdirSync(join(t.root, 'd'));
    await refusal(t.session.read('d'), 'NOT_A_FILE');
    await refusal(t.session.write('d', 'x'), 'NOT_A_FILE');
  });
});
