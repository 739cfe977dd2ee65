import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { desk, ok, refusal } from '../support/desk.ts';

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

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

  it('starts counting refusals in a row again after a successful change', async () => {
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

describe('refusals of wrong calls', () => {
  const repeated = async (outcome: Parameters<typeof refusal>[0], code: Parameters<typeof refusal>[1]) =>
    (await refusal(outcome, code)).detail?.repeated;

  it('are in a row only if action and reason are the same', async () => {
    const { session } = await desk();
    expect(await repeated(session.list('.', { depth: 0 }), 'INVALID_ARGUMENT')).toBe(1);
    expect(await repeated(session.search('(', { path: '.' }), 'INVALID_ARGUMENT')).toBe(1);
    expect(await repeated(session.find('', { path: '.' }), 'INVALID_ARGUMENT')).toBe(1);
    expect(await repeated(session.find('', { path: '.' }), 'INVALID_ARGUMENT')).toBe(2);
    expect(await repeated(session.find('', { path: '.' }), 'INVALID_ARGUMENT')).toBe(3);
  });

  it('are not in a row if the same action succeeds between them', async () => {
    const { session } = await desk();
    await refusal(session.list('.', { depth: 0 }), 'INVALID_ARGUMENT');
    await ok(session.list('.'));
    expect(await repeated(session.list('.', { depth: 0 }), 'INVALID_ARGUMENT')).toBe(1);
    for (const count of [1, 2]) {
      expect(await repeated(session.find('', { path: '.' }), 'INVALID_ARGUMENT')).toBe(count);
    }
    await ok(session.find('*', { path: '.' }));
    expect(await repeated(session.find('', { path: '.' }), 'INVALID_ARGUMENT')).toBe(1);
  });

  it('of an undo are in a row only if they name the same change', async () => {
    const { session } = await desk();
    expect(await repeated(session.undo({ change: 'aaa' }), 'NOT_FOUND')).toBe(1);
    expect(await repeated(session.undo({ change: 'bbb' }), 'NOT_FOUND')).toBe(1);
    expect(await repeated(session.undo({ change: 'bbb' }), 'NOT_FOUND')).toBe(2);
  });

  it('of a file stay in a row, whatever the action, and although a search succeeds between them', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await refusal(t.session.write('a', 'x'), 'NOT_READ');
    await ok(t.session.find('a'));
    await ok(t.session.search('two', { path: 'a' }));
    expect(await repeated(t.session.edit('a', [{ oldString: 'one', newString: '1' }]), 'NOT_READ')).toBe(2);
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
    // Set an old modification time. If a file has become empty just now, the gate assumes that an
    // editor is still saving it, and waits.
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
