import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listenHttp } from '../../src/mcp/http.ts';
import { conformanceHost } from '../support/conformance-host.ts';
import { IS_LONG } from '../support/rounds.ts';
import { toolIn } from '../support/tools.mjs';
import { scratch } from '../support/tree.ts';

const project = join(import.meta.dirname, '../..');
const tools = join(project, 'test/conformance');
const node = (): Promise<string> => toolIn('conformance', `node-linux-${process.arch}/bin/node`);
const command = join(project, 'dist/bin/lookfirst.js');
const TOKEN = 'a-token-for-this-test';
const PORT = /:(\d+)\/mcp/;

/** True on platforms for which npm offers the newer Node that the conformance suite needs. */
const runnable = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
if (!runnable)
  process.stderr.write(
    `skipped: conformance needs a Node for linux-x64 or linux-arm64, and this is ${process.platform}-${process.arch}\n`,
  );

/**
 * Scenarios that call tools by name. They run against our HTTP transport, with tools that answer as
 * the suite expects. Scenarios of optional features that we do not offer, such as prompts, are left
 * out.
 */
const WITH_FIXTURES = {
  '2025-11-25': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-error',
    'tools-call-with-progress',
    'tools-call-elicitation',
    'json-schema-2020-12',
  ],
  '2026-07-28': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-error',
    'tools-call-with-progress',
    'json-schema-2020-12',
    'input-required-result-unsupported-methods',
  ],
};

/** Scenarios that need no fixture tools, resources or prompts. */
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
      await expectPassed(await frontOf(await serveFolder()), scenarios, version);
    },
  );

  it.each(Object.entries(WITH_FIXTURES))(
    'conformance with %s: no scenario with fixture tools fails',
    async (version, scenarios) => {
      const server = await listenHttp({ host: conformanceHost(), token: TOKEN, log: () => {} });
      onTestFinished(() => server.close());
      await expectPassed(await frontOf(server.port), scenarios, version);
    },
  );

  it('a stateless server passes every check that its tools can satisfy', async () => {
    const server = await listenHttp({ host: conformanceHost(), token: TOKEN, log: () => {} });
    onTestFinished(() => server.close());
    const url = await frontOf(server.port);
    const scenario = ['--scenario', 'server-stateless', '--spec-version', '2026-07-28', '--force'];
    const output = await conformance(['--url', url, ...scenario]);
    // Two checks fail as expected: they need a tool that requires a client capability, and we have
    // no such tool.
    expect(output).toMatch(/Passed: 26\/28, 2 failed/);
    expect(output.match(/Error: .*/g)).toEqual([
      expect.stringContaining("does not list the diagnostic tool 'test_missing_capability'"),
      expect.stringContaining('so the -32021 HTTP status could not be validated'),
    ]);
  });

  it.each(IS_LONG ? ['lookfirst', 'sandbox', 'lace', 'filesystem'] : ['lookfirst'])(
    'the inspector reports no problem in the tools of %s',
    async (dialect) => {
      const { root, home, base } = scratch();
      const args = [
        'node_modules/.bin/mcp-inspector',
        '--cli',
        await node(),
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
      const output = await execFileAsync(await node(), args, { HOME: base, LOOKFIRST_HOME: home });
      expect(output).toContain('"inputSchema"');
    },
  );
});

/**
 * Runs the whole suite in one process, because each start takes longer than all scenarios. Then
 * expects that the given scenarios passed.
 */
async function expectPassed(url: string, scenarios: readonly string[], version: string): Promise<void> {
  const output = await conformance(['--url', url, '--suite', 'all', '--spec-version', version]);
  const lines = output.matchAll(/^\S (\S+): (\d+ passed, \d+ failed)/gm);
  const results = new Map([...lines].map(([, scenario, result]) => [scenario, result]));
  for (const scenario of scenarios)
    expect(results.get(scenario), scenario).toMatch(/^[1-9]\d* passed, 0 failed$/);
}

async function conformance(args: readonly string[]): Promise<string> {
  const program = 'node_modules/@modelcontextprotocol/conformance/dist/index.js';
  return execFileAsync(await node(), [program, 'server', ...args]);
}

/** Serves a folder over HTTP with the built program; returns its port. */
async function serveFolder(): Promise<number> {
  const { root, home } = scratch();
  const env = { ...process.env, LOOKFIRST_HOME: home, LOOKFIRST_TOKEN: TOKEN };
  const server = spawn(process.execPath, [command, 'serve', root, '--http'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void server.kill());
  let told = '';
  server.stderr.on('data', (chunk: Buffer) => {
    told += chunk;
  });
  await expect.poll(() => told).toMatch(PORT);
  return Number(PORT.exec(told)?.[1]);
}

/**
 * Starts a listener that adds the access token to each request, because the suite cannot send it.
 * Returns the listener's address.
 */
async function frontOf(port: number): Promise<string> {
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
  // The cast is safe: the address of a TCP server is an object.
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`;
}

/**
 * Runs a program without blocking, because the program calls our own HTTP listener in this process.
 */
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
