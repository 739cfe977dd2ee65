import { describe, expect, it } from 'vitest';
import { RENDER_CONTEXT as W } from '../../../test/support/render-context.ts';
import type { ChangeResult, FileStatus, ReadResult, SearchResult } from '../../model/results.ts';
import { styledText } from '../render.ts';
import { applyText, editText, insertText, undoText, writeText } from './change-text.ts';
import { findAnswer, listAnswer, searchAnswer, statusText } from './looking-text.ts';
import { RECEIPT_STYLE } from './read-text.ts';

const READ: ReadResult = {
  path: 'a.txt',
  text: 'one\ntwo',
  from: 1,
  to: 2,
  totalLines: 2,
  sizeBytes: 8,
  complete: true,
  revision: 'r1',
  encoding: 'utf-8',
  clamped: [],
};

describe('a read', () => {
  it.each([
    ['the whole file, with its revision', {}, '1\tone\n2\ttwo\n[read a.txt lines 1-2 of 2 revision r1]'],
    [
      'a part, without one',
      { from: 9, to: 10, totalLines: 20, complete: false, revision: undefined },
      '9\tone\n10\ttwo\n[read a.txt lines 9-10 of 20]',
    ],
    [
      'a page of a huge file, whose lines nobody counted',
      { totalLines: undefined, sizeBytes: 99, revision: undefined },
      '1\tone\n2\ttwo\n[read a.txt lines 1-2 of a 99 B file]',
    ],
    [
      'an empty file',
      { text: '', from: 0, to: 0, totalLines: 0, sizeBytes: 0 },
      '(the file is empty)\n[read a.txt lines 0-0 of 0 revision r1]',
    ],
    [
      'one empty line',
      { text: '', from: 1, to: 1, totalLines: 1 },
      '1\t\n[read a.txt lines 1-1 of 1 revision r1]',
    ],
    [
      'lines that were cut, and says so',
      { clamped: [2], revision: undefined },
      '1\tone\n2\ttwo\n(line 2: only the beginning is shown, and reading again will not show more)\n[read a.txt lines 1-2 of 2]',
    ],
    [
      'another encoding, and names it',
      { encoding: 'utf-16le' },
      '1\tone\n2\ttwo\n(the file is utf-16le; changes keep that encoding)\n[read a.txt lines 1-2 of 2 revision r1]',
    ],
  ])('shows %s', (_what, more, text) => {
    const { revision, ...rest } = { ...READ, ...more };
    const result: ReadResult = { ...rest, ...(revision === undefined ? {} : { revision }) };
    expect(styledText(result, RECEIPT_STYLE, W)).toBe(text);
  });

  it('shows an image, and describes other files that are not text', () => {
    const media = { ...READ, sizeBytes: 7, media: { mimeType: 'image/png', base64: 'AAA=' } };
    expect(RECEIPT_STYLE.other(media, W)).toEqual([
      { type: 'text', text: expect.stringContaining('[read a.txt as image/png, 7 bytes]') },
      { type: 'image', data: 'AAA=', mimeType: 'image/png' },
    ]);
    const pdf = { ...media, media: { mimeType: 'application/pdf', base64: 'AAA=' } };
    expect(RECEIPT_STYLE.other(pdf, W)).toMatch(/^a\.txt is not text: application\/pdf, 7 B\./);
  });
});

const CHANGE: ChangeResult = {
  path: 'a.txt',
  change: 'c1',
  changed: true,
  created: false,
  sizeBytes: 6,
  revision: 'r2',
  notices: [],
};

describe('a change', () => {
  it.each([
    [writeText, {}, 'wrote 6 bytes to a.txt (overwritten)\n[revision r2 change c1]'],
    [writeText, { created: true }, 'wrote 6 bytes to a.txt (created)\n[revision r2 change c1]'],
    [
      writeText,
      { changed: false, change: undefined },
      'wrote 6 bytes to a.txt (unchanged: these bytes were there already)\n[revision r2]',
    ],
    [editText, { replaced: 3 }, 'replaced 3 occurrence(s) in a.txt\n[revision r2 change c1]'],
    [
      editText,
      { replaced: 1, revision: undefined, notices: [{ kind: 'owner-changed' }] },
      'replaced 1 occurrence(s) in a.txt\n[change c1]\nThe file now belongs to the user that runs Lookfirst.',
    ],
    [insertText, { inserted: { from: 2, to: 4 } }, 'inserted lines 2-4 into a.txt\n[revision r2 change c1]'],
    [insertText, { revision: undefined, change: undefined }, 'inserted nothing into a.txt'],
  ] as const)('%o renders %j', (render, more, text) => {
    const { revision, change, ...rest } = { ...CHANGE, ...more };
    const result: ChangeResult = {
      ...rest,
      ...(revision === undefined ? {} : { revision }),
      ...(change === undefined ? {} : { change }),
    };
    expect(render(result, W)).toBe(text);
  });

  it('of many files names each, in the requested order', () => {
    const changes = [
      { kind: 'write', path: 'n.txt', content: '' },
      { kind: 'edit', path: 'a.txt', edits: [] },
      { kind: 'delete', path: 'b.txt' },
      { kind: 'move', source: 'c.txt', destination: 'd.txt' },
      { kind: 'write', path: 'same.txt', content: '' },
    ] as const;
    const results = [
      { ...CHANGE, path: 'n.txt', created: true },
      { ...CHANGE, replaced: 2 },
      { ...CHANGE, path: 'b.txt' },
      { ...CHANGE, path: 'd.txt' },
      { ...CHANGE, path: 'same.txt', changed: false },
    ];
    expect(applyText(changes, { change: 'c9', dryRun: false, results }, W)).toBe(
      [
        'changed 5 files:',
        '- created n.txt, revision r2',
        '- replaced 2 occurrence(s) in a.txt, revision r2',
        '- deleted b.txt',
        '- moved c.txt to d.txt',
        '- unchanged same.txt, revision r2',
        '[change c9]',
      ].join('\n'),
    );
  });

  it('in a dry run shows what it would do', () => {
    const changes = [
      { kind: 'write', path: 'a.txt', content: '' },
      { kind: 'write', path: 'n.txt', content: '' },
      { kind: 'edit', path: 'e.txt', edits: [], moveTo: 'f.txt' },
      { kind: 'delete', path: 'b.txt' },
      { kind: 'move', source: 'c.txt', destination: 'd.txt' },
      { kind: 'write', path: 'same.txt', content: '' },
    ] as const;
    const { revision: _, change: __, ...would } = CHANGE;
    const results = [
      { ...would, diff: '-a\n+b' },
      { ...would, path: 'n.txt', created: true },
      { ...would, path: 'f.txt', replaced: 2 },
      { ...would, path: 'b.txt' },
      { ...would, path: 'd.txt' },
      { ...would, path: 'same.txt', changed: false },
    ];
    expect(applyText(changes, { dryRun: true, results }, W)).toBe(
      [
        'dry run, nothing was changed; this would change 6 files:',
        '- would change a.txt\n-a\n+b',
        '- would create n.txt',
        '- would replace 2 occurrence(s) in f.txt, moved from e.txt',
        '- would delete b.txt',
        '- would move c.txt to d.txt',
        '- would not change same.txt',
      ].join('\n'),
    );
  });

  it('of many files names the first 50 and counts the others', () => {
    const files = Array.from({ length: 52 }, (_, n) => ({ path: `f${n}`, did: 'recreated' as const }));
    const text = undoText({ change: 'c2', undid: ['c1'], files });
    expect(text.split('\n')).toHaveLength(53);
    expect(text).toContain('- brought back f49\n- and 2 more files\n[change c2');
  });

  it('that was undone says what happened to each file', () => {
    const files = [
      { path: 'a', did: 'restored' },
      { path: 'b', did: 'removed' },
      { path: 'c', did: 'recreated' },
      { path: 'd', did: 'kept' },
    ] as const;
    expect(undoText({ change: 'c2', undid: ['c1'], files })).toBe(
      'undid change c1:\n- restored a\n- removed b\n- brought back c\n- kept d, because it is not empty\n[change c2, which can be undone too]',
    );
  });
});

describe('a listing', () => {
  const entries = [
    { path: 'src', kind: 'directory' },
    { path: 'a.txt', kind: 'file', sizeBytes: 12 },
    { path: 'l', kind: 'link', target: 'a.txt' },
    { path: 'p', kind: 'fifo' },
  ] as const;

  it.each([
    ['all of it', { cut: 0, complete: true, more: false }, '[listed .: 4 entries]'],
    [
      'how much is cut',
      { cut: 7, complete: false, more: true },
      '[listed .: 4 entries, and 7 more that are not shown: list a folder below, or find files by name]\nNext: list_directory {"path":".","after":"p"} shows the next entries.',
    ],
    [
      'that some is unknown',
      { cut: undefined, complete: false, more: true },
      '[listed .: 4 entries, and some folders could not be listed]',
    ],
  ])('shows kinds and sizes, and says %s', (_what, more, last) => {
    expect(listAnswer({ path: '.', entries, ...more }, W)).toBe(
      ['directory src/', 'file a.txt (12 B)', 'link l -> a.txt', 'fifo p', last].join('\n'),
    );
  });
});

describe('a search', () => {
  const hits = [
    { path: 'a', line: 3, text: 'before', context: true },
    { path: 'a', line: 4, text: 'match' },
    { path: 'b', line: 1, text: 'match' },
  ];
  it.each<[SearchResult['mode'], Partial<SearchResult>, string]>([
    ['lines', {}, 'a-3-before\na:4:match\nb:1:match\n[2 matches in 2 files]'],
    [
      'lines',
      { truncated: true },
      'a-3-before\na:4:match\nb:1:match\n[2 matches in 2 files; there are more: narrow the pattern, or name a folder or glob]',
    ],
    ['files', { hits: hits.slice(1) }, 'a\nb\n[2 files]'],
    ['count', { hits: [{ path: 'a', line: 0, text: '', count: 2 }] }, 'a:2\n[2 matches in 1 file]'],
    ['lines', { hits: [], matches: 0 }, '[nothing matches x+]'],
  ])('in mode %s', (mode, more, text) => {
    expect(searchAnswer('x+', { mode, hits, truncated: false, matches: 2, ...more })).toBe(text);
  });

  it('for names shows paths and whether there are more', () => {
    expect(findAnswer('*.ts', { paths: ['b.ts', 'a.ts'], truncated: false })).toBe('b.ts\na.ts\n[2 files]');
    expect(findAnswer('*.ts', { paths: ['b.ts'], truncated: true })).toMatch(/\[1 file; there are more/);
    const part = { truncated: true, unreadable: true } as const;
    const said = '[1 file; some files or folders could not be read, or their names are not UTF-8]';
    expect(findAnswer('*.ts', { paths: ['b.ts'], ...part })).toContain(said);
    expect(findAnswer('*.ts', { paths: [], truncated: false })).toBe('[no file matches *.ts]');
  });
});

describe('a status', () => {
  it.each<[Partial<FileStatus>, RegExp]>([
    [{ freshness: 'unseen', seen: 'nothing' }, /^a: has not been read by this session$/],
    [
      { freshness: 'fresh', seen: 'whole', revision: 'r1' },
      /^a: fresh: seen whole 16m ago, unchanged since; revision r1$/,
    ],
    [
      { freshness: 'fresh', seen: 'some', ranges: [{ from: 1, to: 9 }], totalLines: 20 },
      /^a: fresh: seen lines 1-9 of 20 16m ago, unchanged since$/,
    ],
    [
      { freshness: 'fresh', seen: 'some', but: 'cut', ranges: [{ from: 1, to: 2 }], totalLines: 2 },
      /^a: fresh: seen lines 1-2 of 2 16m ago, very long lines only in part, unchanged since$/,
    ],
    [
      { freshness: 'fresh', seen: 'some', but: 'described' },
      /^a: fresh: described, not shown 16m ago, unchanged/,
    ],
    [{ freshness: 'stale', seen: 'whole' }, /^a: stale: seen whole 16m ago, changed since; read it again$/],
    [{ freshness: 'deleted', seen: 'whole' }, /^a: deleted since it was read/],
    [{ freshness: 'missing', seen: 'nothing' }, /nothing at that path/],
    [{ freshness: 'unverifiable', seen: 'whole' }, /could not be checked$/],
    [
      { freshness: 'fresh', seen: 'whole', lastChange: { change: 'c1', session: 's', atMs: 4 } },
      /; last change c1 by session s 16m ago$/,
    ],
  ])('of %j', (file, text) => {
    const status: FileStatus = { path: 'a', freshness: 'unseen', seen: 'nothing', seenAtMs: 5, ...file };
    expect(statusText({ files: [status] }, W)).toMatch(text);
  });

  it('of nothing says so', () => {
    expect(statusText({ files: [] }, W)).toMatch(/has not read any file/);
  });
});
