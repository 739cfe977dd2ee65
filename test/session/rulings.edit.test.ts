import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/report/explain.ts';
import { desk, ok, refusal } from '../support/desk.ts';

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

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

  it('of lines that the session wrote gets no notice, even if it has deleted all that it read', async () => {
    const t = await desk();
    await t.put('a', numbered(9));
    await ok(t.session.read('a', { limit: 1 }));
    await ok(t.session.edit('a', [{ oldString: 'line 1\n', newString: '' }]));
    await ok(t.session.edit('a', [{ oldString: 'line 5', newString: 'five\nsix' }]));
    const result = await ok(t.session.edit('a', [{ oldString: 'five\nsix', newString: '5' }]));
    expect(result.notices).toEqual([]);
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
