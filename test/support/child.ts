import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { onTestFinished } from 'vitest';

const project = fileURLToPath(new URL('../..', import.meta.url));
const ready = new Map<string, Promise<string>>();

/**
 * A child process of a test: `test/children/NAME.ts` with one JSON argument, run from the current sources and not from
 * an earlier build. It is ended with the test that started it.
 */
export async function startChild(
  name: string,
  argument: object,
  command: readonly string[] = [],
): Promise<Child> {
  let bundle = ready.get(name);
  if (bundle === undefined) {
    bundle = bundled(name);
    ready.set(name, bundle);
  }
  const args = [await bundle, JSON.stringify(argument)];
  const [tool, ...before] = command;
  const child =
    tool === undefined
      ? fork(args[0] ?? '', args.slice(1), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      : spawn(tool, [...before, process.execPath, ...args], {
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        });
  const started = new Child(child);
  onTestFinished(() => started.end());
  return started;
}

/** One running child. Its messages are what it sends with `process.send`. */
export class Child {
  readonly process: ChildProcess;
  readonly #messages: unknown[] = [];
  readonly #exited: Promise<{ code: number | null; signal: string | null }>;
  #arrived: () => void = () => {};

  constructor(child: ChildProcess) {
    this.process = child;
    child.on('message', (message) => {
      this.#messages.push(message);
      this.#arrived();
    });
    this.#exited = once(child, 'exit').then(([code, signal]) => {
      this.#arrived();
      return { code, signal };
    });
  }

  /** Number of messages that were not taken yet. */
  get waiting(): number {
    return this.#messages.length;
  }

  /** The next message. Fails if the child ends without one. */
  async message<T>(): Promise<T> {
    while (this.#messages.length === 0) {
      if (this.process.exitCode !== null || this.process.signalCode !== null)
        throw new Error(`the child ended early: ${this.process.exitCode ?? this.process.signalCode}`);
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
    // Both ends of the pipe are ours, so the type of the message is known.
    return this.#messages.shift() as T;
  }

  send(message: string): void {
    this.process.send(message);
  }

  exit(): Promise<{ code: number | null; signal: string | null }> {
    return this.#exited;
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
    external: [/^node:/, 'picomatch', 'fs-native-extensions', '@photostructure/sqlite'],
    output: { file: own, format: 'esm', codeSplitting: false },
  });
  renameSync(own, file);
  return file;
}
