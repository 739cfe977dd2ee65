import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { DIALECT_NAMES } from '../dialect/dialect-name.ts';
import { currentSession, runInSession } from '../session/ambient.ts';
import { openSession } from '../session/open-session.ts';
import { type ToolsetOptions, toolset } from './toolset.ts';

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
  it('reads, refuses and changes as the server does', async () => {
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
    expect(tools.length).toBeGreaterThan(3);
    expect(instructions).not.toBe('');
    for (const { inputSchema, strictSchema, title, description } of tools) {
      expect(title && description).not.toBe('');
      expect(inputSchema).toMatchObject({ type: 'object' });
      expect(strictSchema['required']).toEqual(Object.keys(inputSchema['properties'] ?? {}));
    }
  });

  it('makes optional arguments nullable in the strict schema, and takes null as absence', async () => {
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

  it('offers what was chosen', async () => {
    const { tools } = await setUp({ only: ['read_file', 'edit_file'] });
    expect(tools.map(({ name }) => name)).toEqual(['read_file', 'edit_file']);
    const { tools: reading } = await setUp({ readOnly: true });
    expect(reading.filter((tool) => !tool.readOnly)).toEqual([]);
  });

  it.each([
    [{ dialect: 'lookfrist' }, /no dialect "lookfrist"; did you mean "lookfirst"\?/],
    [{ only: ['reed_file'] }, /no tool "reed_file"; did you mean "read_file"\?/],
    [{ only: 'read_file' }, /"only" must be a list/],
    [{ readonly: true }, /no option "readonly"; did you mean "readOnly"\?/],
  ])('refuses %j as a Fault', async (options, reason) => {
    const { session } = await setUp();
    // What a program without types may pass.
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

  it('follows the calling context', async () => {
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
