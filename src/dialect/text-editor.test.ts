import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { openSession } from '../session/sessions.ts';
import { type ToolsetOptions, toolset } from '../tools/toolset.ts';

async function open(options: ToolsetOptions) {
  const { root, home } = scratch();
  mkdirSync(join(root, 'src/deep/er'), { recursive: true });
  writeFileSync(join(root, 'a.txt'), 'one\ntwo\nthree\n');
  writeFileSync(join(root, 'src/b.ts'), 'const b = 1;\n');
  const session = await openSession({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => session.close());
  const { tools } = toolset(session, options);
  const call = async (name: string, args: object) => {
    const found = tools.find((tool) => tool.name === name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found.call(args);
  };
  const text = (name: string) => readFileSync(join(root, name), 'utf8');
  return { call, tools, text };
}

describe('the text editor', () => {
  const editor = async () => {
    const opened = await open({ dialect: 'text-editor' });
    return { ...opened, edit: (args: object) => opened.call('str_replace_based_edit_tool', args) };
  };

  it('views files, parts of them, and folders two levels deep', async () => {
    const { edit } = await editor();
    expect((await edit({ command: 'view', path: 'a.txt' })).text).toMatch(
      /^1\tone\n2\ttwo\n3\tthree\n\[read a\.txt lines 1-3 of 3 revision \w{12}\]$/,
    );
    const part = await edit({ command: 'view', path: 'a.txt', view_range: [2, 3] });
    expect(part.text).toMatch(/^2\ttwo\n3\tthree\n\[read a\.txt lines 2-3 of 3 /);
    const rest = await edit({ command: 'view', path: 'a.txt', view_range: [3, -1] });
    expect(rest.text).toMatch(/^3\tthree\n\[read a\.txt lines 3-3 of 3 /);
    const folder = await edit({ command: 'view', path: '.' });
    expect(folder.text).toMatch(/directory src\/deep\//);
    expect(folder.text).not.toMatch(/deep\/er/);
    for (const range of [
      [0, 2],
      [3, 1],
      [1, 2, 3],
    ])
      expect(await edit({ command: 'view', path: 'a.txt', view_range: range })).toMatchObject({
        outcome: { code: 'INVALID_ARGUMENT' },
      });
  });

  it('says how to view an unread file, and creates, replaces and inserts after a view', async () => {
    const { edit, text } = await editor();
    const blind = await edit({ command: 'str_replace', path: 'a.txt', old_str: 'two', new_str: '2' });
    expect(blind.text).toContain('Next: str_replace_based_edit_tool {"command":"view","path":"a.txt"}');
    await edit({ command: 'view', path: 'a.txt', view_range: [1, 1] });
    const partly = await edit({ command: 'create', path: 'a.txt', file_text: 'x' });
    expect(partly.text).toContain('{"command":"view","path":"a.txt","view_range":[2,3]}');
    await edit({ command: 'view', path: 'a.txt' });
    expect(await edit({ command: 'str_replace', path: 'a.txt', old_str: 'two\n' })).toMatchObject({
      ok: true,
    });
    const inserted = await edit({ command: 'insert', path: 'a.txt', insert_line: 0, insert_text: 'zero' });
    expect(inserted.text).toContain('inserted line 1 into a.txt');
    expect(text('a.txt')).toBe('zero\none\nthree\n');
    const made = await edit({ command: 'create', path: 'new/n.txt', file_text: 'n\n' });
    expect(made.text).toMatch(/^wrote 2 bytes to new\/n\.txt \(created\)\n/);
  });

  it.each([
    [{ command: 'create' }, 'file_text'],
    [{ command: 'str_replace' }, 'old_str'],
    [{ command: 'insert', insert_line: 1 }, 'insert_text'],
    [{ command: 'undo_edit' }, 'must be one of'],
  ])('refuses %j', async (args, reason) => {
    const { edit } = await editor();
    const refused = await edit({ path: 'a.txt', ...args });
    expect(refused).toMatchObject({ ok: false, outcome: { code: 'INVALID_ARGUMENT' } });
    expect(refused.text).toContain(reason);
  });
});

describe("the tools of Anthropic's agent toolset", () => {
  it('read, write, edit, find and search', async () => {
    const { call, text } = await open({ dialect: 'anthropic' });
    expect(await call('write', { file_path: 'a.txt', content: 'x' })).toMatchObject({
      outcome: { code: 'NOT_READ' },
      text: expect.stringContaining('Next: read {"file_path":"a.txt"}'),
    });
    expect((await call('read', { file_path: 'a.txt', view_range: [1, 2] })).text).toContain(
      'lines 1-2 of 3]',
    );
    await call('read', { file_path: 'a.txt' });
    expect((await call('edit', { file_path: 'a.txt', old_string: 'two', new_string: '2' })).ok).toBe(true);
    expect(text('a.txt')).toBe('one\n2\nthree\n');
    expect((await call('glob', { pattern: '**/*.ts' })).text).toBe('src/b.ts\n[1 file]');
    expect((await call('glob', { pattern: '*.rs' })).text).toBe('[no file matches *.rs]');
    expect((await call('grep', { pattern: 'const' })).text).toMatch(/^src\/b\.ts:1:const b = 1;\n/);
    expect((await call('grep', { pattern: 'nowhere' })).text).toBe('[nothing matches nowhere]');
  });

  it('offers bash only where commands are allowed', async () => {
    const without = await open({ dialect: 'anthropic' });
    expect(without.tools.map(({ name }) => name)).not.toContain('bash');
    const { tools } = await open({ dialect: 'anthropic', commands: true });
    expect(tools.map(({ name }) => name)).toContain('bash');
  });
});

describe('every dialect but filesystem', () => {
  it.each([
    ['sandbox', 'Read', { file_path: 'a.txt' }, 'Write', { file_path: 'a.txt', content: 'x' }],
    ['lace', 'file_read', { path: 'a.txt' }, 'file_write', { path: 'a.txt', content: 'x' }],
    ['anthropic', 'read', { file_path: 'a.txt' }, 'write', { file_path: 'a.txt', content: 'x' }],
  ] as const)('answers in the words of the default one: %s', async (dialect, read, file, write, content) => {
    const usual = await open({ dialect: 'lookfirst' });
    const { call } = await open({ dialect });
    const plain = ({ text }: { text: string }) => text.replace(/\b[0-9a-f]{8,}\b/g, 'ID');
    expect(plain(await call(read, file))).toBe(plain(await usual.call('read_file', { path: 'a.txt' })));
    expect(plain(await call(write, content))).toBe(
      plain(await usual.call('write_file', { path: 'a.txt', content: 'x' })),
    );
  });
});
