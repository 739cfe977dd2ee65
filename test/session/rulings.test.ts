import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChangeResult } from '../../src/model/results.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import { explain } from '../../src/report/explain.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

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
    const t = await desk({ policy: { hugeBytes: 100 } });
    await t.put('a', numbered(100));
    // A stamp is trusted once the clock has moved on since the file was written.
    await expect.poll(() => bothPages(t)).toBe(true);
    await between(t);
    expect((await ok(t.session.read('a', { offset: 51, limit: 5 }))).complete).toBe(true);
    await ok(t.session.write('a', 'x'));
  });

  it('after a compaction, an edit needs a unique exact anchor, and in a huge file a new read of the page', async () => {
    const t = await desk({ policy: { hugeBytes: 1000 } });
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
    const t = await desk({ policy: { hugeBytes: 100 } });
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 50 }));
    await ok(t.session.edit('a', [{ oldString: 'line 3\n', newString: 'LINE 3\n' }]));
    await ok(t.session.read('a', { offset: 90, limit: 5 }));
    await ok(t.session.insert('a', 'more', { afterLine: 5 }));
    await ok(t.session.insert('a', 'more', { afterLine: 92 }));
    await refusal(t.session.insert('a', 'more', { afterLine: 70 }), 'PARTIALLY_READ');
  });

  it('a huge file that grew is not stale in the pages that were shown', async () => {
    const t = await desk({ policy: { hugeBytes: 100 } });
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
    const t = await desk({ policy: { hugeBytes: 100 } });
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
    // The file may be empty only for a moment: some editors truncate it before they write it.
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
    // A client whose answer was lost repeats the write; this changes nothing.
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

describe('edit', () => {
  it('of a changed file is merged if its anchor is unchanged', async () => {
    const t = await desk();
    await t.put('a', numbered(60));
    await ok(t.session.read('a'));
    await t.put('a', numbered(60).replace('line 5\n', 'line 5 by hand\nand one more\n'));
    const result = await ok(t.session.edit('a', [{ oldString: 'line 50', newString: 'line fifty' }]));
    expect(result.notices).toMatchObject([{ kind: 'changed-elsewhere', truncated: false }]);
    expect(result.revision, 'the change was shown whole, so all of the file was seen').toBeDefined();
    expect(t.text('a')).toContain('line 5 by hand');
    expect(t.text('a')).toContain('line fifty');
  });

  it('whose anchor is new text that was never seen is STALE', async () => {
    const t = await desk();
    await t.put('a', 'one\ntwo\n');
    await ok(t.session.read('a'));
    await t.put('a', 'one\ntwo\nthree\n');
    await refusal(t.session.edit('a', [{ oldString: 'three', newString: '3' }]), 'STALE');
    await ok(t.session.edit('a', [{ oldString: 'three', newString: '3' }]));
  });

  it('in unseen lines of a seen file is allowed with a notice for an exact anchor, not for replace_all', async () => {
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 10 }));
    const result = await ok(t.session.edit('a', [{ oldString: 'line 77\n', newString: 'LINE 77\n' }]));
    expect(result.notices).toMatchObject([{ kind: 'unseen-lines', ranges: [{ from: 77, to: 77 }] }]);
    expect(result.revision).toBeUndefined();
    await refusal(
      t.session.edit('a', [{ oldString: 'line', newString: 'row', replaceAll: true }]),
      'PARTIALLY_READ',
    );
  });

  it('does not turn a partial read into a whole one', async () => {
    const t = await desk();
    await t.put('a', numbered(100));
    await ok(t.session.read('a', { limit: 10 }));
    await ok(t.session.edit('a', [{ oldString: 'line 3\n', newString: 'three\n' }]));
    await refusal(t.session.write('a', 'x'), 'PARTIALLY_READ');
  });

  it('applies all of several edits or none', async () => {
    const t = await desk();
    await t.put('a', 'one\ntwo\n');
    await ok(t.session.read('a'));
    const edits = [
      { oldString: 'one', newString: 'uno' },
      { oldString: 'nothing', newString: 'x' },
    ];
    const refused = await refusal(t.session.edit('a', edits), 'NO_MATCH');
    expect(refused.detail?.index).toBe(1);
    expect(t.text('a')).toBe('one\ntwo\n');
  });

  it('of a file deleted since its read is refused as DELETED; a write creates it again', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    rmSync(join(t.root, 'a'));
    await refusal(t.session.edit('a', [{ oldString: 'one', newString: 'x' }]), 'DELETED');
    const result = await ok(t.session.write('a', 'again\n'));
    expect(result).toMatchObject({ created: true, notices: [{ kind: 'recreated' }] });
  });

  it('is licensed by the current revision without a sighting', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    const { revision = '' } = await ok(t.session.read('a'));
    const other = await t.open({ session: 'other' });
    const result = await ok(
      other.edit('a', [{ oldString: 'one', newString: 'two' }], { expectedRevision: revision }),
    );
    expect(result.revision, 'it has not seen the whole file').toBeUndefined();
  });

  it('applies all of ten concurrent edits of one file', async () => {
    const t = await desk();
    await t.put('a', Array.from({ length: 10 }, (_, index) => `slot${index} = empty\n`).join(''));
    await ok(t.session.read('a'));
    const edits = Array.from({ length: 10 }, (_, index) =>
      t.session.edit('a', [{ oldString: `slot${index} = empty`, newString: `slot${index} = full` }]),
    );
    for (const outcome of await Promise.all(edits)) await ok(outcome);
    expect(t.text('a').match(/full/g)).toHaveLength(10);
  });
});

describe('insert', () => {
  it('adjusts its line number to an outside change', async () => {
    const t = await desk();
    await t.put('a', numbered(20));
    await ok(t.session.read('a'));
    await t.put('a', `new top\n${numbered(20)}`);
    await ok(t.session.insert('a', 'after ten\n', { afterLine: 10 }));
    expect(t.text('a')).toContain('line 10\nafter ten\nline 11\n');
  });

  it('is STALE if the lines around its position changed', async () => {
    const t = await desk();
    await t.put('a', numbered(20));
    await ok(t.session.read('a'));
    await t.put('a', numbered(20).replace('line 10\n', 'line ten\n'));
    await refusal(t.session.insert('a', 'x\n', { afterLine: 10 }), 'STALE');
  });

  it('appends, adding a missing final newline', async () => {
    const t = await desk();
    await t.put('a', 'one');
    await ok(t.session.read('a'));
    const result = await ok(t.session.insert('a', 'two'));
    expect([t.text('a'), result.inserted]).toEqual(['one\ntwo\n', { from: 2, to: 2 }]);
  });

  it('past the end is an invalid argument', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await refusal(t.session.insert('a', 'x', { afterLine: 9 }), 'INVALID_ARGUMENT');
  });
});

describe('staleness', () => {
  it('does not depend on file times: touched, rewritten and restored bytes are fresh', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    utimesSync(join(t.root, 'a'), new Date(), new Date(Date.now() + 60_000));
    await t.put('a', 'other\n');
    await t.put('a', 'one\n');
    await ok(t.session.write('a', 'two\n'));
  });

  it('shows the change, refuses the same content again, and accepts content that includes the change', async () => {
    const t = await desk();
    await t.put('a', 'one\ntwo\n');
    await ok(t.session.read('a'));
    await t.put('a', 'one\ntwo by hand\n');
    const first = await refusal(t.session.write('a', 'ONE\ntwo\n'), 'STALE');
    expect(first.detail?.diff).toContain('+two by hand');
    await refusal(t.session.write('a', 'ONE\ntwo\n'), 'STALE');
    await ok(t.session.write('a', 'ONE\ntwo by hand\n'));
  });

  it('counts only the shown lines of a long diff as seen', async () => {
    const t = await desk();
    await t.put('a', numbered(2000));
    await ok(t.session.read('a'));
    await t.put('a', numbered(2000).replaceAll('line', 'row'));
    await refusal(t.session.write('a', 'x\n'), 'STALE');
    await refusal(t.session.write('a', 'y\n'), 'STALE');
    await t.put(
      'a',
      numbered(2000)
        .replace('line 7\n', 'seven\n')
        .replaceAll(/line 1\d\d\n/g, 'row\n'),
    );
    await ok(t.session.read('a', { limit: 10 }));
    await refusal(t.session.write('a', 'y\n'), 'PARTIALLY_READ');
  });

  it('counts refusals in a row anew after a successful change', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    const edit = (oldString: string) => t.session.edit('a', [{ oldString, newString: `${oldString}!` }]);
    await refusal(edit('nine'), 'NO_MATCH');
    expect((await refusal(edit('nine'), 'NO_MATCH')).detail?.repeated).toBe(2);
    await ok(edit('one'));
    expect((await refusal(edit('nine'), 'NO_MATCH')).detail?.repeated).toBe(1);
  });

  it('numbers the refusals in a row', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    for (const repeated of [1, 2, 3]) {
      const refused = await refusal(t.session.write('a', 'x'), 'NOT_READ');
      expect(refused.detail?.repeated).toBe(repeated);
    }
    await ok(t.session.read('a'));
    await ok(t.session.write('a', 'x'));
  });
});

describe('pasted line numbers', () => {
  const open = async () => {
    const t = await desk();
    await t.put('a', 'one\ntwo\nthree\n');
    await ok(t.session.read('a'));
    return t;
  };

  it('are refused with their own message, even if every line is new', async () => {
    const t = await open();
    const edits = [{ oldString: 'two\nthree\n', newString: '2\tTWO\n3\tTHREE\n' }];
    const refused = await refusal(t.session.edit('a', edits), 'PLACEHOLDER_CONTENT');
    expect(explain(refused, { nowMs: 0 })).toMatch(
      /begin with the line numbers of a read.*without the line numbers/s,
    );
    await refusal(t.session.write('a', '1\tuno\n2\tdos\n'), 'PLACEHOLDER_CONTENT');
    await refusal(t.session.insert('a', '2\tx\n3\ty\n', { afterLine: 1 }), 'PLACEHOLDER_CONTENT');
  });

  it('are removed from an edit that has them in its old text, with a notice', async () => {
    const t = await open();
    const done = await ok(t.session.edit('a', [{ oldString: '2\ttwo', newString: '2\tTWO' }]));
    expect(done).toMatchObject({
      tier: 'line-numbers',
      notices: [{ kind: 'match-tier', tier: 'line-numbers' }],
    });
    expect(t.text('a')).toBe('one\nTWO\nthree\n');
  });

  it('are ordinary content in a new file and in a file that has such numbers', async () => {
    const t = await open();
    await ok(t.session.write('new', '1\tuno\n2\tdos\n'));
    await ok(t.session.write('new', '1\tone\n2\ttwo\n3\tthree\n'));
    await ok(t.session.write('stub', '// ... rest of the file unchanged ...\n'));
  });
});

describe('NO_MATCH', () => {
  const edit = (oldString: string) => [{ oldString, newString: 'x' }];

  it('says what differs and suggests a matching text, if the file was seen whole', async () => {
    const t = await desk();
    await t.put('a', 'first line\nconst value = compute(otter);\nlast line\n');
    await ok(t.session.read('a'));
    const refused = await refusal(t.session.edit('a', edit('const value = compute(other);')), 'NO_MATCH');
    expect(refused.detail).toMatchObject({
      difference: 'line 2 of the file differs',
      anchor: 'const value = compute(otter);',
    });
    const text = explain(refused, { nowMs: 0 });
    expect(text).toContain('old_string "const value = compute(otter);"');
    expect(text).not.toContain('read_file');
    await ok(t.session.edit('a', edit(refused.detail?.anchor ?? '')));
  });

  it('asks for a read of the rest if only a part was seen', async () => {
    const t = await desk();
    await t.put('a', 'first line\nconst value = compute(otter);\nlast line\n');
    await ok(t.session.read('a', { limit: 2 }));
    const refused = await refusal(t.session.edit('a', edit('const value = compute(other);')), 'NO_MATCH');
    expect(refused.detail).not.toHaveProperty('anchor');
    expect(explain(refused, { nowMs: 0 })).toContain('Next: read_file');
  });
});

describe('earlier bytes that return', () => {
  it('count as seen after git stash and pop, or checkout and back', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await ok(t.session.edit('a', [{ oldString: 'one', newString: 'two' }]));
    await t.put('a', 'one\n');
    const done = await ok(t.session.write('a', 'three\n'));
    expect(done.notices).toEqual([{ kind: 'came-back' }]);
    await t.put('a', 'two\n');
    await ok(t.session.delete('a'));
  });

  it('count as seen if the session had deleted or moved the file; other bytes do not', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await ok(t.session.delete('a'));
    await t.put('a', 'one\n');
    const { notices } = await ok(t.session.write('a', 'two\n'));
    expect(notices).toEqual([{ kind: 'came-back' }]);
    await ok(t.session.move('a', 'b'));
    await t.put('a', 'one\n');
    await ok(t.session.edit('a', [{ oldString: 'one', newString: 'three' }]));
    await ok(t.session.delete('a'));
    await t.put('a', 'other\n');
    await refusal(t.session.write('a', 'x\n'), 'NOT_READ');
    await ok(t.session.read('a'));
    await ok(t.session.delete('a'));
    await t.session.compacted();
    await t.put('a', 'other\n');
    await refusal(t.session.write('a', 'x\n'), 'NOT_READ');
  });

  it('are not needed for an empty file, which may be overwritten unread', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await ok(t.session.delete('a'));
    await t.put('a', '');
    // The file was truncated long ago, so that no editor is in the middle of saving it.
    utimesSync(join(t.root, 'a'), 1, 1);
    await ok(t.session.write('a', 'two\n'));
  });

  it('count as seen even if a refusal has shown other bytes in between', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await t.put('a', 'other branch\n');
    await refusal(t.session.write('a', 'x'), 'STALE');
    await t.put('a', 'one\n');
    await ok(t.session.write('a', 'two\n'));
  });

  it('still count as seen after an edit, even if the bytes in between were seen only in part', async () => {
    const t = await desk();
    await t.put('a', 'one\ntwo\nthree\n');
    await ok(t.session.read('a'));
    await t.put('a', 'one\nother branch\nthree\n');
    await ok(t.session.read('a', { offset: 3, limit: 1 }));
    await t.put('a', 'one\ntwo\nthree\n');
    await ok(t.session.edit('a', [{ oldString: 'three', newString: 'drei' }]));
    expect((await ok(t.session.status('a'))).files[0]?.seen).toBe('whole');
    await ok(t.session.write('a', 'all new\n'));
  });

  it('do not count if they were seen in part, or before a compaction', async () => {
    const t = await desk();
    await t.put('part', 'one\ntwo\n');
    await ok(t.session.read('part', { limit: 1 }));
    await ok(t.session.edit('part', [{ oldString: 'one', newString: 'ONE' }]));
    await t.put('part', 'one\ntwo\n');
    const outcome = await t.session.write('part', 'x');
    expect(outcome.ok).toBe(false);
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await ok(t.session.write('a', 'two\n'));
    await t.session.compacted();
    await ok(t.session.read('a'));
    await t.put('a', 'one\n');
    await refusal(t.session.write('a', 'x'), 'STALE');
  });
});

describe('a whole write', () => {
  const over = async (before: string, policy: { form?: 'keep' | 'exact' } = {}): Promise<string> => {
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
    expect(await over('\ufeffa\r\n', { form: 'exact' })).toBe('one\ntwo\n');
    const t = await desk();
    await ok(t.session.write('new', '\ufeffa\r\nb\n'));
    expect(t.text('new')).toBe('\ufeffa\r\nb\n');
  });
});

describe('a long line that changed outside', () => {
  it('is shown as a read would show it, so that the next overwrite passes', async () => {
    const t = await desk();
    const long = (mark: string): string => `one\n${mark.repeat(1500)}\nthree\n`;
    await t.put('a', long('x'));
    await ok(t.session.read('a'));
    await t.put('a', long('y'));
    const done = await ok(t.session.edit('a', [{ oldString: 'three', newString: 'four' }]));
    expect(done.notices[0]).toMatchObject({ kind: 'changed-elsewhere' });
    await ok(t.session.write('a', 'all of it'));
  });

  it('is named by the diff if even a read would cut it', async () => {
    const t = await desk();
    await t.put('a', `one\n${'x'.repeat(3000)}\n`);
    await ok(t.session.read('a'));
    await t.put('a', `one\n${'y'.repeat(3000)}\n`);
    const { detail } = await refusal(t.session.write('a', 'x'), 'PARTIALLY_READ');
    expect(detail?.reason).toBe('clamped');
    const done = await ok(t.session.edit('a', [{ oldString: 'one', newString: 'two' }]));
    expect(done.notices[0]).toMatchObject({ diff: expect.stringContaining('beginning is shown of line 2') });
  });
});

describe('delete and move', () => {
  it('of a folder needs a full listing that is still current', async () => {
    const t = await desk();
    await t.put('d/a', '1');
    await refusal(t.session.delete('d', { recursive: true }), 'NOT_READ');
    await ok(t.session.list('d', { depth: 3 }));
    await t.put('d/b', '2');
    await refusal(t.session.delete('d', { recursive: true }), 'STALE');
    await ok(t.session.list('d', { depth: 3 }));
    await ok(t.session.delete('d', { recursive: true }));
    expect(readdirSync(t.root)).toEqual([]);
  });

  it('of a folder is refused if it contains a protected path or a root', async () => {
    const t = await desk({ policy: { protected: ['conf/secrets/**', 'open/keys/**', '**/.git'] } });
    for (const name of ['conf/secrets/k', 'conf/keys/k', 'repo/.git/HEAD', 'repo/in/x'])
      await t.put(name, 'x\n');
    const { detail } = await refusal(t.session.move('conf', 'elsewhere'), 'PROTECTED');
    expect(detail?.reason).toBe('in it, conf/secrets may not be moved');
    await refusal(t.session.move('repo/in', 'open/keys'), 'PROTECTED');
    const nested = await t.open({ roots: [t.root, join(t.root, 'repo/in')] });
    await ok(nested.list('.', { depth: 9 }));
    for (const path of ['repo', 'repo/in']) await refusal(nested.move(path, 'moved'), 'PROTECTED');
    for (const path of ['repo', 'repo/in'])
      await refusal(nested.delete(path, { recursive: true }), 'PROTECTED');
    await ok(t.session.move('repo', 'moved'));
    expect(readdirSync(t.root).sort()).toEqual(['conf', 'moved']);
  });

  it('acts on a link itself, not on its target', async () => {
    const t = await desk();
    await t.put('real', 'x');
    symlinkSync('real', join(t.root, 'link'));
    await ok(t.session.move('link', 'renamed'));
    await ok(t.session.delete('renamed'));
    expect(readdirSync(t.root)).toEqual(['real']);
  });

  it('onto an existing file is an overwrite', async () => {
    const t = await desk();
    await t.put('a', 'a');
    await t.put('b', 'b');
    await refusal(t.session.move('a', 'b'), 'NOT_READ');
    await ok(t.session.read('b'));
    await ok(t.session.move('a', 'b'));
    expect([existsSync(join(t.root, 'a')), t.text('b')]).toEqual([false, 'a']);
    await ok(t.session.undo({}));
    expect([t.text('a'), t.text('b')]).toEqual(['a', 'b']);
  });

  it('refuses a file without write permission', async () => {
    const t = await desk();
    await t.put('a', 'a');
    chmodSync(join(t.root, 'a'), 0o444);
    await ok(t.session.read('a'));
    await refusal(t.session.write('a', 'x'), 'READ_ONLY');
    await refusal(t.session.delete('a'), 'READ_ONLY');
    await refusal(t.session.move('a', 'b'), 'READ_ONLY');
  });

  it('keeps the sighting of a moved file', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await ok(t.session.move('a', 'b/c'));
    await ok(t.session.write('b/c', 'two\n'));
  });
});

describe('batches', () => {
  it('are all or nothing and name every refused file', async () => {
    const t = await desk();
    await t.put('a', 'a\n');
    await t.put('b', 'b\n');
    const refused = await refusal(
      t.session.apply([
        { kind: 'write', path: 'n/new', content: 'x' },
        { kind: 'write', path: 'a', content: 'A' },
        { kind: 'edit', path: 'b', edits: [{ oldString: 'b', newString: 'B' }] },
      ]),
      'NOT_READ',
    );
    expect(refused.detail?.refusals?.map((each) => each.path)).toEqual(['a', 'b']);
    expect(readdirSync(t.root).sort()).toEqual(['a', 'b']);
  });

  it('refuse a file that is named twice', async () => {
    const t = await desk();
    const twice = [
      { kind: 'write', path: 'a', content: '1' },
      { kind: 'write', path: './a', content: '2' },
    ] as const;
    await refusal(t.session.apply(twice), 'INVALID_ARGUMENT');
  });

  it('refuse a path inside another path that they create as a file', async () => {
    const t = await desk();
    const changes = ['n/m', 'n'].map((path) => ({ kind: 'write', path, content: 'x\n' }) as const);
    for (const order of [changes, changes.toReversed()])
      await refusal(t.session.apply(order), 'INVALID_ARGUMENT');
    expect(readdirSync(t.root)).toEqual([]);
  });

  it('show the diff in a dry run and change nothing', async () => {
    const t = await desk();
    await t.put('a', 'a\n');
    await ok(t.session.read('a'));
    const shown = await ok(t.session.apply([{ kind: 'write', path: 'a', content: 'A\n' }], { dryRun: true }));
    expect(shown.results[0]?.diff).toContain('+A');
    expect(t.text('a')).toBe('a\n');
  });

  it('show the same notices in a dry run', async () => {
    const t = await desk();
    await t.put('a', 'one\ntwo\n');
    await ok(t.session.read('a'));
    const edits = [{ oldString: 'one  \ntwo', newString: 'x' }];
    const shown = await ok(t.session.apply([{ kind: 'edit', path: 'a', edits }], { dryRun: true }));
    expect(shown.results[0]?.notices).toEqual([{ kind: 'match-tier', tier: 'trailing-space' }]);
  });
});

describe('a status', () => {
  it.each([
    ['cut', 'x'.repeat(3000)],
    ['described', Buffer.from([0, 1, 2, 255, 254, 0, 7])],
  ])('gives no revision for a file that was only %s', async (but, content) => {
    const t = await desk();
    await t.put('a', content);
    await ok(t.session.read('a'));
    const [file] = (await ok(t.session.status('a'))).files;
    expect(file).toMatchObject({ freshness: 'fresh', seen: 'some', but });
    expect(file).not.toHaveProperty('revision');
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

  it('is refused as NOT_A_FILE if it is a folder', async () => {
    const t = await desk();
    mkdirSync(join(t.root, 'd'));
    await refusal(t.session.read('d'), 'NOT_A_FILE');
    await refusal(t.session.write('d', 'x'), 'NOT_A_FILE');
  });
});

describe('compaction, forks and children', () => {
  it('compaction forbids overwrites and still allows edits of unchanged files', async () => {
    const t = await desk();
    await t.put('a', 'one\ntwo\n');
    await ok(t.session.read('a'));
    await t.session.compacted();
    await refusal(t.session.write('a', 'x'), 'NOT_READ');
    await ok(t.session.edit('a', [{ oldString: 'one', newString: 'uno' }]));
  });

  it('compaction forgets everything under the policy `clear`', async () => {
    const t = await desk({ policy: { compaction: 'clear' } });
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await t.session.compacted();
    await refusal(t.session.edit('a', [{ oldString: 'one', newString: 'x' }]), 'NOT_READ');
  });

  it('a child starts without sightings and never licenses its parent; a fork copies the sightings', async () => {
    const t = await desk({ session: 'parent' });
    await t.put('a', 'one\n');
    await t.put('b', 'one\n');
    await ok(t.session.read('a'));
    const child = await t.session.child();
    await refusal(child.write('a', 'x'), 'NOT_READ');
    await ok(child.read('b'));
    await refusal(t.session.write('b', 'x'), 'NOT_READ');
    const fork = await t.session.fork();
    await ok(fork.write('a', 'two\n'));
  });

  it('rewinding forgets later sightings', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    const before = Date.now() - 1;
    await ok(t.session.read('a'));
    await t.session.rewound(before);
    await refusal(t.session.write('a', 'x'), 'NOT_READ');
  });

  it('resuming drops sightings of changed files', async () => {
    const t = await desk({ session: 'named' });
    await t.put('same', 'one\n');
    await t.put('changed', 'one\n');
    await ok(t.session.read('same'));
    await ok(t.session.read('changed'));
    await t.session.close();
    await t.put('changed', 'other\n');
    const again = await t.open();
    await again.resumed();
    await ok(again.write('same', 'two\n'));
    await refusal(again.write('changed', 'x'), 'NOT_READ');
  });
});

describe('witness', () => {
  it('of a command reports which seen files changed', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await t.put('b', 'one\n');
    await ok(t.session.read('a'));
    await ok(t.session.read('b'));
    await t.put('b', 'two\n');
    const { notices } = await ok(t.session.witness({ kind: 'command', command: 'make' }));
    expect(notices).toEqual([{ kind: 'changed-seen-files', paths: ['b'], cut: 0 }]);
  });

  it('of a read and a write by the host licenses later changes', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.witness({ kind: 'read', path: 'a' }));
    await ok(t.session.vet({ kind: 'write', path: 'a', content: 'x' }));
    await t.put('a', 'by the host\n');
    await ok(t.session.witness({ kind: 'write', path: 'a', content: 'by the host\n' }));
    await ok(t.session.write('a', 'y\n'));
  });
});
