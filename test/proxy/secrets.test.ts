import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { PolicyOverrides } from '../../src/config/resolve-policy.ts';
import { official, scratch, startProxy } from './harness.ts';

const ODD = fileURLToPath(new URL('../children/odd-server.mjs', import.meta.url));
const TOKEN = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
const PASSWORD = 'correct-horse-9';

function prepared() {
  const root = scratch();
  const put = (path: string, text: string) => writeFileSync(join(root, path), text);
  mkdirSync(join(root, 'sub'));
  put('.env', `# the settings\nPASSWORD=${PASSWORD}\nTOKEN=${TOKEN}\n`);
  put('sub/.env', `PASSWORD=${PASSWORD}-too\n`);
  put('notes.md', `The token is ${TOKEN}.\nKeep it.\n`);
  put('plain.txt', 'nothing here\n');
  return { root, path: (name: string) => join(root, name) };
}

describe('secrets in the answers of the official server', () => {
  async function open(policy: PolicyOverrides = {}) {
    const { root, path } = prepared();
    const { client } = await official(root, {}, { policy });
    return { client, path };
  }

  it.each([
    ['a secret file', 'read_text_file', '.env', {}],
    ['lines of a secret file', 'read_text_file', '.env', { head: 2 }],
    ['a file with a token', 'read_text_file', 'notes.md', {}],
    ['a file with a token, by the old tool', 'read_file', 'notes.md', {}],
  ])('are masked in the text and in structuredContent: %s', async (_what, tool, name, more) => {
    const { client, path } = await open();
    const { ok, text, answer } = await client.call(tool, { path: path(name), ...more });
    expect([ok, text]).toEqual([true, expect.stringContaining('[masked]')]);
    expect(answer).toMatchObject({ result: { content: [{ type: 'text' }] } });
    expect(JSON.stringify(answer)).not.toMatch(new RegExp(`${TOKEN}|${PASSWORD}`));
  });

  it('are masked in an answer about several files, and nothing else is', async () => {
    const { client, path } = await open();
    const paths = ['plain.txt', '.env', 'sub/.env', 'notes.md'].map(path);
    const { text, answer } = await client.call('read_multiple_files', { paths });
    expect(JSON.stringify(answer)).not.toMatch(new RegExp(`${TOKEN}|${PASSWORD}`));
    expect(text).toContain('nothing here');
    expect(text).toContain('# the settings\nPASSWORD=[masked]');
    // Only files without masks count as seen whole.
    const write = (name: string) => client.call('write_file', { path: path(name), content: 'x\n' });
    expect((await write('plain.txt')).ok).toBe(true);
    for (const name of ['.env', 'sub/.env', 'notes.md'])
      expect(await write(name)).toMatchObject({ code: 'REDACTED_READ' });
  });

  it('a masked read licenses edits of other lines, and the diff in the answer is masked', async () => {
    const { client, path } = await open();
    await client.call('read_text_file', { path: path('.env') });
    const edit = (oldText: string, newText: string) =>
      client.call('edit_file', { path: path('.env'), edits: [{ oldText, newText }] });
    expect(await edit('PASSWORD=[masked]', 'PASSWORD=x')).toMatchObject({ ok: false });
    const done = await edit('# the settings', '# all settings');
    expect([done.ok, done.text]).toEqual([true, expect.stringContaining('+# all settings')]);
    expect(JSON.stringify(done.answer)).not.toMatch(new RegExp(`${TOKEN}|${PASSWORD}`));
    expect(readFileSync(path('.env'), 'utf8')).toContain(`PASSWORD=${PASSWORD}\nTOKEN=${TOKEN}`);
  });

  it('are shown if the policy says so, and the server’s answer passes unchanged', async () => {
    const { client, path } = await open({ secrets: 'show' });
    const { text } = await client.call('read_text_file', { path: path('.env') });
    expect(text).toBe(readFileSync(path('.env'), 'utf8'));
    const write = await client.call('write_file', { path: path('.env'), content: 'x\n' });
    expect(write.ok).toBe(true);
  });

  it('an image passes unchanged', async () => {
    const { client, path } = await open();
    const bytes = Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 7919) % 256));
    writeFileSync(path('a.png'), bytes);
    const { answer } = await client.call('read_media_file', { path: path('a.png') });
    expect(answer.result.content[0].data).toBe(bytes.toString('base64'));
  });
});

describe('secrets in the answers of a server that no table describes', () => {
  it.each([
    ['read_text_file', (path: string) => ({ path })],
    ['show_numbered', (path: string) => ({ path })],
    ['show_object', (path: string) => ({ path })],
    ['read_several', (path: string) => ({ paths: [path, path] })],
    ['print', (path: string) => ({ command: `cat ${path}` })],
  ])('are masked: %s', async (tool, args) => {
    const { root, path } = prepared();
    const server = { command: process.execPath, args: [ODD, 'nobody-knows-me'], graceMs: 200 };
    const { client } = await startProxy(root, server);
    await client.initialize();
    const { ok, answer } = await client.call(tool, args(path('.env')));
    expect(ok).toBe(true);
    expect(JSON.stringify(answer)).not.toMatch(new RegExp(`${TOKEN}|${PASSWORD}`));
  });

  it.each(['show', 'show_numbered', 'show_object'])('and license no overwrite: %s', async (tool) => {
    const { root, path } = prepared();
    const server = { command: process.execPath, args: [ODD, 'nobody-knows-me'], graceMs: 200 };
    const { client } = await startProxy(root, server);
    await client.initialize();
    await client.call(tool, { path: path('.env') });
    const save = { file_path: path('.env'), text: 'PASSWORD=x\n' };
    expect(await client.call('save', save)).toMatchObject({ code: 'REDACTED_READ' });
    expect(readFileSync(path('.env'), 'utf8')).toContain(PASSWORD);
  });
});
