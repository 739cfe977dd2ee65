import { describe, expect, it } from 'vitest';
import type { World } from '../gate/world.ts';
import { LIMITS } from '../model/limits.ts';
import type { ReadOptions } from '../model/session.ts';
// Registers the loader of the packages for older encodings.
import '../disk/read.ts';
import { fileText, fittingLines, pageOf, readOutput } from './reading.ts';

describe('pageOf', () => {
  it.each<[string, Buffer, [number, number] | 'all', string, Buffer]>([
    ['UTF-8', Buffer.from('a\nb\nc\n'), [2, 2], 'b', Buffer.from('b\n')],
    ['a byte order mark', Buffer.from('\ufeffa\r\nb\r\n'), [1, 1], 'a', Buffer.from('\ufeffa\r\n')],
    ['all lines', Buffer.from('\ufeffa\nb'), 'all', 'a\nb', Buffer.from('\ufeffa\nb')],
    ['UTF-16', Buffer.from('\ufeffa\nbä\n', 'utf16le'), [2, 2], 'bä', Buffer.from('bä\n', 'utf16le')],
    ['windows-1252', Buffer.from('a\nÜber\n', 'latin1'), [2, 2], 'Über', Buffer.from('Über\n', 'latin1')],
  ])('shows a line of %s, and its bytes in a raw page', (_what, bytes, lines, text, raw) => {
    const range = lines === 'all' ? lines : { from: lines[0], to: lines[1] };
    const file = fileText(bytes)!;
    expect(pageOf(file, range, 'shown').text()).toBe(text);
    expect(pageOf(file, range, 'shown').clamped).toEqual([]);
    expect(Buffer.from(pageOf(file, range, 'raw').bytes!)).toEqual(raw);
  });

  it('cuts long lines and names them', () => {
    const file = fileText(Buffer.from(`a\n${'x'.repeat(LIMITS.maxLineChars + 1)}\n`))!;
    expect(pageOf(file, { from: 1, to: 2 }, 'shown')).toMatchObject({ clamped: [2] });
    expect(pageOf(file, { from: 1, to: 2 }, 'shown').bytes).toBeUndefined();
  });
});

describe('fittingLines', () => {
  const body = Buffer.from('aa\r\nbb\ncc\n');

  it.each([
    [100, 3],
    [9, 3],
    [8, 2],
    [1, 1],
  ])('of %i bytes end with line %i', (room, to) => {
    expect(fittingLines(body, { from: 1, to: 3 }, room)).toEqual({ from: 1, to });
  });
});

describe('readOutput', () => {
  const kept = Buffer.from('one\ntoken ghp_abcdefghijklmnopqrstuvwxyz0123456789\nthree\n');
  const world = {
    policy: { secrets: 'show' },
    processes: { output: (id: string) => (id === 'x' ? kept : undefined) },
  } as unknown as World;
  const read = (options: ReadOptions, path = 'lookfirst-output:x') =>
    readOutput(world, 's', { path, options, maxAnswerBytes: 100_000 });

  it.each<[ReadOptions, object]>([
    [{}, { from: 1, to: 3, totalLines: 3, complete: false }],
    [
      { offset: 3, limit: 9 },
      { text: 'three', from: 3, to: 3 },
    ],
    [{ last: 1 }, { text: 'three', from: 3, to: 3 }],
  ])('shows the page %j', async (options, page) => {
    expect(await read(options)).toMatchObject({ ok: true, ...page });
  });

  it.each<ReadOptions>([{ limit: 0 }, { offset: 0 }, { offset: 4 }, { last: -1 }])(
    'refuses %j',
    async (options) => {
      expect(await read(options)).toMatchObject({ ok: false, refusal: { code: 'INVALID_ARGUMENT' } });
    },
  );

  it('shows at least one line, and no more than an answer holds', async () => {
    const asked = { path: 'lookfirst-output:x', options: {}, maxAnswerBytes: 1 };
    expect(await readOutput(world, 's', asked)).toMatchObject({ text: 'one', from: 1, to: 1 });
  });

  it('finds nothing under another name', async () => {
    expect(await read({}, 'lookfirst-output:y')).toMatchObject({ ok: false, refusal: { code: 'NOT_FOUND' } });
  });
});
