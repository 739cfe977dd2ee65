import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { official, scratch } from './harness.ts';

const COMPACTED = { 'dev.lookfirst/context': 'compacted' };

async function afterRead() {
  const root = scratch();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'one\n');
  const { client, gate, errors } = await official(root);
  await client.call('read_text_file', { path });
  const write = (meta: object) =>
    client.request('tools/call', {
      name: 'write_file',
      arguments: { path, content: 'two\n' },
      _meta: meta,
    });
  return { client, gate, errors, path, write };
}

it('a call that reports a compaction is judged after the compaction', async () => {
  const { path, write } = await afterRead();
  expect((await write(COMPACTED)).result.isError).toBe(true);
  expect(readFileSync(path, 'utf8')).toBe('one\n');
});

it('any other request may report a compaction, and the server behind the proxy gets the request', async () => {
  const { client, write } = await afterRead();
  const listed = await client.request('tools/list', { _meta: COMPACTED });
  expect(listed.result.tools).toHaveLength(14);
  expect((await write({})).result.isError).toBe(true);
});

it('the compaction notification is not passed to the server', async () => {
  const { client, errors, write } = await afterRead();
  client.send({ jsonrpc: '2.0', method: 'notifications/dev.lookfirst/compacted' });
  expect((await write({})).result.isError).toBe(true);
  expect(errors()).not.toContain('compacted');
});

it('without a compaction the same write passes, and the turn is recorded', async () => {
  const { gate, write } = await afterRead();
  expect((await write({ 'dev.lookfirst/turn': 'prompt-2' })).result.isError).toBeUndefined();
  expect((await gate.log()).some((line) => line.startsWith('turn'))).toBe(true);
});

it('a mark with an unknown value is an error', async () => {
  const { path, write } = await afterRead();
  const { error } = await write({ 'dev.lookfirst/context': 'forgotten' });
  expect(error?.message).toContain('must be "compacted"');
  expect(readFileSync(path, 'utf8')).toBe('one\n');
});
