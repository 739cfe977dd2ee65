import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { official, scratch } from './harness.ts';

async function open(receipts: boolean) {
  const root = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'one\ntwo\nthree\n');
  return { ...(await official(root, { receipts })), path };
}

const revisionIn = (text: string) => / revision (\w+)\]/.exec(text)?.[1];

describe('receipts', () => {
  it('are off by default: nothing is added to any answer', async () => {
    const { client, path } = await open(false);
    expect((await client.call('read_text_file', { path })).text).toBe('one\ntwo\nthree\n');
    const { tools } = (await client.request('tools/list')).result;
    expect(JSON.stringify(tools)).not.toContain('revision');
  });

  it('follow the text that was read, also in structured content that repeats the text', async () => {
    const { client, path } = await open(true);
    const part = await client.call('read_text_file', { path, head: 2 });
    expect(part.text).toContain(`[read ${path} lines 1-2 of 3]`);
    const whole = await client.call('read_text_file', { path });
    expect(whole.text).toMatch(/\[read .*a\.txt lines 1-3 of 3 revision [0-9a-f]{12}\]$/);
    expect(whole.answer.result.structuredContent.content).toMatch(/^one\ntwo\nthree\n\n\[read /);
    const many = await client.call('read_multiple_files', { paths: [path, path] });
    expect(many.text.match(/\[read /g)).toHaveLength(2);
  });

  it('give the revision that a change may pass back; the server never gets that argument', async () => {
    const { client, path } = await open(true);
    const { tools } = (await client.request('tools/list')).result;
    const schemas = new Map<string, { properties: object }>(
      tools.map((tool: { name: string; inputSchema: object }) => [tool.name, tool.inputSchema]),
    );
    expect(schemas.get('write_file')?.properties).toHaveProperty('expected_revision');
    expect(schemas.get('edit_file')?.properties).toHaveProperty('expected_revision');
    expect(schemas.get('read_text_file')?.properties).not.toHaveProperty('expected_revision');
    const revision = revisionIn((await client.call('read_text_file', { path })).text);
    const write = (content: string) =>
      client.call('write_file', { path, content, expected_revision: revision });
    expect((await write('first\n')).ok).toBe(true);
    expect(await write('second\n')).toMatchObject({ code: 'REVISION_MISMATCH' });
    expect(readFileSync(path, 'utf8')).toBe('first\n');
  });
});
