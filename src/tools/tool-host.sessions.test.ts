import { describe, expect, it } from 'vitest';
import { setUp } from '../../test/support/tool-calls.ts';
import { CONTEXT_KEY, SESSION_KEY, TURN_KEY } from './session-choice.ts';

describe('sessions', () => {
  it('of different names do not share what they have read; the same name does', async () => {
    const { call, put } = await setUp();
    put('a.txt', 'one\n');
    const as = (id: unknown) => ({ meta: { [SESSION_KEY]: id } });
    await call('read_file', { path: 'a.txt' }, as('reader'));
    const write = (id: unknown) => call('write_file', { path: 'a.txt', content: 'x\n' }, as(id));
    expect(await write('other')).toMatchObject({ outcome: { code: 'NOT_READ' } });
    expect(await write(7)).toMatchObject({ isError: true, outcome: { code: 'INVALID_ARGUMENT' } });
    expect(await write('reader')).toMatchObject({ outcome: { ok: true } });
  });

  it('of a transport are forgotten when it ends', async () => {
    const { call, put, host } = await setUp();
    put('a.txt', 'one\n');
    const http = { sessionHint: 'h1' };
    await call('read_file', { path: 'a.txt' }, http);
    expect(await call('file_status', { path: 'a.txt' }, { sessionHint: 'h2' })).toMatchObject({
      text: expect.stringMatching(/not been read/),
    });
    expect((await call('file_status', { path: 'a.txt' }, http)).text).toMatch(/fresh/);
    host.sessionEnded?.('h1');
    expect((await call('file_status', { path: 'a.txt' }, http)).text).toMatch(/not been read/);
  });
});

describe('calls of clients that have no name and share the server', () => {
  it('share no memory; a revision proves what was read', async () => {
    const { call, put, text } = await setUp({ choice: { nameless: 'call' } });
    put('a.txt', 'one\n');
    const read = await call('read_file', { path: 'a.txt' });
    const refused = await call('write_file', { path: 'a.txt', content: 'blind\n' });
    expect(refused.outcome).toMatchObject({ ok: false, code: 'NOT_READ' });
    const proved = { expected_revision: read.outcome?.['revision'] };
    const written = await call('write_file', { path: 'a.txt', content: 'two\n', ...proved });
    expect(written.outcome).toMatchObject({ ok: true, changed: true });
    const again = await call('write_file', { path: 'a.txt', content: 'three\n' });
    expect(again.outcome).toMatchObject({ ok: false, code: 'NOT_READ' });
    expect(text('a.txt')).toBe('two\n');
    expect((await call('undo_change', {})).text).toContain('Next: name the session in the URL (/mcp/NAME)');
    const named = { meta: { [SESSION_KEY]: 'agent' } };
    await call('read_file', { path: 'a.txt' }, named);
    expect((await call('write_file', { path: 'a.txt', content: '3\n' }, named)).isError).toBe(false);
  });
});

describe('a compaction', () => {
  const COMPACTED = { [CONTEXT_KEY]: 'compacted' };

  it('takes effect before the call that reports it is judged', async () => {
    const { call, put } = await setUp();
    put('a.txt', 'one\n');
    await call('read_file', { path: 'a.txt' });
    const write = { path: 'a.txt', content: 'two\n' };
    expect((await call('write_file', write, { meta: COMPACTED })).isError).toBe(true);
    expect((await call('write_file', write)).isError).toBe(true);
    await call('read_file', { path: 'a.txt' }, { meta: COMPACTED });
    expect((await call('write_file', write)).isError).toBe(false);
  });

  it('applies to calls that were sent right after the report, in its session only', async () => {
    const { call, put, host } = await setUp();
    put('a.txt', 'one\n');
    const other = { meta: { [SESSION_KEY]: 'other' } };
    await call('read_file', { path: 'a.txt' });
    await call('read_file', { path: 'a.txt' }, other);
    const reported = host.report?.({ meta: COMPACTED, sessionHint: undefined });
    const write = await call('write_file', { path: 'a.txt', content: 'two\n' });
    expect(write.isError).toBe(true);
    await reported;
    expect((await call('write_file', { path: 'a.txt', content: 'two\n' }, other)).isError).toBe(false);
  });

  it('is refused if its value is invalid', async () => {
    const { call } = await setUp();
    const answer = await call('list_directory', {}, { meta: { [CONTEXT_KEY]: 'forgotten' } });
    expect(answer.outcome).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(answer.text).toContain('must be "compacted"');
  });
});

describe('a turn', () => {
  it('is named by requests and recorded with their changes', async () => {
    const { call, put, sessions } = await setUp();
    put('a.txt', 'one\n');
    const turn = (name: string) => ({ meta: { [TURN_KEY]: name } });
    await call('read_file', { path: 'a.txt' }, turn('t1'));
    await call('edit_file', { path: 'a.txt', old_string: 'one', new_string: 'two' }, turn('t1'));
    await call('edit_file', { path: 'a.txt', old_string: 'two', new_string: 'three' }, turn('t2'));
    const changes = await sessions.world.store.entries({ kinds: ['change'] });
    expect(changes.map((entry) => entry.turn).sort()).toEqual(['t1', 't2']);
    expect((await call('list_directory', {}, turn('a\nb'))).outcome).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});
