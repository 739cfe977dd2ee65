import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { errorText, Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import type { Stage } from './stage.ts';

interface ServerTool {
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

interface PendingRequest {
  readonly resolve: (result: JsonRecord) => void;
  readonly reject: (error: Fault) => void;
}

const TIMEOUT_MS = 20_000;
/**
 * Time limit of the server's first answer. It is long because npx may have to download the server.
 */
const START_MS = 60_000;
const PROTOCOL_VERSION = '2025-11-25';

/** An MCP server as a child process, driven over stdio as any client does. */
export class ServerProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, PendingRequest>();
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
    const limitMs = method === 'initialize' ? START_MS : TIMEOUT_MS;
    const timer = setTimeout(() => this.#fail(`no answer to ${method}`), limitMs);
    const answer = new Promise<JsonRecord>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#send({ id, method, params });
    return answer.finally(() => clearTimeout(timer));
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

/** The problem that is reported for a server without any tool that `blindWriteProblem` can call. */
export const NO_TOOL = 'the server has no write tool that this check knows';

/**
 * Starts a server and asks it to overwrite a file that was not read before (a blind write). Returns
 * what went wrong, or undefined if the server refused the write.
 */
export async function blindWriteProblem(
  command: readonly string[],
  {
    env,
    stage,
    cwd = stage.workspace,
  }: { readonly env: NodeJS.ProcessEnv; readonly stage: Stage; readonly cwd?: string },
): Promise<string | undefined> {
  const name = 'precious.txt';
  // If the server does not start in the workspace, use an absolute path: a relative one would mean
  // another file.
  const path = cwd === stage.workspace ? name : join(stage.workspace, name);
  stage.put(name, PRECIOUS);
  let server: ServerProcess;
  try {
    server = await ServerProcess.start(command, env, cwd);
  } catch (error) {
    return `it cannot start: ${errorText(error)}`;
  }
  try {
    const content = 'overwritten\n';
    const tools = await server.tools();
    const write = BLIND_WRITES.map(({ tool, args }) => ({ tool, given: args(path, content) })).find(
      ({ tool, given }) =>
        tools.some(
          ({ name: offered, args }) =>
            offered === tool && Object.keys(given).every((key) => args.includes(key)),
        ),
    );
    if (write === undefined) return NO_TOOL;
    const answer = await server.call(write.tool, write.given);
    if (stage.text(name) !== PRECIOUS) return 'a file that was never read was overwritten';
    if (answer.ok || !REFUSALS.has(answer.code))
      return `a blind write was answered with ${answer.code ?? 'success'} instead of NOT_READ`;
    return undefined;
  } catch (error) {
    return errorText(error);
  } finally {
    await server.stop();
  }
}

const PRECIOUS = 'nobody has read this\n';
/** The codes of a refused blind write. A read-only server refuses every write with READ_ONLY. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['NOT_READ', 'READ_ONLY']);

/**
 * Tools that write a file, of our own server and of servers behind our proxy, with their arguments.
 */
const BLIND_WRITES: readonly {
  readonly tool: string;
  args(path: string, content: string): Readonly<Record<string, string>>;
}[] = [
  { tool: 'write_file', args: (path, content) => ({ path, content }) },
  { tool: 'Write', args: (path, content) => ({ file_path: path, content }) },
  { tool: 'write', args: (path, content) => ({ file_path: path, content }) },
  { tool: 'create_text_file', args: (path, content) => ({ relative_path: path, content }) },
  { tool: 'create_text_file', args: (path, contents) => ({ file_path: path, contents }) },
  { tool: 'file_write', args: (path, content) => ({ path, content }) },
  {
    tool: 'str_replace_based_edit_tool',
    args: (path, content) => ({ command: 'create', path, file_text: content }),
  },
  {
    tool: 'apply_patch',
    args: (path, content) => ({
      patch: `*** Begin Patch\n*** Add File: ${path}\n+${content}*** End Patch\n`,
    }),
  },
];
