import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { official, scratch } from './harness.ts';

it('a change of line endings by the server is reported', async () => {
  const root = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'one\r\ntwo\r\nthree\r\n');
  const { client } = await official(root);
  await client.call('read_text_file', { path });
  const answer = await client.call('edit_file', { path, edits: [{ oldText: 'two', newText: 'TWO' }] });
  expect(answer.ok).toBe(true);
  expect(readFileSync(path, 'utf8')).not.toContain('\r');
  expect(answer.text).toMatch(/line endings/);
});

it('an edit that keeps line endings and encoding gets no notice', async () => {
  const root = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'one\ntwo\n');
  const { client } = await official(root);
  await client.call('read_text_file', { path });
  const answer = await client.call('edit_file', { path, edits: [{ oldText: 'two', newText: 'TWO' }] });
  expect(answer.text).not.toMatch(/form/);
});
