import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { onTestFinished } from 'vitest';
import { type End, WatchedChild } from '../support/watched-child.ts';
import { LineClient } from './line-client.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
// The folder of the bundled proxy. It is inside the project, so that the bundle can import the
// project's packages. Each test process has its own folder.
const folder = join(
  project,
  `node_modules/.cache/lookfirst-proxy-${process.getuid?.() ?? ''}/${process.pid}`,
);
let bundle: Promise<string> | undefined;

/** The proxy as a separate process, run from the current sources. */
export class ProxyProcess {
  readonly child: ChildProcess;
  readonly client: LineClient;
  readonly #watched: WatchedChild;

  private constructor(child: ChildProcess) {
    this.child = child;
    if (child.stdin === null || child.stdout === null || child.stderr === null) throw new Error('no pipes');
    this.#watched = new WatchedChild(child);
    this.client = new LineClient(child.stdin, child.stdout, () => this.errors);
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
  }

  static async start(
    root: string,
    command: string,
    args: readonly string[],
    options: { readonly graceMs?: number } = {},
  ): Promise<ProxyProcess> {
    const [node = '', ...rest] = await proxyCommand({ root, command, args, ...options });
    const child = spawn(node, rest, {
      cwd: root,
      env: { ...process.env, LOOKFIRST_TEST: 'passed on' },
    });
    return new ProxyProcess(child);
  }

  get errors(): string {
    return this.#watched.errors;
  }

  get exited(): Promise<End> {
    return this.#watched.ended;
  }

  /** Resolves when the process has written this to stderr. Fails if the process ends first. */
  async said(text: string): Promise<void> {
    while (!this.errors.includes(text))
      await this.#watched.whileRunning(once(this.child.stderr ?? this.child, 'data'));
  }
}

/** The command line of the proxy in front of another command. */
export async function proxyCommand(argument: {
  readonly root: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly graceMs?: number;
}): Promise<string[]> {
  bundle ??= bundled();
  const home = `${argument.root}-state`;
  mkdirSync(home, { recursive: true });
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return [process.execPath, await bundle, JSON.stringify({ ...argument, home })];
}

/** True while a process runs. False for a process that has ended and waits for its parent. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Resolves when a process has ended. Fails at the test's time limit. */
export async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function bundled(): Promise<string> {
  mkdirSync(folder, { recursive: true });
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'proxy.mjs');
  await build({
    input: join(project, 'test/children/proxy.ts'),
    platform: 'node',
    logLevel: 'silent',
    external: [/^node:/, 'picomatch', 'fs-native-extensions', '@photostructure/sqlite', '@vscode/ripgrep'],
    output: { file, format: 'esm', codeSplitting: false },
  });
  return file;
}
