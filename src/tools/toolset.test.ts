import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { DIALECT_NAMES } from '../dialect/tool.ts';
import { currentSession, runInSession } from '../session/ambient.ts';
import { openSession } from '../session/sessions.ts';
import { adapterToolset, answered, type ToolsetOptions, toolset } from './toolset.ts';

async function setUp(options: ToolsetOptions = {}) {
  const { root, home } = scratch();
  const session = await openSession({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => session.close());
  const { tools, instructions } = toolset(session, options);
  const tool = (name: string) => {
    const found = tools.find((candidate) => candidate.name === name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  };
  const put = (name: string, content: string | Uint8Array) => writeFileSync(join(root, name), content);
  return { root, session, tools, tool, instructions, put };
}

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);

describe('a toolset', () => {
  it('reads, refuses and changes like the server', async () => {
    const { tool, put } = await setUp();
    put('a.txt', 'one\n');
    const refused = await tool('write_file').call({ path: 'a.txt', content: 'x' });
    expect(refused).toMatchObject({ ok: false, outcome: { ok: false, code: 'NOT_READ', next: 'read' } });
    expect(refused.text).toMatch(/^refusing to overwrite a\.txt: read it first \[NOT_READ\]/);
    const read = await tool('read_file').call({ path: 'a.txt', offset: null });
    expect(read.text).toMatch(/^1\tone\n\[read a\.txt lines 1-1 of 1 revision \w{12}\]$/);
    expect(read).not.toHaveProperty('media');
    const written = await tool('write_file').call({ path: 'a.txt', content: 'two\n' });
    expect(written).toMatchObject({ ok: true, outcome: { ok: true, changed: true } });
  });

  it.each([
    ['read_file', { path: 'a.txt' }],
    ['write_file', { path: 'a.txt', content: 'x' }],
  ])('says of %s on a closed session that nothing was changed', async (name, args) => {
    const { session } = await setUp();
    const tool = adapterToolset(session, {}).tools.find((each) => each.name === name);
    await session.close();
    expect(tool === undefined ? undefined : await answered(tool, args)).toMatchObject({
      ok: false,
      text: `${name} failed: this session is closed [MISUSE]. Nothing was changed. Tell the user.`,
      outcome: { code: 'MISUSE', next: 'ask_human' },
    });
  });

  it('shows a dry run of an unread file in the dialect filesystem; only its diff counts as read', async () => {
    const { tool, put } = await setUp({ dialect: 'filesystem' });
    put('a.txt', Array.from({ length: 30 }, (_, i) => `line ${i + 1}\n`).join(''));
    const edits = [{ oldText: 'line 15\n', newText: 'x\n' }];
    const dry = await tool('edit_file').call({ path: 'a.txt', edits, dryRun: true });
    expect(dry).toMatchObject({ ok: true, outcome: { ok: true, changed: false } });
    expect(dry.text).toMatch(/ line 11\n.*-line 15\n\+x\n/s);
    const write = await tool('write_file').call({ path: 'a.txt', content: 'x\n' });
    expect(write.outcome).toMatchObject({
      code: 'PARTIALLY_READ',
      detail: {
        missing: [
          { from: 1, to: 10 },
          { from: 20, to: 30 },
        ],
      },
    });
    expect(await tool('edit_file').call({ path: 'a.txt', edits })).toMatchObject({ ok: true });
  });

  it('reports what a patch did to each file, and rejects an unreadable patch', async () => {
    const { tool, put } = await setUp({ dialect: 'apply-patch' });
    put('a.txt', 'one\n');
    put('b.txt', 'two\n');
    await tool('read_file').call({ paths: ['a.txt', 'b.txt'] });
    const rows = ['Update File: a.txt', 'Move to: c.txt', '@@\n-one\n+uno', 'Delete File: b.txt'];
    const text = rows.map((row) => (row.startsWith('@@') ? row : `*** ${row}`)).join('\n');
    const done = await tool('apply_patch').call({ patch: `*** Begin Patch\n${text}\n*** End Patch` });
    expect(done.text).toMatch(/^changed 2 files:\n- changed c\.txt, moved from a\.txt.*\n- deleted b\.txt\n/);
    const bad = await tool('apply_patch').call({ patch: 'nonsense' });
    expect(bad.text).toMatch(
      /^refusing to apply the patch: the patch cannot be read: .* \[INVALID_ARGUMENT\]/,
    );
  });

  it('shows images as media', async () => {
    const { tool, put } = await setUp();
    put('a.png', PNG);
    expect(await tool('read_file').call({ path: 'a.png' })).toMatchObject({
      ok: true,
      text: expect.stringContaining('image/png'),
      media: [{ mimeType: 'image/png', base64: PNG.toString('base64') }],
    });
  });

  it.each(DIALECT_NAMES)('has the tools of %s, each with two schemas', async (dialect) => {
    const { tools, instructions } = await setUp({ dialect });
    expect(tools.length).toBeGreaterThan(0);
    expect(instructions).not.toBe('');
    for (const { inputSchema, strictSchema, title, description } of tools) {
      expect(title && description).not.toBe('');
      expect(inputSchema).toMatchObject({ type: 'object' });
      expect(strictSchema['required']).toEqual(Object.keys(inputSchema['properties'] ?? {}));
    }
  });

  it('names several roots in its instructions, and where relative paths start', async () => {
    const { root, base, home } = scratch();
    const roots = [root, join(base, 'second')];
    mkdirSync(join(base, 'second'));
    const instructionsFor = async (cwd?: string) => {
      const session = await openSession({ roots, home, store: 'memory:', cwd });
      onTestFinished(() => session.close());
      return toolset(session).instructions;
    };
    expect(await instructionsFor()).toContain(
      `${roots.join(', ')}. Relative paths, and calls without a path, begin in the first;`,
    );
    expect(await instructionsFor(join(base, 'second'))).toContain(`begin in ${join(base, 'second')};`);
  });

  it('makes optional arguments nullable in the strict schema, and treats null as absent', async () => {
    const { tool, put } = await setUp();
    expect(tool('search_text').strictSchema).toMatchObject({
      properties: {
        pattern: { type: 'string' },
        mode: { type: ['string', 'null'], enum: ['lines', 'files', 'count', null] },
        context: { type: ['integer', 'null'] },
      },
    });
    const change = tool('apply_changes').strictSchema;
    expect(change).toMatchObject({
      properties: { changes: { items: { additionalProperties: false, required: expect.any(Array) } } },
    });
    put('a.txt', 'one\n');
    const all = { path: 'a.txt', old_string: 'one', new_string: 'two', replace_all: null };
    await tool('read_file').call({ path: 'a.txt' });
    expect(await tool('edit_file').call({ ...all, expected_revision: null })).toMatchObject({ ok: true });
  });

  it('offers only the chosen tools', async () => {
    const { tools } = await setUp({ only: ['read_file', 'edit_file'] });
    expect(tools.map(({ name }) => name)).toEqual(['read_file', 'edit_file']);
    const { tools: reading } = await setUp({ readOnly: true });
    expect(reading.filter((tool) => !tool.readOnly)).toEqual([]);
  });

  it.each([
    [{ dialect: 'lookfrist' }, /"dialect" must be one of .*, not "lookfrist"; did you mean "lookfirst"\?/],
    [{ only: ['reed_file'] }, /no tool "reed_file"; did you mean "read_file"\?/],
    [{ only: 'read_file' }, /"only" must be a list/],
    [{ readonly: true }, /unknown option "readonly"; did you mean "readOnly"\?/],
    [{ rename: { reed_file: 'x' } }, /no tool "reed_file"; did you mean "read_file"\?/],
    [{ rename: { read_file: 'write_file' } }, /two tools would be called "write_file"/],
    [{ rename: { read_file: 'read file' } }, /"read file" cannot be the name of a tool/],
    [{ rename: 'x' }, /"rename" must be an object or a function/],
    [{ virtualRoot: 'memories' }, /"virtualRoot" must be an absolute path/],
  ])('refuses %j as a Fault', async (options, reason) => {
    const { session } = await setUp();
    // Invalid options, as a program without types may pass them.
    const given = options as unknown as ToolsetOptions;
    expect(() => toolset(session, given)).toThrow(expect.objectContaining({ code: 'MISUSE' }));
    expect(() => toolset(session, given)).toThrow(reason);
  });

  it('throws the reason of an aborted signal and changes nothing', async () => {
    const { tool, root } = await setUp();
    const signal = AbortSignal.abort(new Error('stop'));
    await expect(tool('write_file').call({ path: 'new.txt', content: 'x' }, { signal })).rejects.toThrow(
      'stop',
    );
    expect(existsSync(join(root, 'new.txt'))).toBe(false);
  });

  it('uses the session of the calling context', async () => {
    const { session: first, root } = await setUp();
    const second = await first.child('second');
    writeFileSync(join(root, 'a.txt'), 'one\n');
    const { tools } = toolset(currentSession);
    const call = (name: string, args: object) => tools.find((tool) => tool.name === name)?.call(args);
    await runInSession(first, () => call('read_file', { path: 'a.txt' }));
    const write = () => call('write_file', { path: 'a.txt', content: 'two\n' });
    expect(await runInSession(second, write)).toMatchObject({ outcome: { code: 'NOT_READ' } });
    expect(await runInSession(first, write)).toMatchObject({ ok: true });
    await expect(call('read_file', { path: 'a.txt' })).rejects.toMatchObject({ code: 'MISUSE' });
  });
});

describe('a renamed toolset', () => {
  it('uses the new names in descriptions, instructions and refusals', async () => {
    const rename = {
      read_file: 'fs_read',
      write_file: 'fs_write',
      edit_file: 'fs_edit',
      undo_change: 'fs_undo',
    };
    const { tool, tools, instructions, put } = await setUp({ rename });
    put('a.txt', 'one\n');
    const said = [instructions, ...tools.map(({ description }) => description)].join('\n');
    expect(said).not.toMatch(/read_file|write_file|edit_file|undo_change/);
    expect(said).toMatch(/fs_read/);
    const refused = await tool('fs_write').call({ path: 'a.txt', content: 'x' });
    expect(refused.text).toContain('Next: fs_read {"path":"a.txt"}');
  });

  it('keeps verbs at the start of a sentence', async () => {
    const { tools, instructions } = await setUp({ dialect: 'sandbox', rename: (name) => `my${name}` });
    expect(tools.map(({ name }) => name)).toContain('myRead');
    expect(tools[0]?.description).toMatch(/^Read a file\./);
    expect(instructions).toContain('before myWrite or myEdit');
  });

  it('names no tool that is not offered', async () => {
    const { tool, put } = await setUp({ only: ['read_file', 'write_file'] });
    put('a.txt', 'one\ntwo\n');
    await tool('read_file').call({ path: 'a.txt' });
    const refused = await tool('write_file').call({ path: 'a.txt', content: 'one\n// ... rest unchanged\n' });
    expect(refused.text).toContain('with the edit tool');
    const missing = await tool('read_file').call({ path: 'b.txt' });
    expect(missing.text).not.toMatch(/list_directory|find_files/);
  });
});

it('the dialect filesystem shows the byte order mark of a file, like the MCP server', async () => {
  const { tool, put } = await setUp({ dialect: 'filesystem' });
  put('a.txt', '\ufeffone\r\ntwo');
  expect((await tool('read_text_file').call({ path: 'a.txt' })).text).toBe('\ufeffone\r\ntwo');
});

describe('a virtual root', () => {
  it.each(['/', '/memories', '/memories/'])(
    '%s is used in receipts, refusals, notices and lists',
    async (virtualRoot) => {
      const { tool, put, root } = await setUp({ virtualRoot });
      const at = (path: string) => `${virtualRoot.replace(/\/$/, '')}/${path}`;
      put('a.txt', 'one\ntwo\nthree\nfour\nfive\n');
      const refused = await tool('write_file').call({ path: at('a.txt'), content: 'x' });
      expect(refused.text).toMatch(`refusing to overwrite ${at('a.txt')}: read it first [NOT_READ]`);
      expect(refused.text).toContain(`read_file {"path":"${at('a.txt')}"}`);
      expect(refused.outcome).toMatchObject({ path: at('a.txt') });
      const read = await tool('read_file').call({ path: at('a.txt') });
      expect(read.text).toContain(`[read ${at('a.txt')} lines 1-5 of 5`);
      expect(read.outcome).toMatchObject({ path: at('a.txt') });
      put('a.txt', 'one\ntwo\nthree\nfour\nFIVE\n');
      const edited = await tool('edit_file').call({
        path: at('a.txt'),
        old_string: 'one',
        new_string: 'uno',
      });
      expect(edited.text).toContain(`replaced 1 occurrence(s) in ${at('a.txt')}`);
      expect(edited.text).toContain('+FIVE');
      const batch = await tool('apply_changes').call({
        changes: [
          { path: at('b.txt'), content: 'b\n' },
          { path: at('a.txt'), move_to: at('c.txt') },
        ],
      });
      expect(batch.text).toContain(`created ${at('b.txt')}`);
      expect(batch.text).toContain(`moved ${at('a.txt')} to ${at('c.txt')}`);
      expect((await tool('find_files').call({ pattern: at('*.txt') })).text).toContain(at('b.txt'));
      expect((await tool('search_text').call({ pattern: 'uno' })).text).toContain(`${at('c.txt')}:1:uno`);
      expect((await tool('file_status').call({})).text).toContain(`${at('b.txt')}: fresh`);
      expect((await tool('undo_change').call({})).text).toContain(at('a.txt'));
      const listed = await tool('list_directory').call({ path: virtualRoot });
      expect(listed.text).toContain(`listed ${virtualRoot}`);
      for (const { text } of [refused, read, edited, batch, listed]) expect(text).not.toContain(root);
    },
  );

  it('gives no access outside the root', async () => {
    const { tool } = await setUp({ virtualRoot: '/memories' });
    for (const path of ['/memories/../x', '/etc/passwd', '/memories/../../etc/passwd'])
      expect(await tool('read_file').call({ path })).toMatchObject({
        ok: false,
        outcome: { code: 'OUTSIDE_WORKSPACE', path },
      });
  });

  it('is used in patches', async () => {
    const { tool, put } = await setUp({ virtualRoot: '/', dialect: 'apply-patch' });
    put('a.txt', 'one\n');
    const patch =
      '*** Begin Patch\n*** Update File: /a.txt\n@@\n-one\n+two\n*** Add File: /b.txt\n+new\n*** End Patch';
    const refused = await tool('apply_patch').call({ patch });
    expect(refused.text).toContain('refusing to edit /a.txt: read it first [NOT_READ]');
    await tool('read_file').call({ path: '/a.txt' });
    const done = await tool('apply_patch').call({ patch });
    expect(done.text).toMatch(/changed \/a\.txt[\s\S]*created \/b\.txt/);
  });

  it('is a Fault for a session with several roots', async () => {
    const { root, home } = scratch();
    const { root: other } = scratch();
    const session = await openSession({ roots: [root, other], home, store: 'memory:' });
    onTestFinished(() => session.close());
    const [tool] = toolset(session, { virtualRoot: '/' }).tools;
    await expect(tool?.call({ path: '/a' })).rejects.toMatchObject({ code: 'MISUSE' });
  });
});
