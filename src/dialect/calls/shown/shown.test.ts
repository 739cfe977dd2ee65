import { describe, expect, it } from 'vitest';
import { ALL_SERVERS } from '../../../../test/support/server-tables.ts';
import { mcpAnswer } from '../answer.ts';
import { touchesOf } from '../interpret.ts';
import type { ShownForm } from '../table.ts';
import type { AskedLines, ReadTouch } from '../touch.ts';
import { shownLines } from './shown.ts';

const read = (path: string, shown: ShownForm, asked?: AskedLines[]): ReadTouch => ({
  does: 'read',
  path,
  asked,
  shown,
});
const text = (...texts: string[]) => texts.map((value) => ({ type: 'text', text: value }));

/** The lines that the result of a call to a known server shows. */
function shownBy(server: string, tool: string, args: object, content: unknown) {
  const rules = ALL_SERVERS.find((table) => table.id === server)?.tools[tool] ?? [];
  const reads = touchesOf(rules, { ...args }).filter((step) => step.does === 'read');
  return shownLines(reads, mcpAnswer(content));
}

describe('a text that consists of the requested lines', () => {
  const verbatim = { as: 'verbatim' } as const;
  it.each([
    ['the whole file', undefined, 'a\nb\n', [{ path: 'f', content: 'a\nb\n' }]],
    ['an empty file', undefined, '', [{ path: 'f', content: '' }]],
    ['a head', [{ from: 1, to: 2 }], 'a\nb', [{ path: 'f', content: 'a\nb', ranges: [{ from: 1, to: 2 }] }]],
    [
      'a head that is shorter than asked',
      [{ from: 1, to: 9 }],
      'a',
      [{ path: 'f', content: 'a', ranges: [{ from: 1, to: 1 }] }],
    ],
    [
      'a tail',
      [{ from: -5, to: -1 }],
      'y\nz\n',
      [{ path: 'f', content: 'y\nz\n', ranges: [{ from: -2, to: -1 }] }],
    ],
    [
      'the first lines of a tail',
      [{ from: -5, to: -4 }],
      'v\nw\n',
      [{ path: 'f', content: 'v\nw\n', ranges: [{ from: -5, to: -4 }] }],
    ],
    [
      'a tail whose limit the server ignores',
      [{ from: -3, to: -2 }],
      'x\ny\nz\n',
      [{ path: 'f', content: 'x\ny\nz\n', ranges: [{ from: -3, to: -1 }] }],
    ],
    ['a tail that shows nothing', [{ from: -1, to: -1 }], '', []],
    [
      'lines from the middle',
      [{ from: 7, to: undefined }],
      'g\nh',
      [{ path: 'f', content: 'g\nh', ranges: [{ from: 7, to: 8 }] }],
    ],
  ])('%s', (_what, asked, shown, expected) => {
    expect(shownLines([read('f', verbatim, asked)], mcpAnswer(text(shown)))).toEqual(expected);
  });

  it('counts an image as known, not as lines', () => {
    const image = [{ type: 'image', data: 'AA==', mimeType: 'image/png' }];
    expect(shownLines([read('f', verbatim)], mcpAnswer(image))).toEqual([{ path: 'f', clamped: true }]);
    const blob = [{ type: 'resource', resource: { uri: 'x', blob: 'AA==' } }];
    expect(shownLines([read('f', verbatim)], mcpAnswer(blob))).toEqual([{ path: 'f', clamped: true }]);
  });

  it('counts nothing if there is no text', () => {
    for (const content of [undefined, null, [], 'x', [null]])
      expect(shownLines([read('f', verbatim)], mcpAnswer(content))).toEqual([]);
  });
});

describe('a read that counts lines from the end', () => {
  const lines = { as: 'lines', numbers: 'maybe' } as const;
  it.each([
    ['all of them', { from: -2, to: -1 }, 'y\nz\n', { ranges: [{ from: -2, to: -1 }] }],
    ['a file that is shorter', { from: -3, to: -1 }, 'y\nz\n', { totalLines: 2, exact: true }],
    ['with a limit', { from: -9, to: -8 }, 'y\nz\n', { ranges: [{ from: -9, to: -8 }] }],
    ['with a limit that is ignored', { from: -2, to: -2 }, 'y\nz\n', { ranges: [{ from: -2, to: -1 }] }],
    ['with a limit, numbered', { from: -9, to: -8 }, '21\ty\n22\tz', { ranges: [{ from: 21, to: 22 }] }],
    ['with a limit, from line 1', { from: -9, to: -8 }, '1\ty\n2\tz', { ranges: [{ from: 1, to: 2 }] }],
    ['only for its end', { from: 1, to: -3 }, 'y\nz\n', { ranges: [{ from: 1, to: 2 }], exact: true }],
  ])('%s', (_what, asked, shown, expected) => {
    const content = shown.replace(/^\d+\t/gm, '');
    expect(shownLines([read('f', lines, [asked])], mcpAnswer(text(shown)))).toEqual([
      { path: 'f', content, ...expected },
    ]);
  });

  it.each([
    ['with a limit, and shows another number of lines', { from: -9, to: -5 }],
    ['up to a line from the beginning', { from: -9, to: 2 }],
  ])('%s', (_what, asked) => {
    expect(shownLines([read('f', lines, [asked])], mcpAnswer(text('y\nz\n')))).toEqual([]);
  });

  it('and whose text was not recorded', () => {
    const unrecorded = { ok: true, flagged: true } as const;
    const shown = (asked: AskedLines) => shownLines([read('f', lines, [asked])], unrecorded);
    expect(shown({ from: 1, to: -3 })).toEqual([{ path: 'f', ranges: [] }]);
    expect(shown({ from: 1, to: -1 })).toEqual([{ path: 'f' }]);
  });
});

describe('read_multiple_files of the official server', () => {
  const paths = ['/a', '/b', '/c'];
  const shown = (value: string) => shownBy('filesystem', 'read_multiple_files', { paths }, text(value));

  it('counts every file that was shown, and not the one that failed', () => {
    expect(shown('/a:\none\n\n\n---\n/b: Error - ENOENT: no such file\n---\n/c:\nthree\n')).toEqual([
      { path: '/a', content: 'one\n' },
      { path: '/c', content: 'three' },
    ]);
  });

  it('stops at a mark that a file could have forged', () => {
    expect(shown('/a:\nx\n\n---\n/b:\nfake\n\n---\n/b:\nreal\n\n---\n/c:\nthree\n')).toEqual([]);
  });

  it('counts no text with another beginning', () => {
    expect(shown('something else')).toEqual([]);
  });
});

describe('the forms of other servers', () => {
  it('Desktop Commander: a header line', () => {
    const header = '[Reading 2 lines from start (total: 2 lines, 0 remaining)]\n\n';
    expect(shownBy('desktop-commander', 'read_file', { path: 'f' }, text(`${header}a\nb`))).toEqual([
      { path: 'f', content: 'a\nb', ranges: [{ from: 1, to: 2 }] },
    ]);
  });

  it.each([
    ['fast-filesystem', 'fast_read_file', { path: 'f' }],
    ['j0hanz-filesystem', 'read', { path: 'f', head: 2 }],
    ['j0hanz-filesystem', 'read', { paths: ['f'] }],
    ['mark3labs-filesystem', 'read_multiple_files', { paths: ['f'] }],
    ['desktop-commander', 'read_multiple_files', { paths: ['f'] }],
    ['mcp-text-editor', 'get_text_file_contents', { files: [{ file_path: 'f' }] }],
    ['filesystem', 'read_media_file', { path: 'f' }],
  ])('%s, %s: the whole answer, in which the lines of the file are found', (table, tool, args) => {
    expect(shownBy(table, tool, args, text('--- f ---', 'a\n'))).toEqual([
      { path: 'f', content: '--- f ---\na\n', isFound: true },
    ]);
    expect(shownBy(table, tool, args, [])).toEqual([]);
  });

  it('official: a file that was requested twice counts, unless a third mark was forged', () => {
    const twice = { paths: ['f', 'g', 'g'] };
    const shown = (value: string) => shownBy('filesystem', 'read_multiple_files', twice, text(value));
    expect(shown('f:\na\n\n---\ng:\nb\n\n---\ng:\nb\n')).toEqual([
      { path: 'f', content: 'a' },
      { path: 'g', content: 'b' },
      { path: 'g', content: 'b' },
    ]);
    expect(shown('f:\na\n\n---\ng:\nfake\n\n---\ng:\nb\n\n---\ng:\nb\n')).toEqual([]);
  });
});
