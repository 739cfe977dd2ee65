import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type ProxyOptions, runProxy } from '../../src/proxy/open-proxy.ts';
import type { WorkspaceOptions } from '../../src/session/sessions.ts';
import { OFFICIAL } from '../support/official-server.ts';
import { TestGate } from './gate.ts';
import { LineClient } from './line-client.ts';

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** The programs of official servers that tests start. */
export { OFFICIAL };
export const EVERYTHING: string = join(modules, '@modelcontextprotocol/server-everything/dist/index.js');

/** Makes a folder with a canonical path. The folder is removed when the test ends. */
export function scratch(parent: string = tmpdir()): string {
  const dir = realpathSync(mkdtempSync(join(parent, 'lookfirst-proxy-')));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export interface RunningProxy {
  readonly client: LineClient;
  readonly gate: TestGate;
  readonly code: Promise<number>;
  /** The proxy's messages to the user. */
  readonly errors: () => string;
}

/** Opens a gate on a folder. The gate is closed when the test ends. */
export async function openGate(root: string, options: Partial<WorkspaceOptions> = {}): Promise<TestGate> {
  const home = `${root}-state`;
  mkdirSync(home);
  const gate = await TestGate.open(root, home, options);
  onTestFinished(async () => {
    await gate.close();
    rmSync(home, { recursive: true, force: true });
  });
  return gate;
}

/**
 * Runs the proxy in this process, in front of a real server in another process. Both end when the
 * test ends.
 */
export async function startProxy(
  root: string,
  options: Partial<ProxyOptions>,
  workspace: Partial<WorkspaceOptions> = {},
): Promise<RunningProxy> {
  const { stop, ...running } = runAt(root, await openGate(root, workspace), options);
  onTestFinished(stop);
  return running;
}

/**
 * Starts the official filesystem server on a folder, behind a proxy that ends when the test ends.
 */
export async function official(
  root: string,
  options: Partial<ProxyOptions> = {},
  workspace: Partial<WorkspaceOptions> = {},
): Promise<RunningProxy> {
  const server = { command: process.execPath, args: [OFFICIAL, root] };
  const running = await startProxy(root, { ...server, ...options }, workspace);
  await running.client.initialize();
  return running;
}

/** A server behind the proxy that serves all tests of a file, until `stop`. */
export interface SharedProxy extends RunningProxy {
  readonly root: string;
  stop(): Promise<void>;
}

/**
 * Starts one official server, behind the proxy, for all tests of a test file. Each test makes its
 * own folder below `root`.
 */
export function officialForFile(): Promise<SharedProxy> {
  return serverForFile((root) => [OFFICIAL, root]);
}

/** Starts one server, a program that Node runs, behind the proxy, for all tests of a test file. */
export async function serverForFile(
  program: (root: string) => readonly string[],
  options: Partial<ProxyOptions> = {},
  workspace: Partial<WorkspaceOptions> = {},
): Promise<SharedProxy> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-proxy-')));
  const root = join(base, 'workspace');
  const home = join(base, 'state');
  mkdirSync(root);
  mkdirSync(home);
  const gate = await TestGate.open(root, home, workspace);
  const running = runAt(root, gate, { command: process.execPath, args: program(root), ...options });
  await running.client.initialize();
  const stop = async (): Promise<void> => {
    await running.stop();
    await gate.close();
    rmSync(base, { recursive: true, force: true });
  };
  return { ...running, root, stop };
}

function runAt(
  root: string,
  gate: TestGate,
  options: Partial<ProxyOptions>,
): RunningProxy & { stop(): Promise<void> } {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let errors = '';
  stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  const { session } = gate;
  const code = runProxy({ session, root, stdin, stdout, stderr, signals: [], cwd: root, ...options });
  code.catch(() => undefined);
  const stop = async (): Promise<void> => {
    stdin.end();
    await code.catch(() => undefined);
  };
  return { client: new LineClient(stdin, stdout), gate, code, errors: () => errors, stop };
}
