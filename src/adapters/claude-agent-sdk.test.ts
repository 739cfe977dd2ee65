import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { desk } from '../../test/support/desk.ts';
import { lookfirstServer } from './claude-agent-sdk.ts';

/** A transport like that of the SDK: `send` fails after `close`. */
class EndingTransport {
  readonly tried: object[] = [];
  onmessage: (message: unknown) => void = () => {};
  onclose: () => void = () => {};
  #isClosed = false;

  async start(): Promise<void> {}

  async send(message: object): Promise<void> {
    this.tried.push(message);
    if (this.#isClosed) throw new Error('Transport is closed');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.onclose();
  }
}

it('a call whose query has ended changes nothing, and its answer is dropped without an error', async () => {
  const t = await desk({});
  const transport = new EndingTransport();
  // The cast is needed because this project compiles without the SDK's types.
  const server = lookfirstServer(t.session).instance as { connect(to: EndingTransport): Promise<void> };
  await server.connect(transport);
  const params = { name: 'write_file', arguments: { path: 'a.txt', content: 'x' } };
  transport.onmessage({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  await transport.close();
  await expect.poll(() => transport.tried).toHaveLength(1);
  // An unhandled rejection would be reported now, and would fail this test.
  await setImmediate();
  expect(existsSync(join(t.root, 'a.txt'))).toBe(false);
});
