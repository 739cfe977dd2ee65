import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RefusalCode } from '../../src/model/verdict.ts';
import { desk, ok, refusal } from '../support/desk.ts';

/** A scenario in the shape of Codex's apply-patch suite: files before, a patch, files after or the refusal. */
interface Scenario {
  readonly before?: Readonly<Record<string, string>>;
  readonly folders?: readonly string[];
  readonly patch: readonly string[];
  /** Texts by path. `null`: the file does not exist. */
  readonly after?: Readonly<Record<string, string | null>>;
  readonly refused?: RefusalCode;
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'add a file': { patch: ['*** Add File: bar.md', '+This is new'], after: { 'bar.md': 'This is new\n' } },
  'several operations': {
    before: { 'modify.txt': 'line1\nline2\n', 'delete.txt': 'obsolete\n' },
    patch: [
      '*** Add File: nested/new.txt',
      '+created',
      '*** Delete File: delete.txt',
      '*** Update File: modify.txt',
      '@@',
      '-line2',
      '+changed',
    ],
    after: { 'nested/new.txt': 'created\n', 'delete.txt': null, 'modify.txt': 'line1\nchanged\n' },
  },
  'several hunks in one file': {
    before: { 'multi.txt': 'l1\nl2\nl3\nl4\n' },
    patch: ['*** Update File: multi.txt', '@@', '-l2', '+c2', '@@', '-l4', '+c4'],
    after: { 'multi.txt': 'l1\nc2\nl3\nc4\n' },
  },
  'move to a new folder': {
    before: { 'old/name.txt': 'old content\n' },
    patch: [
      '*** Update File: old/name.txt',
      '*** Move to: renamed/dir/name.txt',
      '@@',
      '-old content',
      '+new content',
    ],
    after: { 'old/name.txt': null, 'renamed/dir/name.txt': 'new content\n' },
  },
  'an empty patch': { patch: [], refused: 'INVALID_ARGUMENT' },
  'missing context': {
    before: { 'modify.txt': 'line1\nline2\n' },
    patch: ['*** Update File: modify.txt', '@@', '-missing', '+changed'],
    refused: 'NO_MATCH',
  },
  'delete a missing file': { patch: ['*** Delete File: missing.txt'], refused: 'NOT_FOUND' },
  'an update without a hunk': {
    before: { 'foo.txt': 'x\n' },
    patch: ['*** Update File: foo.txt'],
    refused: 'INVALID_ARGUMENT',
  },
  'update a missing file': {
    patch: ['*** Update File: missing.txt', '@@', '-old', '+new'],
    refused: 'NOT_FOUND',
  },
  'a move that overwrites': {
    before: { 'old/name.txt': 'from\n', 'renamed/name.txt': 'existing\n' },
    patch: ['*** Update File: old/name.txt', '*** Move to: renamed/name.txt', '@@', '-from', '+new'],
    after: { 'old/name.txt': null, 'renamed/name.txt': 'new\n' },
  },
  'an addition that overwrites': {
    before: { 'duplicate.txt': 'old content\n' },
    patch: ['*** Add File: duplicate.txt', '+new content'],
    after: { 'duplicate.txt': 'new content\n' },
  },
  'delete a folder': { folders: ['dir'], patch: ['*** Delete File: dir'], refused: 'NOT_A_FILE' },
  'an unknown header': { patch: ['*** Frobnicate File: foo'], refused: 'INVALID_ARGUMENT' },
  'a last line without a newline': {
    before: { 'no_newline.txt': 'no newline at end' },
    patch: ['*** Update File: no_newline.txt', '@@', '-no newline at end', '+first line', '+second line'],
    after: { 'no_newline.txt': 'first line\nsecond line\n' },
  },
  // Codex keeps the changes made before the failure. Lookfirst applies nothing of the patch.
  'a failure after a success': {
    patch: ['*** Add File: created.txt', '+hello', '*** Update File: missing.txt', '@@', '-old', '+new'],
    after: { 'created.txt': null },
    refused: 'NOT_FOUND',
  },
  'added lines only': {
    before: { 'input.txt': 'line1\nline2\n' },
    patch: ['*** Update File: input.txt', '@@', '+added line 1', '+added line 2'],
    after: { 'input.txt': 'line1\nline2\nadded line 1\nadded line 2\n' },
  },
  'spaces before a header': {
    before: { 'foo.txt': 'old\n' },
    patch: ['  *** Update File: foo.txt', '@@', '-old', '+new'],
    after: { 'foo.txt': 'new\n' },
  },
  'text that is not ASCII': {
    before: { 'foo.txt': 'line1\nnaïve café\nline3\n' },
    patch: ['*** Update File: foo.txt', '@@', ' line1', '-naïve café', '+naïve café ✅', ' line3'],
    after: { 'foo.txt': 'line1\nnaïve café ✅\nline3\n' },
  },
  'delete a file': {
    before: { 'obsolete.txt': 'x\n', 'keep.txt': 'keep\n' },
    patch: ['*** Delete File: obsolete.txt'],
    after: { 'obsolete.txt': null, 'keep.txt': 'keep\n' },
  },
  'delete a line only': {
    before: { 'lines.txt': 'line1\nline2\nline3\n' },
    patch: ['*** Update File: lines.txt', '@@', ' line1', '-line2', ' line3'],
    after: { 'lines.txt': 'line1\nline3\n' },
  },
  'the end of the file': {
    before: { 'tail.txt': 'first\nsecond\n' },
    patch: ['*** Update File: tail.txt', '@@', ' first', '-second', '+second updated', '*** End of File'],
    after: { 'tail.txt': 'first\nsecond updated\n' },
  },
  'a hunk without a header line': {
    before: { 'foo.txt': 'a\nb\n' },
    patch: ['*** Update File: foo.txt', ' a', '-b', '+B'],
    after: { 'foo.txt': 'a\nB\n' },
  },
  'a header line that names a function': {
    before: { 'f.py': 'def a():\n    pass\n\ndef b():\n    pass\n' },
    patch: ['*** Update File: f.py', '@@ def b():', '-    pass', '+    return 1'],
    after: { 'f.py': 'def a():\n    pass\n\ndef b():\n    return 1\n' },
  },
};

describe('patches in the shapes of the Codex suite', () => {
  it.each(Object.entries(SCENARIOS))(
    '%s',
    async (_name, { before = {}, folders = [], patch, after = {}, refused }) => {
      const t = await desk();
      for (const folder of folders) mkdirSync(join(t.root, folder));
      for (const [name, text] of Object.entries(before)) {
        await t.put(name, text);
        await ok(t.session.read(name));
      }
      const text = ['  *** Begin Patch  ', ...patch, '*** End Patch '].join('\n');
      const outcome = t.session.patch({ format: 'v4a', text });
      if (refused === undefined) await ok(outcome);
      else await refusal(outcome, refused);
      const expected = refused === undefined ? after : { ...before, ...after };
      for (const [name, content] of Object.entries(expected))
        expect(existsSync(join(t.root, name)) ? t.text(name) : null, name).toBe(content);
    },
  );
});

/** Edits in the shapes of opencode's test cases: the text, what is sent, and the text afterwards or the refusal. */
const EDITS: readonly [
  what: string,
  before: string,
  oldString: string,
  newString: string,
  after: string | RefusalCode,
][] = [
  [
    'one line',
    'console.log("world");\n',
    'console.log("world");',
    'console.log("universe");',
    'console.log("universe");\n',
  ],
  [
    'several lines',
    'if (condition) {\n  doSomething();\n  doSomethingElse();\n}\n',
    'if (condition) {\n  doSomething();\n  doSomethingElse();\n}',
    'if (condition) {\n  doNewThing();\n}',
    'if (condition) {\n  doNewThing();\n}\n',
  ],
  [
    'lines that differ in their indentation',
    'function test() {\n    console.log("hello");\n}\n',
    'console.log("hello");\n',
    'console.log("goodbye");\n',
    'function test() {\n    console.log("goodbye");\n}\n',
  ],
  [
    'a block with another indentation',
    '    if (true) {\n        a();\n    }\n',
    'if (true) {\n    a();\n}',
    'if (true) {\n    b();\n}',
    '    if (true) {\n        b();\n    }\n',
  ],
  ['CRLF endings', 'a\r\nb\r\nc\r\n', 'a\nb', 'a\nB', 'a\r\nB\r\nc\r\n'],
  [
    'special characters of a replacement',
    'price = 1\n',
    'price = 1',
    'price = $& $1 $$',
    'price = $& $1 $$\n',
  ],
  ['special characters of a pattern', 'a.*b\naXXb\n', 'a.*b', 'c', 'c\naXXb\n'],
  ['a deletion', 'a\nb\nc\n', 'b\n', '', 'a\nc\n'],
  ['text that is not ASCII', 'grüße 🌍\n', '🌍', '🌎', 'grüße 🌎\n'],
  ['trailing spaces', 'a  \nb\n', 'a\nb', 'a\nB', 'a  \nB\n'],
  ['missing text', 'a\n', 'z', 'y', 'NO_MATCH'],
  ['text that occurs twice', 'a\nb\na\n', 'a', 'c', 'AMBIGUOUS_MATCH'],
  ['no change', 'a\n', 'a', 'a', 'INVALID_ARGUMENT'],
  ['an empty old text', 'a\n', '', 'b', 'INVALID_ARGUMENT'],
  ['a block whose middle differs', 'start\nx\ny\nend\n', 'start\np\nq\nend', 'none', 'NO_MATCH'],
  ['the first line after a byte order mark', '\ufeffone;\ntwo\n', 'one;', 'uno;', '\ufeffuno;\ntwo\n'],
  ['one line by two, without a final newline', 'a\nb\nc', 'b', 'B1\nB2', 'a\nB1\nB2\nc'],
  ['an anchor with CRLF in a file with LF', 'a\nb\nc\n', 'a\r\nb', 'a\r\nB', 'a\nB\nc\n'],
  ['a new line in a file with CRLF', 'a\r\nb\r\n', 'b', 'b\nc', 'a\r\nb\r\nc\r\n'],
  ['empty old and new text', 'a\n', '', '', 'INVALID_ARGUMENT'],
];

describe("edits in the shapes of opencode's cases", () => {
  it.each(EDITS)('%s', async (_what, before, oldString, newString, after) => {
    const t = await desk();
    await t.put('a.ts', before);
    await ok(t.session.read('a.ts'));
    const outcome = t.session.edit('a.ts', [{ oldString, newString }]);
    if (/^[A-Z_]+$/.test(after)) {
      // In this row, `after` is the code of the expected refusal, not a text.
      await refusal(outcome, after as RefusalCode);
      expect(t.text('a.ts')).toBe(before);
    } else {
      await ok(outcome);
      expect(t.text('a.ts')).toBe(after);
    }
  });

  it('replaces every occurrence', async () => {
    const t = await desk();
    await t.put('a.ts', 'foo bar\r\nfoo baz foo');
    await ok(t.session.read('a.ts'));
    await ok(t.session.edit('a.ts', [{ oldString: 'foo', newString: 'qux', replaceAll: true }]));
    expect(t.text('a.ts')).toBe('qux bar\r\nqux baz qux');
  });

  it('refuses a missing file and a folder', async () => {
    const t = await desk();
    mkdirSync(join(t.root, 'folder'));
    const edits = [{ oldString: 'a', newString: 'b' }];
    await refusal(t.session.edit('missing.ts', edits), 'NOT_FOUND');
    await refusal(t.session.edit('folder', edits), 'NOT_A_FILE');
  });
});
