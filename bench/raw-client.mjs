// A minimal MCP client over stdio: writes requests as lines, reads lines, and finds the answer to a
// request by its id without parsing the rest.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';

const NEWLINE = 10;

export class RawClient {
  #child;
  #exit;
  #parts = [];
  #waiting = new Map();
  #next = 1;

  constructor([command, ...args], env = {}) {
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, ...env },
    });
    this.#exit = once(this.#child, 'exit');
    this.#child.stdout.on('data', (chunk) => this.#take(chunk));
  }

  get pid() {
    return this.#child.pid;
  }

  /** Does the handshake of a client, up to the list of tools. */
  async open() {
    const clientInfo = { name: 'bench', version: '1' };
    await this.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    this.#child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    await this.request('tools/list', {});
  }

  /** Sends a request. Returns the line of its answer, unparsed. */
  request(method, params) {
    const id = this.#next++;
    const line = `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      this.#exit.then(() => reject(new Error(`the server ended during ${method}`)));
      this.#child.stdin.write(line);
    });
  }

  call([name, args]) {
    return this.request('tools/call', { name, arguments: args });
  }

  /** Calls a tool and returns the text of its answer; throws if the call fails. */
  async text(call) {
    const answer = JSON.parse((await this.call(call)).toString('utf8'));
    const text = answer.result?.content?.[0]?.text;
    if (answer.error !== undefined || answer.result.isError)
      throw new Error(`${call[0]} failed: ${text ?? JSON.stringify(answer.error)}`);
    return text;
  }

  /** The memory that the process holds now, in bytes (Linux). */
  memory() {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]) * 1024;
  }

  /** Milliseconds of processor time that all threads of the process have used (Linux). */
  cpu() {
    const threads = `/proc/${this.#child.pid}/task`;
    return readdirSync(threads).reduce((sum, thread) => {
      return sum + Number(readFileSync(`${threads}/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    }, 0);
  }

  async close() {
    this.#child.stdin.end();
    await this.#exit;
  }

  #take(chunk) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#parts.push(chunk.subarray(from, at));
      this.#deliver(this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts));
      this.#parts = [];
      from = at + 1;
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
  }

  #deliver(line) {
    const id = idOf(line);
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(line);
  }
}

/**
 * The id of an answer. Searches only both ends of the line, because servers write the id first or
 * last. An id elsewhere belongs to the answer's content.
 */
function idOf(line) {
  const head = /^\{"jsonrpc":"2\.0","id":(\d+),/.exec(line.toString('latin1', 0, 40));
  if (head !== null) return Number(head[1]);
  const tail = /"id":(\d+)\}\s*$/.exec(line.toString('latin1', Math.max(0, line.length - 40)));
  return tail === null ? undefined : Number(tail[1]);
}
