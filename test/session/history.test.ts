import { describe, expect, it } from 'vitest';
import { openSession } from '../../src/session/sessions.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

/** Messages between a client and our own server: a call and its answer. */
const called = (id: number, name: string, args: object): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});
const answered = (id: number, text: string, revision?: string): object => ({
  jsonrpc: '2.0',
  id,
  result: {
    content: [{ type: 'text', text }],
    _meta: { 'dev.lookfirst/outcome': { ok: true, ...(revision === undefined ? {} : { revision }) } },
  },
});

/**
 * A read of a file's present text. The answer ends with the receipt, the line with which our server
 * describes a read.
 */
async function readNow(t: Desk, path: string): Promise<object[]> {
  const other = await openSession({ roots: [t.root], home: t.home, store: 'memory:' });
  const { text, revision, totalLines } = await ok(other.read(path));
  await other.close();
  const numbered = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line, index) => `${index + 1}\t${line}`)
    .join('\n');
  const receipt = `[read ${path} lines 1-${totalLines} of ${totalLines} revision ${revision}]`;
  return [called(1, 'read_file', { path }), answered(1, `${numbered}\n${receipt}`, revision)];
}

describe('a session resumed from its transcript', () => {
  it('may overwrite a file if a receipt in the transcript has its current revision', async () => {
    const t = await desk();
    await t.put('a.ts', 'one\ntwo\n');
    const records = await readNow(t, 'a.ts');
    expect(await t.session.resumeFrom(records)).toMatchObject({ confirmed: 1, unverified: 0 });
    await ok(t.session.write('a.ts', 'three\n'));
  });

  it('counts the lines of a UTF-16 file in its text', async () => {
    const t = await desk();
    await t.put('a.txt', Buffer.from('\ufeff\u0a05\u0a15\ntwo\n', 'utf16le'));
    await t.session.resumeFrom(await readNow(t, 'a.txt'));
    expect(await ok(t.session.read('a.txt', { last: 1 }))).toMatchObject({ text: 'two', totalLines: 2 });
  });

  it('may still overwrite a file it has seen itself, even if the transcript has an older read', async () => {
    const t = await desk();
    await t.put('a.ts', 'one\ntwo\n');
    const records = await readNow(t, 'a.ts');
    await t.put('a.ts', 'one\ntwo, by hand\n');
    await ok(t.session.read('a.ts'));
    expect(await t.session.resumeFrom(records)).toMatchObject({ confirmed: 0, unverified: 1 });
    await ok(t.session.write('a.ts', 'three\n'));
  });

  it('gets STALE for a file it has seen itself that changed since, whatever the transcript shows', async () => {
    const t = await desk();
    await t.put('a.ts', 'one\ntwo\n');
    const records = await readNow(t, 'a.ts');
    await ok(t.session.read('a.ts'));
    await t.put('a.ts', 'one\ntwo, by hand\n');
    await t.session.resumeFrom(records);
    await refusal(t.session.write('a.ts', 'three\n'), 'STALE');
  });

  it('may overwrite a file if the answer to its own edit has the current revision, without any text', async () => {
    const t = await desk();
    await t.put('a.ts', 'one\ntwo\n');
    const { revision } = await ok((await t.open({ store: 'memory:' })).read('a.ts'));
    const edit = { path: 'a.ts', old_string: 'x', new_string: 'two' };
    const done = `replaced 1 occurrence(s) in a.ts\n[revision ${revision} change c0123456789]`;
    const resumed = await t.session.resumeFrom([called(1, 'edit_file', edit), answered(1, done)]);
    expect(resumed).toMatchObject({ confirmed: 1, unverified: 0 });
    await ok(t.session.write('a.ts', 'three\n'));
  });

  it('may overwrite a file whose whole text is in the transcript', async () => {
    const t = await desk();
    await t.put('a.ts', 'one\r\ntwo\r\n');
    const records = [called(1, 'read_file', { path: 'a.ts' }), answered(1, '1\tone\n2\ttwo')];
    expect(await t.session.resumeFrom(records)).toMatchObject({ confirmed: 1, unverified: 0 });
    await ok(t.session.write('a.ts', 'three\n'));
  });

  it('has seen only the lines that were shown', async () => {
    const t = await desk();
    await t.put('a.ts', 'one\ntwo\nthree\n');
    const page = { path: 'a.ts', offset: 1, limit: 2 };
    await t.session.resumeFrom([called(1, 'read_file', page), answered(1, '1\tone\n2\ttwo')]);
    await refusal(t.session.write('a.ts', 'x\n'), 'PARTIALLY_READ');
    await ok(t.session.edit('a.ts', [{ oldString: 'two', newString: '2' }]));
  });

  it.each([
    ['changed since', 'one\nTWO\n'],
    ['shorter now', 'one\n'],
    ['longer now', 'one\ntwo\nthree\n'],
  ])('may not overwrite a file that is %s', async (_, now) => {
    const t = await desk();
    await t.put('a.ts', 'one\ntwo\n');
    const records = await readNow(t, 'a.ts');
    await t.put('a.ts', now);
    const resumed = await t.session.resumeFrom(records);
    expect(resumed.confirmed + resumed.unverified).toBe(1);
    await refusal(
      t.session.write('a.ts', 'x\n'),
      now === 'one\ntwo\nthree\n' ? 'PARTIALLY_READ' : 'NOT_READ',
    );
    expect(t.text('a.ts')).toBe(now);
  });

  it.each([
    ['a receipt for another file', '1\tone\n[read b.ts lines 1-1 of 1 revision REVISION]'],
    [
      'a receipt whose lines are missing',
      '[Old tool result content cleared]\n[read a.ts lines 1-1 of 1 revision REVISION]',
    ],
    ['a blanked result', '[Old tool result content cleared]'],
    ['a message without a tool result', 'The file is too large to show.'],
  ])('is not licensed by %s', async (_, text) => {
    const t = await desk();
    await t.put('a.ts', 'one\n');
    const { revision = '' } = await ok((await t.open({ store: 'memory:' })).read('a.ts'));
    const result = answered(1, text.replace('REVISION', revision));
    await t.session.resumeFrom([called(1, 'read_file', { path: 'a.ts' }), result]);
    await refusal(t.session.write('a.ts', 'x\n'), 'NOT_READ');
  });

  it('is not licensed by lines of which only the beginning was shown', async () => {
    const t = await desk();
    await t.put('a.ts', `${'x'.repeat(5000)}\n`);
    const records = await readNow(t, 'a.ts');
    await t.session.resumeFrom(records);
    expect((await t.session.write('a.ts', 'x\n')).ok).toBe(false);
  });

  it('ignores files outside, deleted files, and failed reads', async () => {
    const t = await desk();
    await t.put('b.ts', 'one\n');
    const failed = { jsonrpc: '2.0', id: 3, result: { content: [], isError: true } };
    const resumed = await t.session.resumeFrom([
      called(1, 'read_file', { path: '/etc/hostname' }),
      answered(1, '1\thost'),
      called(2, 'read_file', { path: 'gone.ts' }),
      answered(2, '1\tone'),
      called(3, 'read_file', { path: 'b.ts' }),
      failed,
    ]);
    expect(resumed).toMatchObject({ confirmed: 0, unverified: 0 });
    await refusal(t.session.write('b.ts', 'x\n'), 'NOT_READ');
  });

  it('rejects a transcript of an unknown format with a fault', async () => {
    const t = await desk();
    await expect(t.session.resumeFrom([{ nothing: 'known' }])).rejects.toThrow(/format/);
  });
});
