// What the proxy costs: the official filesystem server asked directly and through the proxy, in turns.
//   node bench/proxy.mjs [--rounds N]
// `rows()` is for bench/run.mjs.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SELF = fileURLToPath(import.meta.url);
const SERVER = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
);
const PROGRAM = fileURLToPath(new URL('../dist/bin/lookfirst.js', import.meta.url));

/**
 * Ratios of the proxied to the direct call, medians of interleaved rounds; each with the bar it must stay under (or, for
 * throughput, over).
 */
export async function rows({ rounds = 15 } = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const root = join(base, 'workspace');
  const home = join(base, 'state');
  mkdirSync(root);
  mkdirSync(home);
  const server = [process.execPath, SERVER, root];
  const direct = new Client(server);
  const proxied = new Client([process.execPath, PROGRAM, 'proxy', '--root', root, '--', ...server], {
    LOOKFIRST_HOME: home,
  });
  try {
    await direct.open();
    await proxied.open();
    const results = [];
    for (const [name, bytes, calls, bar] of [
      ['10 KB', 10 << 10, 60, 1.25],
      ['1 MB', 1 << 20, 6, 1.35],
    ]) {
      const path = join(root, `${bytes}.txt`);
      writeFileSync(path, text(bytes));
      results.push(await latency({ name, path, calls, bar, rounds, direct, proxied }));
    }
    results.push(await throughput({ path: join(root, `${10 << 10}.txt`), rounds, direct, proxied }));
    return results;
  } finally {
    await Promise.all([direct.close(), proxied.close()]);
    rmSync(base, { recursive: true, force: true });
  }
}

async function latency({ name, path, calls, bar, rounds, direct, proxied }) {
  const samples = { direct: [], proxied: [] };
  for (const client of [direct, proxied]) for (let n = 0; n < calls; n++) await client.read(path);
  for (let round = 0; round < rounds; round++) {
    for (const [which, client] of inTurn(round, direct, proxied)) {
      for (let n = 0; n < calls; n++) {
        const start = performance.now();
        await client.read(path);
        samples[which].push(performance.now() - start);
      }
    }
  }
  const [base, through] = [median(samples.direct), median(samples.proxied)];
  return {
    name: `proxy: p50 of a ${name} read (direct)`,
    ratio: through / base,
    bar: `<= ${bar}`,
    ms: through,
  };
}

async function throughput({ path, rounds, direct, proxied }) {
  const rates = { direct: [], proxied: [] };
  for (let round = 0; round < rounds; round++) {
    for (const [which, client] of inTurn(round, direct, proxied)) {
      const total = 640;
      const start = performance.now();
      let left = total;
      const worker = async () => {
        while (left-- > 0) await client.read(path);
      };
      await Promise.all(Array.from({ length: 32 }, worker));
      rates[which].push(total / (performance.now() - start));
    }
  }
  const [base, through] = [median(rates.direct), median(rates.proxied)];
  return {
    name: 'proxy: 10 KB reads per second, 32 in flight (direct)',
    ratio: through / base,
    bar: '>= 0.75',
    perMs: through,
  };
}

/** Who goes first changes with every round. */
function inTurn(round, direct, proxied) {
  const both = [
    ['direct', direct],
    ['proxied', proxied],
  ];
  return round % 2 === 0 ? both : both.reverse();
}

/** A client that does as little as possible: it finds the id of an answer and does not parse the rest. */
class Client {
  #child;
  #parts = [];
  #waiting = new Map();
  #next = 1;

  constructor([command, ...args], env = {}) {
    const stdio = ['pipe', 'pipe', 'ignore'];
    this.#child = spawn(command, args, { stdio, env: { ...process.env, ...env } });
    this.#child.stdout.on('data', (chunk) => this.#take(chunk));
  }

  async open() {
    const clientInfo = { name: 'bench', version: '1' };
    await this.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    this.#child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    await this.request('tools/list', {});
  }

  read(path) {
    return this.request('tools/call', { name: 'read_text_file', arguments: { path } });
  }

  request(method, params) {
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }

  async close() {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    await gone;
  }

  #take(chunk) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#parts.push(chunk.subarray(from, at));
      const tail = Buffer.concat(this.#parts.slice(-2)).subarray(-40).toString('latin1');
      const id = Number(/"id":(\d+)\}\s*$/.exec(tail)?.[1]);
      this.#parts = [];
      from = at + 1;
      this.#waiting.get(id)?.();
      this.#waiting.delete(id);
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
  }
}

function text(bytes) {
  const line = 'a line of text with "quotes" in it, as long as lines usually are\n';
  return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

if (process.argv[1] === SELF) {
  const at = process.argv.indexOf('--rounds');
  const options = at < 0 ? {} : { rounds: Number(process.argv[at + 1]) };
  for (const row of await rows(options)) console.log(JSON.stringify(row));
}
