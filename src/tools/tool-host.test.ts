import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { setLimits } from '../../test/support/limits.ts';
import { setUp } from '../../test/support/tool-calls.ts';
import type { JsonRecord } from '../model/record.ts';

describe('every result', () => {
  it('carries its outcome, and a refusal is an error that names the next tool', async () => {
    const { call, put } = await setUp();
    put('a.txt', 'one\n');
    expect(await call('write_file', { path: 'a.txt', content: 'x' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(
        /^refusing to overwrite a\.txt: read it first \[NOT_READ\]\n[\s\S]*read_file/,
      ),
      outcome: { ok: false, code: 'NOT_READ', path: 'a.txt', next: 'read' },
    });
    const read = await call('read_file', { path: 'a.txt' });
    expect(read).toMatchObject({
      isError: false,
      text: expect.stringMatching(/^1\tone\n\[read a\.txt lines 1-1 of 1 revision [0-9a-f]{12}\]$/),
      outcome: { ok: true, path: 'a.txt', complete: true, revision: expect.stringMatching(/^[0-9a-f]{12}$/) },
    });
    expect(read.result).not.toHaveProperty('structuredContent');
    expect(await call('write_file', { path: 'a.txt', content: 'two\n' })).toMatchObject({
      isError: false,
      text: expect.stringMatching(/^wrote 4 bytes to a\.txt \(overwritten\)\n\[revision \w+ change \w+\]$/),
      outcome: { ok: true, changed: true, created: false, change: expect.any(String) },
    });
  });

  it.each([
    [
      'write_file',
      { path: 'a.txt', content: 'x', append: true },
      /^refusing to run write_file: unknown argument "append"/,
    ],
    ['write_file', { path: 'a.txt', contents: 'x' }, /did you mean "content"\?/],
    ['write_file', { path: 'a.txt' }, /the argument "content" is missing/],
    ['delete_path', { path: 'a.txt', recursive: 'yes' }, /"recursive" must be true or false, not "yes"/],
    ['apply_changes', { changes: [{ path: 'a.txt' }] }, /changes\[0\] needs exactly one of/],
  ])('of invalid arguments is a refusal before anything happens: %s %j', async (name, args, text) => {
    const { call, put, text: now } = await setUp();
    put('a.txt', 'one\n');
    await call('read_file', { path: 'a.txt' });
    const refused = await call(name, args);
    expect(refused).toMatchObject({ isError: true, outcome: { ok: false, code: 'INVALID_ARGUMENT' } });
    expect(refused.text).toMatch(text);
    expect(refused.text).toContain('Next: correct the argument and repeat the call.');
    expect(refused.outcome).not.toHaveProperty('path');
    expect(now('a.txt')).toBe('one\n');
  });
});

describe('the tools of the default dialect', () => {
  it('work as described, one after the other', async () => {
    const { call, put, text } = await setUp();
    put('a.txt', 'one\ntwo\n');
    const steps: [string, JsonRecord, RegExp][] = [
      ['file_status', { path: 'a.txt' }, /has not been read/],
      ['read_file', { path: 'a.txt', offset: 2, limit: 1 }, /^2\ttwo\n\[read a\.txt lines 2-2 of 2\]$/],
      ['read_file', { path: 'a.txt' }, /revision/],
      ['file_status', {}, /^a\.txt: fresh: seen whole/],
      [
        'edit_file',
        { path: 'a.txt', old_string: 'two', new_string: 'zwei' },
        /^replaced 1 occurrence\(s\) in a\.txt\n/,
      ],
      ['insert_lines', { path: 'a.txt', after_line: 0, content: 'zero' }, /^inserted line 1 into a\.txt\n/],
      ['undo_change', {}, /^undid change \w+:\n- restored a\.txt\n/],
      ['read_file', { path: 'a.txt' }, /revision/],
      ['move_path', { source: 'a.txt', destination: 'd/b.txt' }, /^moved a\.txt to d\/b\.txt\n/],
      ['list_directory', { depth: 2 }, /^directory d\/\nfile d\/b\.txt \(9 B\)\n\[listed \.: 2 entries\]$/],
      ['find_files', { pattern: '*.txt' }, /^d\/b\.txt\n\[1 file\]$/],
      ['search_text', { pattern: 'zw.i' }, /^d\/b\.txt:2:zwei\n\[1 match in 1 file\]$/],
      [
        'apply_changes',
        {
          changes: [
            { path: 'd/b.txt', content: 'B\n' },
            { path: 'n.txt', content: 'n\n' },
          ],
          dry_run: true,
        },
        /^dry run/,
      ],
      [
        'apply_changes',
        {
          changes: [
            { path: 'd/b.txt', content: 'B\n' },
            { path: 'n.txt', content: 'n\n' },
          ],
        },
        /^changed 2 files:\n- changed d\/b\.txt/,
      ],
      ['delete_path', { path: 'n.txt' }, /^deleted n\.txt\n\[change \w+\]$/],
    ];
    for (const [name, args, expected] of steps) {
      const answer = await call(name, args);
      expect(answer.text).toMatch(expected);
      expect(answer.outcome).toMatchObject({ ok: true });
    }
    expect(text('d/b.txt')).toBe('B\n');
  });

  it('describe what is not text, and show images', async () => {
    const { call, put } = await setUp();
    put('b.bin', Buffer.from([0, 1, 2, 255]));
    put('p.png', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));
    expect((await call('read_file', { path: 'b.bin' })).text).toMatch(
      /^b\.bin is not text: application\/octet-stream/,
    );
    expect((await call('read_file', { path: 'p.png' })).result['content']).toMatchObject([
      { type: 'text' },
      { type: 'image', mimeType: 'image/png' },
    ]);
  });

  it('report the progress of a large read', async () => {
    setLimits({ hugeBytes: 1000 });
    const { call, put } = await setUp();
    put('big.txt', 'line\n'.repeat(1000));
    const seen: number[] = [];
    await call('read_file', { path: 'big.txt', limit: 3 }, { progress: (done) => seen.push(done) });
    expect(seen.length).toBeGreaterThan(0);
  });

  it('stop when the client cancels', async () => {
    setLimits({ hugeBytes: 1000 });
    const { call, put } = await setUp();
    put('big.txt', 'line\n'.repeat(1000));
    const signal = AbortSignal.abort(new Error('cancelled by the client'));
    await expect(call('read_file', { path: 'big.txt' }, { signal })).rejects.toThrow(
      'cancelled by the client',
    );
    await expect(call('list_directory', {}, { signal })).rejects.toThrow('cancelled by the client');
  });
});

describe('the first sentence of a refusal', () => {
  it('names source and destination of a move, and the folder that is missing or is a file', async () => {
    const { call, put, root } = await setUp({ workspace: { policy: { secrets: 'refuse' } } });
    put('a.txt', 'one\n');
    put('.env', 'KEY=1\n');
    mkdirSync(join(root, 'sub'));
    const text = async (name: string, args: Record<string, unknown>) => (await call(name, args)).text;
    expect(await text('move_path', { source: 'a.txt', destination: 'sub' })).toMatch(
      /^refusing to move a\.txt to sub: something is already there \[ALREADY_EXISTS\]/,
    );
    expect(await text('write_file', { path: 'a.txt/x', content: '' })).toMatch(
      /^refusing to overwrite a\.txt\/x: a part of the path is a file, not a folder \[NOT_A_FILE\]\nNext/,
    );
    await call('list_directory', { path: 'sub' });
    await call('delete_path', { path: 'sub' });
    const again = await text('delete_path', { path: 'sub' });
    expect(again).toMatch(/^refusing to delete sub: this session deleted it \[DELETED\]/);
    expect(again).toMatch(/There is nothing left to delete\.$/);
    expect(await text('read_file', { path: '.env' })).toMatch(
      /it is protected \[PROTECTED\]\nThe policy protects files that hold secrets\.\n/,
    );
  });
});

describe('a read-only workspace', () => {
  it('offers no tool that changes anything', async () => {
    const { host } = await setUp({ readOnly: true });
    const names = host.tools().map((tool) => tool.name);
    expect(names).toEqual(['read_file', 'list_directory', 'find_files', 'search_text', 'file_status']);
  });

  it('refuses changes whichever tools are offered', async () => {
    const { call } = await setUp({ workspace: { policy: { readOnly: true } } });
    expect(await call('write_file', { path: 'n.txt', content: '' })).toMatchObject({
      outcome: { code: 'READ_ONLY' },
    });
  });
});

describe('other dialects', () => {
  it('use their own names of tools and arguments in refusals', async () => {
    const sandbox = await setUp({ dialect: 'sandbox', workspace: { preset: 'sandbox' } });
    sandbox.put('a.txt', 'one\n');
    expect((await sandbox.call('Write', { file_path: 'a.txt', content: 'x' })).text).toBe(
      'refusing to overwrite a.txt: Read it first',
    );
    const lace = await setUp({ dialect: 'lace' });
    lace.put('a.txt', 'one\n');
    expect((await lace.call('file_read', { path: 'a.txt', startLine: 9 })).text).toMatch(
      /^refusing to read a\.txt: startLine 9 is past the end/,
    );
  });
});

it('reports its name and version', async () => {
  const { host } = await setUp();
  expect(host.info).toMatchObject({ name: 'lookfirst', version: '1.2.3' });
});

describe('read_file of several paths', () => {
  it('shows each whole, with its receipt or its refusal', async () => {
    const { call, put } = await setUp();
    put('a.txt', 'one\n');
    put('b.txt', 'x\n'.repeat(3000));
    const answer = await call('read_file', { paths: ['a.txt', 'gone', 'b.txt'] });
    expect(answer.text).toMatch(
      /^1\tone\n\[read a\.txt lines 1-1 of 1 revision \w+\]\n\nrefusing to read gone/,
    );
    expect(answer.text).toMatch(/\[read b\.txt lines 1-3000 of 3000 revision \w+\]$/);
    expect(answer.outcome).toMatchObject({
      ok: true,
      files: [
        { ok: true, complete: true },
        { ok: false, code: 'NOT_FOUND', path: 'gone' },
        { complete: true },
      ],
    });
    expect((await call('write_file', { path: 'b.txt', content: 'y\n' })).isError).toBe(false);
  });

  it('has a common limit: a file that does not fit is not shown and not seen', async () => {
    const { call, put } = await setUp();
    for (const name of ['a', 'b', 'c']) put(name, `${name.repeat(99)}\n`.repeat(1500));
    const answer = await call('read_file', { paths: ['a', 'b', 'c'] });
    expect(answer.outcome).toMatchObject({
      files: [{ ok: true }, { code: 'TOO_LARGE' }, { code: 'TOO_LARGE' }],
    });
    expect((await call('write_file', { path: 'b', content: '' })).outcome).toMatchObject({
      code: 'NOT_READ',
    });
  });

  it.each([
    [{}, 'either path or paths'],
    [{ path: 'a', paths: ['a'] }, 'either path or paths'],
    [{ paths: ['a'], offset: 1 }, 'for a single path'],
    [{ paths: [] }, 'at least 1'],
  ])('refuses %j', async (args, reason) => {
    const { call } = await setUp();
    expect((await call('read_file', args)).text).toContain(reason);
  });
});

it('logs the command that approves a change so that a shell reads its path literally', async () => {
  const { call, lines } = await setUp({ workspace: { policy: { approve: ['**'] } } });
  await call('write_file', { path: "it's $(id).txt", content: 'x' });
  expect(lines).toEqual([`a change waits for your approval: lookfirst allow 'it'\\''s $(id).txt' --once`]);
  await call('write_file', { path: 'a.txt', content: 'x' });
  expect(lines.at(-1)).toBe('a change waits for your approval: lookfirst allow a.txt --once');
});
