import { describe, expect, it } from 'vitest';
import { applyEdits } from '../splice.ts';
import { parsePatch } from './parse.ts';

const parsed = (...lines: string[]) => {
  const patch = parsePatch({ format: 'unified', text: `${lines.join('\n')}\n` });
  if (!patch.ok) throw new Error(patch.reason);
  return patch.changes;
};

describe('the line number of a hunk', () => {
  const file = `h\n${'s\nt\nu\n'.repeat(4)}`;
  const hunks = (...added: string[]): string => {
    const [change] = parsed(
      '--- a/f',
      '+++ b/f',
      `@@ -1 +1,${added.length + 1} @@`,
      ' h',
      ...added.map((line) => `+${line}`),
      `@@ -5,3 +${5 + added.length},3 @@`,
      ' s',
      '-t',
      '+T',
      ' u',
    );
    const applied = applyEdits(file, change?.kind === 'edit' ? change.edits : []);
    return applied.ok ? applied.text : applied.kind;
  };

  it.each([[['1']], [['1', '2', '3']]])('counts in the old file, after a hunk that adds %j', (added) => {
    expect(hunks(...added).split('\n')).toEqual(['h', ...added, ...'stusTustustu', '']);
  });
});

describe('rows that only git writes', () => {
  it('create and delete empty files', () => {
    expect(
      parsed(
        ...['diff --git a/p/__init__.py b/p/__init__.py', 'new file mode 100644', 'index 0000000..e69de29'],
        ...['diff --git a/run b/run', 'new file mode 100755', 'index 0000000..e69de29'],
        ...['diff --git a/.gitkeep b/.gitkeep', 'deleted file mode 100644', 'index e69de29..0000000'],
        ...['diff --git a/tool b/tool', 'old mode 100644', 'new mode 100755'],
      ),
    ).toEqual([
      { kind: 'write', path: 'p/__init__.py', content: '' },
      { kind: 'write', path: 'run', content: '', mode: 0o755 },
      { kind: 'delete', path: '.gitkeep', only: 'file' },
      { kind: 'edit', path: 'tool', edits: [], executable: true },
    ]);
  });

  it('quote names with unusual characters', () => {
    expect(
      parsed(
        'diff --git "a/gr\\303\\266\\303\\237e \\"1\\".txt" "b/gr\\303\\266\\303\\237e \\"1\\".txt"',
        '--- "a/gr\\303\\266\\303\\237e \\"1\\".txt"',
        '+++ "b/gr\\303\\266\\303\\237e \\"1\\".txt"',
        ...['@@ -1 +1 @@', '-a', '+b'],
        ...['diff --git "a/a\\tb" b/c', 'rename from "a\\tb"', 'rename to c'],
        ...['diff --git "a/\\303\\251" "b/\\303\\251"', 'new file mode 100644'],
      ),
    ).toMatchObject([
      { kind: 'edit', path: 'größe "1".txt' },
      { kind: 'move', source: 'a\tb', destination: 'c' },
      { kind: 'write', path: 'é' },
    ]);
  });

  it('end the mail of git format-patch', () => {
    const rows = ['--- a/f', '+++ b/f', '@@ -1 +1 @@', '-a', '+b', '-- ', '2.43.0', ''];
    expect(
      parsed('From: me', 'Subject: x', '---', ' f | 2 +-', '', 'diff --git a/f b/f', ...rows),
    ).toMatchObject([{ kind: 'edit', path: 'f' }]);
  });
});
