import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { EVERYTHING, scratch, startProxy } from './harness.ts';
import { LineClient, type Message } from './line-client.ts';

const RECORDER = fileURLToPath(new URL('../children/recorder.mjs', import.meta.url));

const CAPABILITIES = {
  roots: { listChanged: true },
  sampling: {},
  elicitation: { form: {}, url: {} },
  experimental: { 'dev.example/odd': { any: ['thing'] } },
};

/**
 * Calls everything that the server offers, in a fixed order. Ends when every answer and every request of the server has
 * arrived.
 */
async function conversation(client: LineClient): Promise<void> {
  const asked = (method: string) => client.next((message) => message.method === method);
  client.replies.set('roots/list', () => ({ roots: [{ uri: 'file:///tmp/elsewhere', name: 'elsewhere' }] }));
  client.replies.set('sampling/createMessage', () => ({
    role: 'assistant',
    model: 'none',
    content: { type: 'text', text: 'sampled' },
  }));
  client.replies.set('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
  await client.initialize(CAPABILITIES);
  await asked('roots/list');
  await asked('notifications/message');
  for (const list of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])
    await pages(client, list);
  await client.request('logging/setLevel', { level: 'debug' });
  await client.call('echo', { message: 'ü \u2028 "quoted" \\u0041' });
  await client.call('get-sum', { a: 1, b: 2 });
  await client.call('get-env');
  await client.call('get-tiny-image');
  await client.call('get-structured-content', { location: 'New York' });
  await client.call('get-annotated-message', { messageType: 'error', includeImage: true });
  await client.call('get-resource-links', { count: 3 });
  await client.call('get-roots-list');
  await client.call('no-such-tool');
  await client.call('trigger-sampling-request', { prompt: 'say', maxTokens: 5 });
  await client.call('trigger-elicitation-request');
  await client.request('tools/call', {
    name: 'trigger-long-running-operation',
    arguments: { duration: 0.1, steps: 4 },
    _meta: { progressToken: 'tök-1' },
  });
  await client.request('prompts/get', { name: 'simple-prompt' });
  await client.request('prompts/get', { name: 'args-prompt', arguments: { city: 'Ulm' } });
  await client.request('completion/complete', {
    ref: { type: 'ref/prompt', name: 'completable-prompt' },
    argument: { name: 'department', value: 'E' },
  });
  const uri = 'demo://resource/dynamic/text/1';
  await client.request('resources/subscribe', { uri });
  await client.request('resources/unsubscribe', { uri });
  await client.request('resources/read', { uri: 'demo://resource/nowhere' });
  client.notify('notifications/roots/list_changed');
  await asked('roots/list');
  // This call is cancelled, so it must not be answered.
  const cancelled = { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 1 } };
  client.send({ jsonrpc: '2.0', id: 'to be cancelled', method: 'tools/call', params: cancelled });
  client.notify('notifications/cancelled', { requestId: 'to be cancelled', reason: 'changed my mind' });
  await client.request('ping', {}, 'ïd with "quotes"');
  await client.request('ping', {}, 0);
  await client.request('no/such/method', { deep: [{ id: 5, method: 'tools/call' }] });
  await client.request(
    'tools/call',
    { name: 'echo', arguments: { message: 'late', method: 'tools/list' } },
    -7,
  );
}

async function pages(client: LineClient, method: string): Promise<void> {
  let cursor: unknown;
  do {
    const page: Message = await client.request(method, cursor === undefined ? {} : { cursor });
    cursor = page.result?.nextCursor;
  } while (cursor !== undefined);
}

function direct(command: readonly string[]): { client: LineClient; child: ChildProcess } {
  const child = spawn(process.execPath, [...command], { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  if (child.stdin === null || child.stdout === null) throw new Error('no pipes');
  return { client: new LineClient(child.stdin, child.stdout), child };
}

/** Replaces values that differ between any two runs of the server. */
const steady = (line: string) =>
  line.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replace(/\d{1,2}:\d\d:\d\d [AP]M/g, 'TIME');

it('every exchange with the everything server is the same with and without the proxy, byte for byte', async () => {
  const folder = scratch();
  const files = { direct: join(folder, 'direct'), proxied: join(folder, 'proxied') };
  const plain = direct([RECORDER, files.direct, process.execPath, EVERYTHING, 'stdio']);
  await conversation(plain.client);
  plain.client.end();
  await once(plain.child, 'exit');
  const proxied = await startProxy(folder, {
    command: process.execPath,
    args: [RECORDER, files.proxied, process.execPath, EVERYTHING, 'stdio'],
    cwd: process.cwd(),
  });
  await conversation(proxied.client);
  proxied.client.end();
  expect(await proxied.code).toBe(0);
  expect(proxied.client.lines.length).toBeGreaterThan(40);
  expect(proxied.client.lines.map(steady)).toEqual(plain.client.lines.map(steady));
  expect(readFileSync(files.proxied, 'utf8')).toBe(readFileSync(files.direct, 'utf8'));
});
