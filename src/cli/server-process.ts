import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import { OUTCOME_KEY } from '../report/json.ts';

export interface ServerTool {
  readonly name: string;
  readonly args: readonly string[];
}

/** The answer of a tool. */
export interface ServerAnswer {
  readonly ok: boolean;
  readonly code?: string;
  readonly change?: string;
  readonly text: string;
}

interface Waiting {
  readonly resolve: (result: JsonRecord) => void;
  readonly reject: (error: Fault) => void;
}

const TIMEOUT_MS = 20_000;
/** Time limit of the first answer: npx may download the server first. */
const START_MS = 60_000;
const PROTOCOL_VERSION = '2025-11-25';

/** Our own server as a child process, driven over stdio as any client does. */
export class ServerProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #errors = '';

  private constructor(command: readonly string[], env: NodeJS.ProcessEnv, cwd: string) {
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, { env, cwd, stdio: 'pipe' });
    this.#child.stdin.on('error', () => {});
    this.#child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.#errors = (this.#errors + chunk).slice(-2000);
    });
    this.#child.on('error', (error) => this.#fail(error.message));
    this.#child.on('exit', () => this.#fail(`the server ended: ${this.#errors.trim()}`));
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line));
  }

  /** Starts a server and completes the handshake. */
  static async start(
    command: readonly string[],
    env: NodeJS.ProcessEnv,
    cwd: string = process.cwd(),
  ): Promise<ServerProcess> {
    const server = new ServerProcess(command, env, cwd);
    const clientInfo = { name: 'lookfirst', version: '1' };
    try {
      await server.#request('initialize', {
        protocolVersion: PROTOCOL_VERSION,
        capabilities: {},
        clientInfo,
      });
    } catch (error) {
      server.#child.kill('SIGKILL');
      throw error;
    }
    server.#send({ method: 'notifications/initialized' });
    return server;
  }

  /** The server's tools, with the names of their arguments. */
  async tools(): Promise<readonly ServerTool[]> {
    const { tools } = await this.#request('tools/list', {});
    return (Array.isArray(tools) ? tools : []).map((tool) => {
      const { name, inputSchema } = asRecord(tool);
      return { name: String(name), args: Object.keys(asRecord(asRecord(inputSchema)['properties'])) };
    });
  }

  async call(name: string, args: JsonRecord): Promise<ServerAnswer> {
    const result = await this.#request('tools/call', { name, arguments: args });
    const blocks = Array.isArray(result['content']) ? (result['content'] as readonly JsonRecord[]) : [];
    const meta = asRecord(result['_meta']);
    const { code, change } = asRecord(meta[OUTCOME_KEY]);
    return {
      ok: result['isError'] !== true,
      ...(typeof code === 'string' ? { code } : {}),
      ...(typeof change === 'string' ? { change } : {}),
      text: blocks.map((block) => String(block['text'] ?? '')).join('\n'),
    };
  }

  /** Stops the server as a client does, by closing its input. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), TIMEOUT_MS);
    await gone;
    clearTimeout(timer);
  }

  #request(method: string, params: JsonRecord): Promise<JsonRecord> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise<JsonRecord>((resolve, reject) => {
      const limitMs = method === 'initialize' ? START_MS : TIMEOUT_MS;
      const timer = setTimeout(() => this.#fail(`no answer to ${method}`), limitMs);
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          settle(value);
        };
      this.#waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
      this.#send({ id, method, params });
    });
  }

  #send(message: JsonRecord): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #take(line: string): void {
    const { id, result, error } = asRecord(parseJson(line));
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (waiting === undefined || typeof id !== 'number') return;
    this.#waiting.delete(id);
    if (error === undefined) waiting.resolve(asRecord(result));
    else waiting.reject(new Fault('IO_FAILED', `the server answered: ${JSON.stringify(error)}`));
  }

  #fail(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Fault('IO_FAILED', why));
    this.#waiting.clear();
  }
}

function asRecord(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}
