import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OFFICIAL, official, scratch } from './harness.ts';

const read = (path: string) => readFileSync(path, 'utf8');

/** The server may use the folders `inside` and `outside`, but the gate allows only `inside`. */
async function narrow() {
  const base = scratch();
  const root = join(base, 'inside');
  const outside = join(base, 'outside');
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  return { ...(await official(root, { args: [OFFICIAL, base] })), root, outside };
}

describe('the official server with a wider root than the gate', () => {
  it('refuses a repeated read after the path became a link to the outside', async () => {
    const { client, root, outside } = await narrow();
    const path = join(root, 'a.txt');
    const readIt = () => client.call('read_text_file', { path });
    writeFileSync(path, 'one\n');
    await readIt();
    expect(await readIt()).toMatchObject({ ok: true, text: 'one\n' });
    rmSync(path);
    symlinkSync(join(outside, 'secret.txt'), path);
    const kept = await readIt();
    expect(kept).toMatchObject({ ok: false, code: 'OUTSIDE_WORKSPACE' });
    expect(JSON.stringify(kept.answer)).not.toContain('"secret"');
    rmSync(path);
    writeFileSync(path, 'two\n');
    expect(await readIt()).toMatchObject({ ok: true, text: 'two\n' });
    expect((await client.call('write_file', { path, content: 'x\n' })).ok).toBe(true);
    const ids = client.lines.map((line) => JSON.parse(line).id);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('records a repeated read for the right file after the path became a link to it', async () => {
    const { client, root } = await narrow();
    const [path, other] = [join(root, 'a.txt'), join(root, 'b.txt')];
    const readIt = () => client.call('read_text_file', { path });
    writeFileSync(path, 'one\n');
    writeFileSync(other, 'other\n');
    await readIt();
    rmSync(path);
    symlinkSync('b.txt', path);
    const write = () => client.call('write_file', { path: other, content: 'x\n' });
    expect((await write()).ok).toBe(false);
    expect(await readIt()).toMatchObject({ ok: true, text: 'other\n' });
    expect((await write()).ok).toBe(true);
  });

  it('refuses to read, list, search, write and make folders outside the root, although the server would allow it', async () => {
    const { client, outside } = await narrow();
    const secret = join(outside, 'secret.txt');
    const path = join(outside, 'new');
    const calls: [string, object][] = [
      ['read_text_file', { path: secret }],
      ['read_media_file', { path: secret }],
      ['read_multiple_files', { paths: [secret] }],
      ['list_directory', { path: outside }],
      ['directory_tree', { path: outside }],
      ['search_files', { path: outside, pattern: '*' }],
      ['get_file_info', { path: secret }],
      ['write_file', { path, content: 'x' }],
      ['create_directory', { path }],
      ['move_file', { source: secret, destination: path }],
      ['edit_file', { path: secret, edits: [{ oldText: 'secret', newText: 'x' }], dryRun: true }],
    ];
    for (const [tool, args] of calls) {
      const answer = await client.call(tool, args);
      expect(answer, tool).toMatchObject({ ok: false, code: 'OUTSIDE_WORKSPACE' });
      expect(JSON.stringify(answer.answer)).not.toContain('"secret"');
    }
    expect(existsSync(path)).toBe(false);
    expect(read(secret)).toBe('secret');
  });

  it('refuses only the outside file of read_multiple_files and answers the rest', async () => {
    const { client, outside, root } = await narrow();
    const secret = join(outside, 'secret.txt');
    const inside = ['in-1.txt', 'in-2.txt'].map((name) => join(root, name));
    for (const path of inside) writeFileSync(path, `${path}\n`);
    const [first = '', second = ''] = inside;
    const many = await client.call('read_multiple_files', { paths: [first, secret, second] });
    expect(many).toMatchObject({ ok: true });
    expect(many.text).toContain(`${first}:\n${first}\n`);
    const all = JSON.stringify(many.answer);
    expect(all).toContain(`${secret}: Error - Access denied - path outside allowed directories: ${secret}`);
    expect(all).toContain('refusing to read');
    expect(all).toContain('[OUTSIDE_WORKSPACE]');
    expect(all).not.toContain(`${secret}:\\nsecret`);
    for (const path of inside)
      expect((await client.call('write_file', { path, content: 'x\n' })).ok).toBe(true);
  });

  it('sends the rest of such a call as one line', async () => {
    const base = scratch();
    const [root, log] = [join(base, 'inside'), join(base, 'log')];
    mkdirSync(root);
    writeFileSync(join(root, 'a.txt'), 'a\n');
    const args = ['-c', `tee ${log} | ${process.execPath} ${OFFICIAL} ${base}`];
    const { client } = await official(root, { command: 'sh', args });
    await client.call('read_multiple_files', { paths: [join(root, 'a.txt'), log] });
    const lines = read(log).split('\n');
    expect(lines.at(-2)).toContain('read_multiple_files');
    expect(lines.slice(0, -1)).not.toContain('');
  });

  it('resolves relative paths from the root, as the server does', async () => {
    const root = scratch();
    writeFileSync(join(root, 'a.txt'), 'old\n');
    const { client } = await official(root);
    expect(await client.call('write_file', { path: 'a.txt', content: 'x' })).toMatchObject({
      code: 'NOT_READ',
    });
    await client.call('read_text_file', { path: 'a.txt' });
    expect((await client.call('write_file', { path: 'a.txt', content: 'x' })).ok).toBe(true);
    expect(read(join(root, 'a.txt'))).toBe('x');
  });
});
