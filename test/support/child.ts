import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { onTestFinished } from 'vitest';
import { type OrdinaryUser, ordinaryModule, ordinaryNode } from './nobody.ts';
import { type End, WatchedChild } from './watched-child.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const ready = new Map<string, Promise<string>>();

/**
 * A child process of a test: `test/children/NAME.ts` with one JSON argument, run from the current sources and not from
 * an earlier build. It is ended with the test that started it. `command` starts it, if given; `user` runs it.
 */
export async function startChild(
  name: string,
  argument: object,
  command: readonly string[] = [],
  user: OrdinaryUser = {},
): Promise<Child> {
  let bundle = ready.get(name);
  if (bundle === undefined) {
    bundle = bundled(name);
    ready.set(name, bundle);
  }
  const [node, file] =
    user.uid === undefined
      ? [process.execPath, await bundle]
      : [ordinaryNode(), ordinaryModule(await bundle)];
  const [tool = '', ...args] = [...command, node, file, JSON.stringify(argument)];
  const child = spawn(tool, args, { stdio: ['ignore', 'inherit', 'pipe', 'ipc'], ...user });
  // Show the child's messages at once, and again in the error if it ends too early.
  child.stderr?.on('data', (chunk: string) => process.stderr.write(chunk));
  const started = new Child(child);
  onTestFinished(() => started.end());
  return started;
}

/** One running child. Its messages are what it sends with `process.send`. */
export class Child {
  readonly process: ChildProcess;
  readonly #messages: unknown[] = [];
  readonly #watched: WatchedChild;
  #arrived: () => void = () => {};

  constructor(child: ChildProcess) {
    this.process = child;
    child.on('message', (message) => {
      this.#messages.push(message);
      this.#arrived();
    });
    this.#watched = new WatchedChild(child);
  }

  /** Number of messages that were not taken yet. */
  get waiting(): number {
    return this.#messages.length;
  }

  /** The next message. Fails if the child ends without one. */
  async message<T>(): Promise<T> {
    while (this.#messages.length === 0) {
      const arrived = new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
      await this.#watched.whileRunning(arrived);
    }
    // Both ends of the pipe are ours, so the type of the message is known.
    return this.#messages.shift() as T;
  }

  send(message: string): void {
    this.process.send(message);
  }

  exit(): Promise<End> {
    return this.#watched.ended;
  }

  end(): void {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL');
  }
}

/** Bundles a child, unless another process of this test run has done so. */
async function bundled(name: string): Promise<string> {
  const folder = process.env['TEST_CHILDREN'];
  if (folder === undefined) throw new Error('test/support/test-run.ts sets TEST_CHILDREN');
  const file = join(folder, `${name}.mjs`);
  if (existsSync(file)) return file;
  const own = join(folder, `${name}-${process.pid}.mjs`);
  await build({
    input: join(project, `test/children/${name}.ts`),
    platform: 'node',
    logLevel: 'silent',
    external: [/^node:/, 'picomatch', 'jsonc-parser', 'fs-native-extensions', '@photostructure/sqlite'],
    output: { file: own, format: 'esm', codeSplitting: false },
  });
  renameSync(own, file);
  return file;
}
