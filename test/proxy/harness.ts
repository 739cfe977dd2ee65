import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type ProxyOptions, runProxy } from '../../src/proxy/run-proxy.ts';
import { LineClient } from './line-client.ts';
import { SketchSession } from './sketch-session.ts';

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** Commands of real servers. */
export const OFFICIAL: string = join(modules, '@modelcontextprotocol/server-filesystem/dist/index.js');
export const EVERYTHING: string = join(modules, '@modelcontextprotocol/server-everything/dist/index.js');

/** A fresh folder, canonical, removed with the test. */
export function scratch(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-proxy-')));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export interface RunningProxy {
  readonly client: LineClient;
  readonly session: SketchSession;
  readonly code: Promise<number>;
  /** What it said to people. */
  readonly errors: () => string;
}

/** Runs the proxy in this process, in front of a real server in another. */
export function startProxy(root: string, options: Partial<ProxyOptions>): RunningProxy {
  const session = new SketchSession(root);
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let errors = '';
  stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  const code = runProxy({ session, stdin, stdout, stderr, signals: [], cwd: root, ...options });
  onTestFinished(async () => {
    stdin.end();
    await code.catch(() => {});
    session.close();
  });
  return { client: new LineClient(stdin, stdout), session, code, errors: () => errors };
}

/** The official filesystem server on a folder, behind the proxy. */
export async function official(root: string, options: Partial<ProxyOptions> = {}): Promise<RunningProxy> {
  const running = startProxy(root, { command: process.execPath, args: [OFFICIAL, root], ...options });
  await running.client.initialize();
  return running;
}
