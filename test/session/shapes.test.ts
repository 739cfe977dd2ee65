import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LIMITS } from '../../src/model/limits.ts';
import type { ReadResult } from '../../src/model/results.ts';
import type { ReadOptions } from '../../src/model/session.ts';
import { openSession } from '../../src/session/sessions.ts';
import { setLimits } from '../support/limits.ts';
import { scratch } from '../support/tree.ts';

async function open(limits: Partial<Record<keyof typeof LIMITS, number>> = {}) {
  setLimits(limits);
  const { root, home } = scratch();
  const session = await openSession({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => session.close());
  const read = async (content: string | Uint8Array, options?: ReadOptions): Promise<ReadResult> => {
    writeFileSync(join(root, 'f'), content);
    const outcome = await session.read('f', options);
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
    return outcome;
  };
  return { root, session, read };
}

const bytesOf = ({ bytes }: ReadResult): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
const LATIN = Buffer.from(
  'caf\xe9 cr\xe8me br\xfbl\xe9e, d\xe9j\xe0 vu \xe0 l\x27\xe9t\xe9\nfin\n',
  'latin1',
);

describe.each([
  ['small', 1 << 20],
  ['huge', 4],
])('the lines of a %s file', (_size, hugeBytes) => {
  it.each<[string, ReadOptions, string, Partial<ReadResult>]>([
    ['all of it', {}, 'a\r\nb\nc', { from: 1, to: 3 }],
    ['a range', { offset: 2, limit: 1 }, 'b\n', { from: 2, to: 2 }],
    ['the last', { last: 1 }, 'c', { from: 3, to: 3, totalLines: 3 }],
    ['the last two', { last: 2 }, 'b\nc', { from: 2, to: 3 }],
    ['more than there are', { last: 9 }, 'a\r\nb\nc', { from: 1, to: 3 }],
  ])('are returned raw: %s', async (_what, options, bytes, result) => {
    const { read } = await open({ hugeBytes });
    const shown = await read('a\r\nb\nc', { raw: true, ...options });
    expect(shown).toMatchObject(result);
    expect(bytesOf(shown)).toBe(bytes);
    expect(shown.text).toBe(bytes);
  });

  it('are cut one by one, and keep their numbers', async () => {
    const { read } = await open({ hugeBytes, maxLineChars: 5 });
    const shown = await read(`${'x'.repeat(50)}\nshort\n${'ü😀'.repeat(20)}\r\nb\n${'y'.repeat(6)}`);
    expect(shown.clamped).toEqual([1, 3, 5]);
    expect(shown.text.split('\n')).toEqual([
      'xxxxx… [+45 characters]',
      'short',
      expect.stringMatching(/^ü😀ü… \[\+5[67] characters\]$/),
      'b',
      'yyyyy… [+1 characters]',
    ]);
  });

  it('are never cut when raw, and then license an overwrite', async () => {
    const { session, read } = await open({ hugeBytes, maxLineChars: 5 });
    const long = `${'x'.repeat(50)}\nshort\n`;
    expect((await read(long)).clamped).toEqual([1]);
    expect(await session.write('f', 'y')).toMatchObject({ ok: false, refusal: { code: 'PARTIALLY_READ' } });
    expect(await read(long, { raw: true, limit: 9 })).toMatchObject({ clamped: [], complete: true });
    expect(await session.write('f', 'y')).toMatchObject({ ok: true });
  });

  it.each([{ offset: 1 }, { limit: 1 }])('cannot be requested with `last` and %j together', async (range) => {
    const { root, session } = await open({ hugeBytes });
    writeFileSync(join(root, 'f'), 'a\nb\nc\n');
    expect(await session.read('f', { last: 1, ...range })).toMatchObject({
      ok: false,
      refusal: { code: 'INVALID_ARGUMENT' },
    });
  });

  it.each([[0], [-1], [1.5]])('cannot be requested with `last: %d`', async (last) => {
    const { root, session } = await open({ hugeBytes });
    writeFileSync(join(root, 'f'), 'a\nb\nc\n');
    expect(await session.read('f', { last })).toMatchObject({
      ok: false,
      refusal: { code: 'INVALID_ARGUMENT' },
    });
  });

  it('are refused if they exceed the requested size, and then nothing counts as seen', async () => {
    const { root, session } = await open({ hugeBytes });
    writeFileSync(join(root, 'f'), 'a\nb\nc\n');
    expect(await session.read('f', { maxBytes: 5 })).toMatchObject({
      refusal: { code: 'TOO_LARGE', next: 'read_range', detail: { sizeBytes: 6, limitBytes: 5 } },
    });
    expect(await session.write('f', 'x')).toMatchObject({ refusal: { code: 'NOT_READ' } });
    expect(await session.read('f', { maxBytes: 6 })).toMatchObject({ ok: true });
  });
});

describe('the bytes of a read', () => {
  it.each<[string, string, ReadOptions, string | undefined]>([
    ['are those of the whole file', 'a\nb\n', {}, 'a\nb\n'],
    ['are those of the range', 'a\nb\nc\n', { offset: 2, limit: 1 }, 'b\n'],
    ['leave out a byte order mark', '\ufeffa\n', {}, 'a\n'],
    ['keep a byte order mark when raw', '\ufeffa\n', { raw: true }, '\ufeffa\n'],
    ['are missing if a line is cut', `${'x'.repeat(30)}\n`, {}, undefined],
    ['are present if cut lines are outside the range', `${'x'.repeat(30)}\nb\n`, { offset: 2 }, 'b\n'],
    ['are missing if a line has too many bytes, whatever its characters', 'é'.repeat(8), {}, undefined],
  ])('%s', async (_what, content, options, bytes) => {
    const { read } = await open({ maxLineChars: 10 });
    expect(bytesOf(await read(content, options))).toBe(bytes);
  });

  it('in another encoding are those of the file when raw, and `text` is decoded', async () => {
    const { read } = await open();
    const raw = await read(LATIN, { raw: true });
    expect(raw.text).toMatch(/^café crème brûlée/);
    expect(Buffer.from(raw.bytes ?? []).equals(LATIN)).toBe(true);
    expect((await read(LATIN)).bytes).toBeUndefined();
  });

  it('of a binary file are the whole file when raw', async () => {
    const { read } = await open();
    const binary = Buffer.from([0, 1, 2, 255]);
    expect(Buffer.from((await read(binary, { raw: true })).bytes ?? []).equals(binary)).toBe(true);
    expect((await read(binary)).bytes).toBeUndefined();
  });
});

describe('a list', () => {
  it.each([
    ['listing', { sizeBytes: 3 }, true],
    ['entries', { sizeBytes: 3 }, false],
    ['names', {}, false],
  ] as const)('as %s has %j; it licenses a deletion: %s', async (as, more, licenses) => {
    const { root, session } = await open();
    mkdirSync(join(root, 'd'));
    writeFileSync(join(root, 'd/a'), 'abc');
    const listed = await session.list('d', { as });
    expect(listed).toMatchObject({ ok: true, absolute: join(root, 'd'), complete: true });
    if (listed.ok) expect(listed.entries[0]).toMatchObject({ path: 'a', kind: 'file', ...more });
    if (listed.ok && as === 'names') expect(listed.entries[0]).not.toHaveProperty('sizeBytes');
    expect((await session.delete('d', { recursive: true })).ok).toBe(licenses);
  });
});

describe('info', () => {
  it("returns the file system's data with links followed, and shows nothing", async () => {
    const { root, session } = await open();
    writeFileSync(join(root, 'f'), 'abc', { mode: 0o640 });
    symlinkSync('f', join(root, 'l'));
    expect(await session.info('l')).toMatchObject({
      kind: 'file',
      sizeBytes: 3,
      absolute: join(root, 'f'),
      mode: 0o640,
    });
    expect(await session.info('.')).toMatchObject({ kind: 'directory', absolute: root });
    expect(await session.info('none')).toMatchObject({ ok: false, refusal: { code: 'NOT_FOUND' } });
    expect(await session.info('../x')).toMatchObject({ ok: false, refusal: { code: 'OUTSIDE_WORKSPACE' } });
    expect(await session.write('f', 'x')).toMatchObject({ refusal: { code: 'NOT_READ' } });
  });
});

describe('a move', () => {
  it('with `overwrite: false` is refused onto any existing path, even a seen file', async () => {
    const { root, session } = await open();
    for (const name of ['a', 'b']) writeFileSync(join(root, name), name);
    await session.read('b');
    expect(await session.move('a', 'b', { overwrite: false })).toMatchObject({
      refusal: { code: 'ALREADY_EXISTS' },
    });
    expect(await session.move('a', 'b')).toMatchObject({ ok: true });
  });
});

describe('an edit', () => {
  it('returns its diff if an option asks for it', async () => {
    const { session, read } = await open();
    await read('one\n');
    const edit = (oldString: string, newString: string, withDiff?: boolean) =>
      session.edit('f', [{ oldString, newString }], withDiff === undefined ? {} : { withDiff });
    expect(await edit('one', 'two', true)).toMatchObject({ diff: expect.stringContaining('-one\n+two') });
    expect(await edit('two', 'three')).not.toHaveProperty('diff');
  });
});
