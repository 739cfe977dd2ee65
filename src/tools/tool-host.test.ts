import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { resultOf } from '../../test/support/written.ts';
import type { DialectName } from '../dialect/tool.ts';
import { loadDialect } from '../mcp/serve.ts';
import type { JsonRecord } from '../model/record.ts';
import type { WorkspaceOptions } from '../session/opening.ts';
import { Sessions } from '../session/sessions.ts';
import { type ChoiceOptions, CONTEXT_KEY, SESSION_KEY, TURN_KEY } from './session-choice.ts';
import type { ToolContext } from './tool-answer.ts';
import { createToolHost } from './tool-host.ts';

interface Setup {
  readonly dialect?: DialectName;
  readonly workspace?: Partial<WorkspaceOptions>;
  readonly readOnly?: boolean;
  readonly choice?: ChoiceOptions;
}

async function setUp({ dialect = 'lookfirst', workspace = {}, readOnly = false, choice = {} }: Setup = {}) {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:', ...workspace });
  onTestFinished(() => sessions.close());
  const lines: string[] = [];
  const host = createToolHost({
    open: async () => sessions,
    dialect: await loadDialect(dialect),
    readOnly,
    ...choice,
    version: '1.2.3',
    log: (line) => lines.push(line),
  });
  const call = async (name: string, args: JsonRecord = {}, more: Partial<ToolContext> = {}) => {
    const context: ToolContext = {
      signal: new AbortController().signal,
      meta: {},
      clientInfo: undefined,
      sessionHint: undefined,
      progress: () => {},
      ...more,
    };
    const result = resultOf(host, name, await host.call(name, args, context));
    const [block] = result['content'] as { text?: string }[];
    const meta = result['_meta'] as Record<string, Record<string, unknown>>;
    return {
      text: block?.text ?? '',
      isError: result['isError'] === true,
      outcome: meta['dev.lookfirst/outcome'],
      result,
    };
  };
  const put = (name: string, content: string | Uint8Array) => writeFileSync(join(root, name), content);
  const text = (name: string) => readFileSync(join(root, name), 'utf8');
  return { root, host, call, put, text, lines, sessions };
}

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
  ])('of %s %j is refused before anything happens', async (name, args, text) => {
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
  it('do what they say, one after the other', async () => {
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

  it('tell a client how far a big read is', async () => {
    const { call, put } = await setUp({ workspace: { policy: { hugeBytes: 1000 } } });
    put('big.txt', 'line\n'.repeat(1000));
    const seen: number[] = [];
    await call('read_file', { path: 'big.txt', limit: 3 }, { progress: (done) => seen.push(done) });
    expect(seen.length).toBeGreaterThan(0);
  });

  it('stop when the client cancels', async () => {
    const { call, put } = await setUp({ workspace: { policy: { hugeBytes: 1000 } } });
    put('big.txt', 'line\n'.repeat(1000));
    const signal = AbortSignal.abort(new Error('cancelled by the client'));
    await expect(call('read_file', { path: 'big.txt' }, { signal })).rejects.toThrow(
      'cancelled by the client',
    );
    await expect(call('list_directory', {}, { signal })).rejects.toThrow('cancelled by the client');
  });
});

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

describe('a read-only workspace', () => {
  it('offers no tool that changes anything', async () => {
    const { host } = await setUp({ readOnly: true });
    const names = host.tools().map((tool) => tool.name);
    expect(names).toEqual(['read_file', 'list_directory', 'find_files', 'search_text', 'file_status']);
  });

  it('refuses changes whatever is offered', async () => {
    const { call } = await setUp({ workspace: { policy: { readOnly: true } } });
    expect(await call('write_file', { path: 'n.txt', content: '' })).toMatchObject({
      outcome: { code: 'READ_ONLY' },
    });
  });
});

describe('other dialects', () => {
  it('name their own tools and arguments in refusals', async () => {
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

  it('filesystem: gives text twice, and refusals once, after the official words', async () => {
    const { call, put, root } = await setUp({ dialect: 'filesystem' });
    put('a.txt', '\ufeffone\r\ntwo');
    mkdirSync(join(root, 'sub'));
    const read = await call('read_text_file', { path: join(root, 'a.txt') });
    expect(read.text).toBe('\ufeffone\r\ntwo');
    expect(read.result).toMatchObject({ structuredContent: { content: '\ufeffone\r\ntwo' } });
    expect((await call('read_text_file', { path: 'a.txt', tail: 1 })).text).toBe('two');
    const moved = await call('move_file', { source: 'a.txt', destination: 'sub' });
    expect(moved.text).toContain(`Destination already exists: ${join(root, 'sub')}\nrefusing to move sub: `);
    expect(moved.result).not.toHaveProperty('structuredContent');
    expect((await call('write_file', { path: 'no/b.txt', content: '' })).text).toContain(
      `ENOENT: no such file or directory, open '${join(root, 'no/b.txt')}'\n`,
    );
    expect((await call('search_files', { path: '.', pattern: '*.txt' })).text).toBe(join(root, 'a.txt'));
    expect((await call('list_allowed_directories')).text).toBe(`Allowed directories:\n${root}`);
    expect((await call('get_file_info', { path: 'sub' })).text).toContain('isDirectory: true');
    const media = await call('read_media_file', { path: 'a.txt' });
    expect(media.result).toMatchObject({
      content: [
        {
          type: 'resource',
          resource: { uri: `file://${root}/a.txt`, blob: Buffer.from('\ufeffone\r\ntwo').toString('base64') },
        },
      ],
    });
    expect(media.result).toMatchObject({ structuredContent: { content: media.result['content'] } });
  });

  it('filesystem: a file read in parts or as media may not be overwritten; one read whole may', async () => {
    const { call, put, text } = await setUp({ dialect: 'filesystem' });
    put('a.txt', 'one\ntwo\nthree\n');
    const write = () => call('write_file', { path: 'a.txt', content: 'x\n' });
    await call('read_text_file', { path: 'a.txt', head: 1 });
    expect(await write()).toMatchObject({ outcome: { code: 'PARTIALLY_READ' } });
    await call('read_multiple_files', { paths: ['a.txt', 'missing'] });
    expect(await write()).toMatchObject({ outcome: { ok: true } });
    const edit = await call('edit_file', { path: 'a.txt', edits: [{ oldText: 'x', newText: 'y' }] });
    expect(edit.text).toMatch(
      /^```diff\nIndex: (\/.*\/a\.txt)\n={67}\n--- \1\toriginal\n\+\+\+ \1\tmodified\n@@ -1,1 \+1,1 @@\n-x\n\+y\n```\n\n$/,
    );
    expect(text('a.txt')).toBe('y\n');
  });
});

it('says who it is', async () => {
  const { host } = await setUp();
  expect(host.info).toMatchObject({ name: 'lookfirst', version: '1.2.3' });
});

describe('calls of clients that have no name and share the server', () => {
  it('remember nothing of each other; a revision proves what was read', async () => {
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

  it('holds for calls that were sent right after the report, in its session only', async () => {
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

  it('is refused if it is not one', async () => {
    const { call } = await setUp();
    const answer = await call('list_directory', {}, { meta: { [CONTEXT_KEY]: 'forgotten' } });
    expect(answer.outcome).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(answer.text).toContain('must be "compacted"');
  });
});

describe('a turn', () => {
  it('is named by requests and kept on what they did', async () => {
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

  it('is bounded together: what does not fit is not shown and not seen', async () => {
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

describe('the filesystem dialect takes what the official server takes', () => {
  it('an edit that changes nothing, and arguments it does not know', async () => {
    const { call, put, text } = await setUp({ dialect: 'filesystem' });
    put('a.txt', 'one\ntwo\n');
    expect((await call('read_text_file', { path: 'a.txt', bytes: 7 })).isError).toBe(false);
    const same = { path: 'a.txt', edits: [{ oldText: 'one', newText: 'one', more: 1 }] };
    expect((await call('edit_file', same)).outcome).toMatchObject({ ok: true, changed: false });
    const missing = { path: 'a.txt', edits: [{ oldText: 'no such text', newText: 'no such text' }] };
    expect((await call('edit_file', missing)).outcome).toMatchObject({ code: 'NO_MATCH' });
    const both = {
      path: 'a.txt',
      edits: [
        { oldText: 'one', newText: 'one' },
        { oldText: 'two', newText: 'zwei' },
      ],
    };
    expect((await call('edit_file', both)).outcome).toMatchObject({ ok: true, changed: true });
    expect(text('a.txt')).toBe('one\nzwei\n');
  });

  it('the home folder as ~', async () => {
    const { call, put, root } = await setUp({ dialect: 'filesystem' });
    vi.stubEnv('HOME', root);
    onTestFinished(() => void vi.unstubAllEnvs());
    put('a.txt', 'one\n');
    expect((await call('read_text_file', { path: '~/a.txt' })).text).toBe('one\n');
    expect((await call('read_multiple_files', { paths: ['~/a.txt'] })).text).toContain('one');
    expect((await call('list_directory', { path: '~' })).text).toContain('a.txt');
  });

  it('only links that lead to something inside among the files found', async () => {
    const { call, put, root } = await setUp({ dialect: 'filesystem' });
    put('a.txt', 'one\n');
    symlinkSync('a.txt', join(root, 'inside.txt'));
    symlinkSync('/etc/hostname', join(root, 'outside.txt'));
    symlinkSync('nowhere', join(root, 'dangling.txt'));
    const found = (await call('search_files', { path: root, pattern: '*.txt' })).text;
    expect(
      found
        .split('\n')
        .map((path) => basename(path))
        .sort(),
    ).toEqual(['a.txt', 'inside.txt']);
  });
});
