import { chmodSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/report/explain.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

const v4a = (...lines: string[]) =>
  ({ format: 'v4a', text: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') }) as const;
const unified = (...lines: string[]) => ({ format: 'unified', text: `${lines.join('\n')}\n` }) as const;

async function open(): Promise<Desk> {
  const t = await desk();
  await t.put('a.txt', 'one\ntwo\nthree\n');
  await t.put('b.txt', 'x\ny\nx\ny\n');
  await ok(t.session.read('a.txt'));
  await ok(t.session.read('b.txt'));
  return t;
}

describe('a V4A patch', () => {
  it('adds, updates, deletes and moves files in one change, which one undo takes back', async () => {
    const t = await open();
    await t.put('c.txt', 'c\n');
    const done = await ok(
      t.session.patch(
        v4a(
          '*** Add File: new/n.txt',
          '+hello',
          '*** Update File: a.txt',
          '@@',
          ' one',
          '-two',
          '+TWO',
          ' three',
          '*** Delete File: b.txt',
          '*** Update File: c.txt',
          '*** Move to: d.txt',
        ),
      ),
    );
    expect(done.results).toHaveLength(4);
    expect(t.text('new/n.txt')).toBe('hello\n');
    expect(t.text('a.txt')).toBe('one\nTWO\nthree\n');
    expect(t.text('d.txt')).toBe('c\n');
    expect(existsSync(join(t.root, 'b.txt'))).toBe(false);
    await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe('one\ntwo\nthree\n');
    expect(existsSync(join(t.root, 'new'))).toBe(false);
  });

  it.each([
    ['a header', ['@@ y', '-x', '+X'], 'x\ny\nX\ny\n'],
    ['the end of the file', ['@@', '-y', '+Y', '*** End of File'], 'x\ny\nx\nY\n'],
    ['added lines only, which are appended', ['@@', '+z'], 'x\ny\nx\ny\nz\n'],
  ])('chooses a place by %s', async (_what, hunk, expected) => {
    const t = await open();
    await ok(t.session.patch(v4a('*** Update File: b.txt', ...hunk)));
    expect(t.text('b.txt')).toBe(expected);
  });

  it('accepts markers after spaces and without a space, as other programs do', async () => {
    const t = await open();
    const update = ['*** Update File:b.txt', '*** Move to:c.txt'];
    await ok(t.session.patch(v4a('*** Add File: n.txt', '+hello', ' *** Delete File: a.txt', ...update)));
    expect(t.text('n.txt')).toBe('hello\n');
    expect(existsSync(join(t.root, 'a.txt'))).toBe(false);
    expect(t.text('c.txt')).toBe('x\ny\nx\ny\n');
  });

  it('never lands a hunk above its header, even if that is the only place', async () => {
    const t = await desk();
    await t.put('f.py', 'x = 1\nclass A:\n    y = 2\n');
    await ok(t.session.read('f.py'));
    const above = v4a('*** Update File: f.py', '@@ class A:', '-x = 1', '+x = 9');
    await refusal(t.session.patch(above), 'NO_MATCH');
    expect(t.text('f.py')).toBe('x = 1\nclass A:\n    y = 2\n');
    await ok(t.session.patch(v4a('*** Update File: f.py', '@@ class A:', '-    y = 2', '+    y = 3')));
    expect(t.text('f.py')).toBe('x = 1\nclass A:\n    y = 3\n');
  });

  it('matches lines that contain a lone carriage return', async () => {
    const t = await desk();
    await t.put('cr.txt', 'a\rb\nc\n');
    await ok(t.session.read('cr.txt'));
    await ok(t.session.patch(v4a('*** Update File: cr.txt', '@@', ' a\rb', '-c', '+d')));
    expect(t.text('cr.txt')).toBe('a\rb\nd\n');
    await ok(t.session.patch(v4a('*** Update File: cr.txt', '@@', '-a\rb', '+a\rB', ' d')));
    expect(t.text('cr.txt')).toBe('a\rB\nd\n');
  });

  it('appends to a file and moves it in one step', async () => {
    const t = await open();
    const append = v4a('*** Update File: b.txt', '*** Move to: sub/c.txt', '@@', '+z');
    await ok(t.session.patch(append));
    expect(t.text('sub/c.txt')).toBe('x\ny\nx\ny\nz\n');
    expect(existsSync(join(t.root, 'b.txt'))).toBe(false);
    await ok(t.session.undo({}));
    expect(t.text('b.txt')).toBe('x\ny\nx\ny\n');
    expect(existsSync(join(t.root, 'sub'))).toBe(false);
  });

  it('judges the destination of an append that moves', async () => {
    const t = await open();
    await t.put('unread.txt', 'secret\n');
    const append = v4a('*** Update File: b.txt', '*** Move to: unread.txt', '@@', '+z');
    await refusal(t.session.patch(append), 'NOT_READ');
    expect(t.text('b.txt')).toBe('x\ny\nx\ny\n');
    expect(t.text('unread.txt')).toBe('secret\n');
  });

  it('is judged per hunk, and applied as a whole or not at all', async () => {
    const t = await open();
    await t.put('unread.txt', 'secret\n');
    const good = ['*** Update File: a.txt', '@@', '-two', '+TWO'];
    const update = (path: string, ...hunk: string[]) =>
      v4a(...good, `*** Update File: ${path}`, '@@', ...hunk);
    await refusal(t.session.patch(update('b.txt', '-x', '+X')), 'AMBIGUOUS_MATCH');
    await refusal(t.session.patch(update('b.txt', '-nowhere', '+X')), 'NO_MATCH');
    await refusal(t.session.patch(update('b.txt', '-x', '+X', '*** End of File')), 'NO_MATCH');
    await refusal(t.session.patch(update('unread.txt', '-secret', '+X')), 'NOT_READ');
    expect(t.text('a.txt')).toBe('one\ntwo\nthree\n');
  });

  it.each([undefined, null, 5, 'text', {}, { format: 'v4a', text: '', colour: 1 }])(
    'that is %j is refused as an argument',
    async (patch) => {
      const t = await desk();
      // Values that an untyped caller may pass.
      await refusal(t.session.patch(patch as never), 'INVALID_ARGUMENT');
    },
  );

  it('matches whole lines only', async () => {
    const t = await desk();
    await t.put('a.txt', 'about\nend\n');
    await ok(t.session.read('a.txt'));
    await refusal(t.session.patch(v4a('*** Update File: a.txt', '@@', '-out', '+in')), 'NO_MATCH');
  });

  it.each([
    ['no markers', { format: 'v4a', text: 'hello' }],
    ['text outside', v4a('hello', '*** Add File: n', '+x')],
    ['a file named twice', v4a('*** Delete File: a.txt', '*** Delete File: a.txt')],
    ['an unknown line', v4a('*** Update File: a.txt', '@@', '?two')],
    ['nothing', v4a()],
  ] as const)('is INVALID_ARGUMENT with %s', async (_what, patch) => {
    const t = await open();
    await refusal(t.session.patch(patch), 'INVALID_ARGUMENT');
  });
});

describe('a patch that moves', () => {
  it.each([
    ['V4A', v4a('*** Update File: a.txt', '*** Move to: d/e.txt', '@@', '-two', '+TWO')],
    [
      'unified',
      unified(
        'diff --git a/a.txt b/d/e.txt',
        'similarity index 60%',
        'rename from a.txt',
        'rename to d/e.txt',
        '--- a/a.txt',
        '+++ b/d/e.txt',
        '@@ -1,3 +1,3 @@',
        ' one',
        '-two',
        '+TWO',
        ' three',
      ),
    ],
  ])('updates the file in the same step: %s', async (_format, patch) => {
    const t = await open();
    await ok(t.session.patch(patch));
    expect(t.text('d/e.txt')).toBe('one\nTWO\nthree\n');
    expect(existsSync(join(t.root, 'a.txt'))).toBe(false);
    await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe('one\ntwo\nthree\n');
  });

  it('can swap two files', async () => {
    const t = await open();
    const swap = [
      '*** Update File: a.txt',
      '*** Move to: b.txt',
      '*** Update File: b.txt',
      '*** Move to: a.txt',
    ];
    await ok(t.session.patch(v4a(...swap)));
    expect(t.text('b.txt')).toBe('one\ntwo\nthree\n');
    expect(t.text('a.txt')).toBe('x\ny\nx\ny\n');
  });
});

describe('the executable bit', () => {
  const mode = (t: Desk, name: string) => statSync(join(t.root, name)).mode & 0o777;

  it('is applied by unified diffs, to new and to existing files', async () => {
    const t = await open();
    chmodSync(join(t.root, 'b.txt'), 0o640);
    await ok(t.session.patch(unified('diff --git a/b.txt b/b.txt', 'old mode 100644', 'new mode 100755')));
    expect(mode(t, 'b.txt')).toBe(0o750);
    expect(t.text('b.txt')).toBe('x\ny\nx\ny\n');
    const created = ['new file mode 100755', '--- /dev/null', '+++ b/run.sh', '@@ -0,0 +1 @@', '+#!/bin/sh'];
    await ok(t.session.patch(unified('diff --git a/run.sh b/run.sh', ...created)));
    expect(mode(t, 'run.sh') & 0o100).toBe(0o100);
    const edited = [
      'old mode 100644',
      'new mode 100755',
      '--- a/a.txt',
      '+++ b/a.txt',
      '@@ -2 +2 @@',
      '-two',
      '+2',
    ];
    await ok(t.session.patch(unified('diff --git a/a.txt b/a.txt', ...edited)));
    expect(mode(t, 'a.txt') & 0o111).toBe(0o111);
    expect(t.text('a.txt')).toBe('one\n2\nthree\n');
    await ok(t.session.undo({}));
    expect(mode(t, 'a.txt') & 0o111).toBe(0);
    expect(t.text('a.txt')).toBe('one\ntwo\nthree\n');
    await refusal(
      t.session.patch(unified('diff --git a/a.txt b/a.txt', 'old mode 100644', 'new mode 100777')),
      'INVALID_ARGUMENT',
    );
  });
});

describe('a last line without a newline', () => {
  it.each([
    ['changed', ['@@', ' one', '-two', '+TWO'], 'one\nTWO\n'],
    ['kept', ['@@', '-one', '+ONE', ' two'], 'ONE\ntwo'],
    ['followed by a new one', ['@@', ' two', '+three'], 'one\ntwo\nthree\n'],
  ])('of a V4A patch, %s', async (_what, hunk, expected) => {
    const t = await desk();
    await t.put('a.txt', 'one\ntwo');
    await ok(t.session.read('a.txt'));
    await ok(t.session.patch(v4a('*** Update File: a.txt', ...hunk)));
    expect(t.text('a.txt')).toBe(expected);
  });
});

describe('the line "\\ No newline at end of file"', () => {
  const NONE = '\\ No newline at end of file';
  it.each([
    [
      'without one before and after',
      'one\ntwo',
      ['@@ -1,2 +1,2 @@', ' one', '-two', NONE, '+TWO', NONE],
      'one\nTWO',
    ],
    ['added', 'one\ntwo', ['@@ -1,2 +1,2 @@', ' one', '-two', NONE, '+TWO'], 'one\nTWO\n'],
    ['alone', 'one\ntwo', ['@@ -1,2 +1,2 @@', ' one', '-two', NONE, '+two'], 'one\ntwo\n'],
    ['after the second of equal lines', 'x\nx', ['@@ -1,2 +1,2 @@', ' x', '-x', NONE, '+x'], 'x\nx\n'],
    [
      'with another line',
      'one\ntwo',
      ['@@ -1,2 +1,2 @@', '-one', '-two', NONE, '+ONE', '+two'],
      'ONE\ntwo\n',
    ],
    ['there already', 'one\ntwo\n', ['@@ -1,2 +1,2 @@', ' one', '-two', NONE, '+two'], 'one\ntwo\n'],
    ['removed', 'one\ntwo\n', ['@@ -1,2 +1,2 @@', ' one', '-two', '+two', NONE], 'one\ntwo'],
    ['in unchanged lines', 'one\ntwo', ['@@ -1,2 +1,2 @@', '-one', '+ONE', ' two', NONE], 'ONE\ntwo'],
  ])('decides whether the file ends with a newline: %s', async (_what, before, hunk, after) => {
    const t = await desk();
    await t.put('a.txt', before);
    await ok(t.session.read('a.txt'));
    await ok(t.session.patch(unified('--- a/a.txt', '+++ b/a.txt', ...hunk)));
    expect(t.text('a.txt')).toBe(after);
    await ok(t.session.patch(unified('--- /dev/null', '+++ b/n.txt', '@@ -0,0 +1 @@', '+n', NONE)));
    expect(t.text('n.txt')).toBe('n');
  });

  it('does not match part of the last line', async () => {
    const t = await desk();
    await t.put('a.txt', 'about');
    await ok(t.session.read('a.txt'));
    await refusal(t.session.patch(v4a('*** Update File: a.txt', '@@', '-out', '+in')), 'NO_MATCH');
  });
});

describe('a unified diff', () => {
  it('deletes a file only if it lists all of its lines', async () => {
    const t = await open();
    const part = unified('--- a/a.txt', '+++ /dev/null', '@@ -1,2 +0,0 @@', '-one', '-two');
    const refused = await refusal(t.session.patch(part), 'NO_MATCH');
    expect(explain(refused)).toContain(
      'refusing to delete a.txt: the removed lines are not all of its lines',
    );
    expect(t.text('a.txt')).toBe('one\ntwo\nthree\n');
    const whole = unified('--- a/a.txt', '+++ /dev/null', '@@ -1,3 +0,0 @@', '-one', '-two', '-three');
    await ok(t.session.patch(whole));
    expect(existsSync(join(t.root, 'a.txt'))).toBe(false);
  });

  it('changes, creates and deletes files', async () => {
    const t = await open();
    await ok(
      t.session.patch(
        unified(
          'diff --git a/a.txt b/a.txt',
          '--- a/a.txt',
          '+++ b/a.txt',
          '@@ -1,3 +1,3 @@',
          ' one',
          '-two',
          '+TWO',
          ' three',
          '--- /dev/null',
          '+++ b/new.txt',
          '@@ -0,0 +1 @@',
          '+hello',
          '--- a/b.txt',
          '+++ /dev/null',
          '@@ -1,4 +0,0 @@',
          '-x',
          '-y',
          '-x',
          '-y',
        ),
      ),
    );
    expect(t.text('a.txt')).toBe('one\nTWO\nthree\n');
    expect(t.text('new.txt')).toBe('hello\n');
    expect(existsSync(join(t.root, 'b.txt'))).toBe(false);
  });

  it('finds a hunk by its context, and chooses between equal places only by an exact line number', async () => {
    const t = await open();
    const hunk = (from: number) =>
      unified('--- b.txt', '+++ b.txt', `@@ -${from},2 +${from},2 @@`, '-x', '+X', ' y');
    await refusal(t.session.patch(hunk(2)), 'AMBIGUOUS_MATCH');
    await ok(t.session.patch(hunk(3)));
    expect(t.text('b.txt')).toBe('x\ny\nX\ny\n');
    await ok(
      t.session.patch(unified('--- a.txt', '+++ a.txt', '@@ -90,2 +90,2 @@', '-two', '+TWO', ' three')),
    );
  });

  it('is refused as STALE where its line number no longer chooses the place that was meant', async () => {
    const t = await desk();
    const text = `h\n${'s\nt\nu\n'.repeat(4)}end\nlast`;
    const hunk = (...lines: string[]) => unified('--- a/p.txt', '+++ b/p.txt', ...lines);
    const equal = hunk('@@ -5,3 +5,3 @@', ' s', '-t', '+T', ' u');
    await t.put('p.txt', text);
    await ok(t.session.read('p.txt'));
    await t.put('p.txt', `1\n2\n3\n${text}`);
    await refusal(t.session.patch(equal), 'STALE');
    await ok(t.session.patch(hunk('@@ -14,2 +14,2 @@', '-end', '+END', ' last')));
    expect(t.text('p.txt')).toBe(`1\n2\n3\n${text.replace('end', 'END')}`);
  });

  it.each([
    ['wrong counts', ['--- a.txt', '+++ a.txt', '@@ -1,5 +1,1 @@', '-one', '+ONE']],
    ['a binary', ['diff --git a/a b/a', 'Binary files a/a and b/a differ']],
    ['a combined diff', ['--- a.txt', '+++ a.txt', '@@@ -1 -1 +1 @@@']],
    [
      'a link',
      ['diff --git a/l b/l', 'new file mode 120000', '--- /dev/null', '+++ b/l', '@@ -0,0 +1 @@', '+to'],
    ],
    [
      'a submodule',
      [
        'diff --git a/s b/s',
        '--- a/s',
        '+++ b/s',
        '@@ -1 +1 @@',
        '-Subproject commit 1',
        '+Subproject commit 2',
      ],
    ],
    ['nothing', ['hello']],
  ])('is INVALID_ARGUMENT with %s', async (_what, lines) => {
    const t = await open();
    await refusal(t.session.patch(unified(...lines)), 'INVALID_ARGUMENT');
  });
});
