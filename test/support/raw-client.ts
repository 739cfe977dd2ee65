import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WatchedChild } from './watched-child.ts';

/** One JSON-RPC message as it came over the wire. */
export interface Wire {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  readonly params?: Record<string, unknown>;
}

/** A client without an SDK: writes lines to a child process and reads its lines. */
export class RawClient {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #watched: WatchedChild;
  readonly #received: Wire[] = [];
  readonly #waiting: { match: (message: Wire) => boolean; found: (message: Wire) => void }[] = [];
  #parts: string[] = [];
  #id = 0;

  /**
   * Starts a child process. Default: Node, with the environment and the working directory of this
   * process.
   */
  constructor(
    args: readonly string[],
    options: { program?: string; env?: NodeJS.ProcessEnv; cwd?: string; uid?: number; gid?: number } = {},
    child?: ChildProcessWithoutNullStreams,
  ) {
    const { program = process.execPath, ...rest } = options;
    this.child = child ?? spawn(program, [...args], { ...rest, stdio: 'pipe' });
    this.#watched = new WatchedChild(this.child);
    this.child.stdout.setEncoding('utf8').on('data', (chunk: string) => this.#take(chunk));
    this.child.stdin.on('error', () => {});
    onTestFinished(async () => {
      this.child.kill('SIGKILL');
      if (child !== undefined) await this.#watched.ended;
    });
  }

  /** Everything that the child has written to stderr. */
  get errors(): string {
    return this.#watched.errors;
  }

  send(message: unknown): void {
    this.child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  }

  async request(method: string, params: object = {}): Promise<Wire> {
    this.#id += 1;
    const id = this.#id;
    this.send({ jsonrpc: '2.0', id, method, params });
    return this.next((message) => message.id === id && message.method === undefined);
  }

  /** Calls a tool and returns the first text of its answer. */
  async text(name: string, args: object = {}): Promise<unknown> {
    const { result } = await this.request('tools/call', { name, arguments: args });
    const [block] = (result?.['content'] ?? []) as { text?: string }[];
    return block?.text;
  }

  /** Waits for the first message that matches, and removes it from the queue. Fails if the child ends first. */
  next(match: (message: Wire) => boolean = () => true): Promise<Wire> {
    const at = this.#received.findIndex(match);
    if (at >= 0) return Promise.resolve(this.#received.splice(at, 1)[0] as Wire);
    return this.#watched.whileRunning(new Promise((found) => this.#waiting.push({ match, found })));
  }

  /** Resolves when the child has written this to stderr. Fails if the child ends first. */
  async said(text: string): Promise<void> {
    while (!this.errors.includes(text)) await this.#watched.whileRunning(once(this.child.stderr, 'data'));
  }

  /** Waits for the child to end. Returns its exit code, its signal, and the remaining messages. */
  async exit(): Promise<{ code: unknown; signal: unknown; rest: readonly Wire[] }> {
    const { code, signal } = await this.#watched.ended;
    return { code, signal, rest: this.#received };
  }

  #take(chunk: string): void {
    const lines = chunk.split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      this.#deliver(JSON.parse(this.#parts.join('') + line));
      this.#parts = [];
    }
    this.#parts.push(last);
  }

  #deliver(message: Wire): void {
    const at = this.#waiting.findIndex(({ match }) => match(message));
    if (at < 0) this.#received.push(message);
    else this.#waiting.splice(at, 1)[0]?.found(message);
  }
}
