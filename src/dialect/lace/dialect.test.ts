import { describe, expect, it } from 'vitest';
import { RENDER_CONTEXT as W } from '../../../test/support/render-context.ts';
import type { ListedEntry, ReadResult } from '../../model/results.ts';
import { wildcardMatcher } from '../../text/glob/segment.ts';
import { styledText } from '../render.ts';
import { LACE, READ_STYLE } from './dialect.ts';
import { laceFindText, laceSearchText, sizeText, treeText } from './texts.ts';

function call(name: string, args: Record<string, unknown>) {
  const tool = LACE.tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool.call(args);
}

describe('file_read', () => {
  it.each([
    [{}, { limit: 65_536, maxBytes: 65_536 }],
    [{ startLine: 5 }, { offset: 5, limit: 2000 }],
    [{ endLine: 3 }, { offset: 1, limit: 3 }],
    [
      { startLine: 5, endLine: 5 },
      { offset: 5, limit: 1 },
    ],
    [
      { startLine: 1, endLine: 9999 },
      { offset: 1, limit: 2000 },
    ],
  ])('of %j reads %j', (args, operation) => {
    expect(call('file_read', { path: 'a', ...args })).toMatchObject({
      operation: { path: 'a', ...operation },
    });
  });

  it('refuses a range that ends before it begins', () => {
    expect(call('file_read', { path: 'a', startLine: 5, endLine: 4 })).toEqual({
      kind: 'problem',
      reason: 'endLine must be >= startLine',
    });
  });

  it('right-aligns the numbers, and says if the file has more lines', () => {
    const result: ReadResult = {
      path: 'a',
      text: 'nine\nten',
      from: 9,
      to: 10,
      totalLines: 10,
      sizeBytes: 1,
      complete: false,
      encoding: 'utf-8',
      clamped: [],
    };
    expect(styledText(result, READ_STYLE, W)).toBe(
      ' 9\tnine\n10\tten\n\n[lines 9-10 of 10; use startLine and endLine for others]',
    );
    expect(styledText({ ...result, from: 1, to: 2, totalLines: 2 }, READ_STYLE, W)).toBe('1\tnine\n2\tten');
  });
});

describe('file_edit', () => {
  it('replaces one occurrence, or exactly the given number', () => {
    const edits = [
      { old_text: 'a', new_text: 'b' },
      { old_text: 'c', new_text: 'd', occurrences: 1 },
      { old_text: 'e', new_text: '', occurrences: 3 },
    ];
    expect(call('file_edit', { path: 'f', edits })).toMatchObject({
      kind: 'edit',
      operation: {
        path: 'f',
        edits: [
          { oldString: 'a', newString: 'b' },
          { oldString: 'c', newString: 'd' },
          { oldString: 'e', newString: '', replaceAll: true, occurrences: 3 },
        ],
      },
    });
    expect(call('file_edit', { path: 'f', edits, dry_run: true })).toMatchObject({
      kind: 'apply',
      operation: { dryRun: true, changes: [{ kind: 'edit', path: 'f' }] },
    });
  });
});

describe('ripgrep_search', () => {
  it.each([
    [{ pattern: 'a.b(c)' }, { pattern: 'a.b(c)', literal: true, wholeWord: false }],
    [
      { pattern: 'a.b', literal: false },
      { pattern: 'a.b', literal: false, wholeWord: false },
    ],
    [
      { pattern: '$a', wholeWord: true },
      { pattern: '$a', literal: true, wholeWord: true },
    ],
  ])('of %j looks for %j', (args, operation) => {
    expect(call('ripgrep_search', args)).toMatchObject({
      operation: { ...operation, ignoreCase: true, limit: 50 },
    });
  });

  it('groups the matches by file', () => {
    const hits = [
      { path: 'a', line: 9, text: 'x' },
      { path: 'a', line: 10, text: 'xx' },
      { path: 'b', line: 1, text: 'x' },
    ];
    expect(laceSearchText('x', { mode: 'lines', hits, truncated: false, matches: 3 })).toBe(
      'Found 3 matches:\n\na:\n 9\tx\n10\txx\n\nb:\n1\tx\n',
    );
    expect(laceSearchText('x', { mode: 'lines', hits: [], truncated: true, matches: 0 })).toBe(
      'No matches found for pattern: x in the part that was searched',
    );
    expect(laceSearchText('x', { mode: 'lines', hits: [], truncated: false, matches: 0 })).toBe(
      'No matches found for pattern: x',
    );
  });

  it('says if files could not be searched, which more results would not change', () => {
    const hits = [{ path: 'a', line: 9, text: 'x' }];
    const part = { mode: 'lines', hits, truncated: true, matches: 1 } as const;
    expect(laceSearchText('x', part)).toContain('Use maxResults parameter');
    expect(laceSearchText('x', { ...part, unreadable: true })).toBe(
      'Found 1 match:\n\nSome files or folders could not be searched.\n\na:\n9\tx\n',
    );
  });
});

describe('file_find', () => {
  const entries: ListedEntry[] = [
    { path: 'old.ts', kind: 'file', sizeBytes: 1, mtimeMs: 1 },
    { path: 'src', kind: 'directory' },
    { path: 'src/New.TS', kind: 'file', sizeBytes: 2048, mtimeMs: 2 },
    { path: '.hidden/x.ts', kind: 'file', sizeBytes: 5, mtimeMs: 3 },
    { path: 'a.md', kind: 'file', sizeBytes: 5, mtimeMs: 4 },
  ];
  const result = { path: 'd', entries, cut: 0, complete: true, more: false };
  const query = { pattern: '*.ts', path: 'd/', includeHidden: false, maxResults: 50 };

  it('matches names, newest first, without hidden ones', () => {
    expect(laceFindText(query, result, W)).toBe(
      'd/src/New.TS (2 KB) - 16 minutes ago\nd/old.ts (1 byte) - 16 minutes ago',
    );
  });

  it('finds hidden names and folders on request, and says if the result was cut', () => {
    expect(laceFindText({ ...query, includeHidden: true }, result, W)).toMatch(/^d\/\.hidden\/x\.ts/);
    expect(laceFindText({ ...query, path: '.', pattern: 's?c' }, result, W)).toBe('src/');
    expect(laceFindText({ ...query, maxResults: 1 }, result, W)).toMatch(/\nResults limited to 1\./);
    expect(laceFindText({ ...query, pattern: '*.go' }, result, W)).toBe(
      'No files found matching pattern: *.go',
    );
  });

  it.each([7, undefined])('says if not everything was searched (%s entries left out)', (cut) => {
    const part = { ...result, cut };
    expect(laceFindText(query, part, W)).toMatch(/\n\nSome folders could not be searched\./);
    expect(laceFindText({ ...query, pattern: '*.go' }, part, W)).toBe(
      'No files found matching pattern: *.go in the part that was searched',
    );
  });

  it('says if not everything was searched, also if there are more results than it shows', () => {
    expect(laceFindText({ ...query, maxResults: 1 }, { ...result, cut: undefined }, W)).toMatch(
      /\n\nResults limited to 1\. .*\n\nSome folders could not be searched\./,
    );
  });

  it.each([
    ['a+b.c', 'a+b.c', true],
    ['a+b.c', 'aab_c', false],
    ['[x]', 'x', false],
    ['*', 'new\nline', true],
    ['*.T?T', 'a.b.txt', true],
    ['*ab*c', 'aabxabc', true],
    ['*ab?', 'abab', false],
    ['a**', 'a', true],
    ['?', '😀', true],
    ['*a*a*a*a*a*a*a*a*a*b', 'a'.repeat(255), false],
    ['x'.repeat(70_000), 'x', false],
  ])('matches every character except * and ? literally: %s against %j', (pattern, name, found) => {
    expect(wildcardMatcher(pattern)(name)).toBe(found);
  });
});

describe('file_list', () => {
  const entries: ListedEntry[] = [
    { path: '.env', kind: 'file', sizeBytes: 1 },
    { path: 'b.txt', kind: 'file', sizeBytes: 3 },
    { path: 'node_modules', kind: 'directory' },
    { path: 'node_modules/x', kind: 'directory' },
    { path: 'node_modules/x/y.js', kind: 'file', sizeBytes: 1 },
    { path: 'src', kind: 'directory' },
    { path: 'src/a.ts', kind: 'file', sizeBytes: 2 },
    { path: 'src/deep', kind: 'directory' },
    { path: 'src/deep/c.ts', kind: 'file', sizeBytes: 4 },
  ];
  const options = {
    name: 'root',
    includeHidden: false,
    depth: 3,
    summaryThreshold: 50,
    maxResults: 50,
    isCut: false,
  };

  it('draws a tree, folders first, and only counts generated folders', () => {
    expect(treeText(entries, options)).toBe(
      [
        'root/',
        '├ node_modules/ (1 files; 1 dirs)',
        '├ src/',
        '│ ├ deep/',
        '│ │ └ c.ts (4 bytes)',
        '│ └ a.ts (2 bytes)',
        '└ b.txt (3 bytes)',
      ].join('\n'),
    );
  });

  it('shows a folder if anything below it matches', () => {
    expect(treeText(entries, { ...options, pattern: 'C.TS' })).toBe(
      ['root/', '└ src/', '  └ deep/', '    └ c.ts (4 bytes)'].join('\n'),
    );
  });

  it('stops at the given depth and number, and says so', () => {
    expect(treeText(entries, { ...options, depth: 1 })).toBe(
      'root/\n├ node_modules/\n├ src/\n└ b.txt (3 bytes)',
    );
    expect(treeText(entries, { ...options, maxResults: 2 })).toMatch(/\n\nResults limited to 2\./);
    expect(treeText(entries, { ...options, summaryThreshold: 1 })).toContain('src/ (2 files; 1 dirs)');
    expect(treeText([], options)).toBe('No files found');
  });

  it.each<[string, ListedEntry[]]>([
    ['some entries', entries],
    ['nothing', []],
  ])('that shows %s says if the listing is not complete', (_what, listed) => {
    const asked = call('file_list', { path: 'root' });
    if (asked.kind !== 'list') throw new Error(asked.kind);
    const result = { path: 'root', entries: listed, cut: undefined, complete: false, more: false };
    expect(asked.render(result, W)).toMatch(/\n\nSome entries could not be listed\./);
    expect(asked.render({ ...result, cut: 0 }, W)).not.toContain('could not be listed');
  });
});

it.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1536, '1.5 KB'],
  [5 << 20, '5 MB'],
])('%i bytes are written %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
