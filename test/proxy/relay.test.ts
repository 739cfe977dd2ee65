import { createServer, type RequestListener } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { serveProxy } from '../../src/proxy/front-http.ts';
import { listenLocally } from '../../src/wire/http.ts';
import { openGate, scratch } from './harness.ts';

/** The proxy as an HTTP server, in front of a server in this process. Returns the proxy's URL. */
async function relay(root: string, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  const url = `http://127.0.0.1:${await listenLocally(server, 0)}/mcp`;
  const { session } = await openGate(root);
  const stderr = new PassThrough().resume();
  const served = await serveProxy({ session, root, stderr, token: undefined, cwd: root, url });
  onTestFinished(async () => {
    await served.close();
    server.close();
  });
  return served.url;
}

it('the answer to a client breaks off if the server breaks off its own', async () => {
  const url = await relay(scratch(), (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(': begun\n\n', () => res.destroy());
  });
  const response = await fetch(url);
  await expect(response.text()).rejects.toThrow();
});
