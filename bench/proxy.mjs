// Measures the cost of the proxy: calls the official filesystem server directly, through the proxy,
// and through a program that only passes bytes on. The three kinds of calls alternate.
//   node bench/proxy.mjs [--rounds N]
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from './measure.mjs';
import { RawClient } from './raw-client.mjs';

const SELF = fileURLToPath(import.meta.url);
const PUMP = fileURLToPath(new URL('peers/pump.mjs', import.meta.url));
const SERVER = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
);
const DIST = process.env['LOOKFIRST_DIST'] ?? new URL('../dist/', import.meta.url).href;
const PROGRAM = fileURLToPath(new URL('bin/lookfirst.js', DIST));

/** Calls of one client before the next takes its turn: few, so that other load affects all clients alike. */
const BURST = 10;

/**
 * One row for each measurement: the ratio to direct calls, as the median of interleaved rounds. The
 * rows of the proxy also have a pass limit: a maximum for latency, a minimum for throughput.
 */
export async function rows({ rounds = 90 } = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const root = join(base, 'workspace');
  const home = join(base, 'state');
  mkdirSync(root);
  mkdirSync(home);
  const server = [process.execPath, SERVER, root];
  const clients = {
    direct: new RawClient(server),
    pumped: new RawClient([process.execPath, PUMP, ...server]),
    proxied: new RawClient([process.execPath, PROGRAM, 'proxy', '--root', root, '--', ...server], {
      LOOKFIRST_HOME: home,
    }),
  };
  const file = (bytes) => {
    const path = join(root, `${bytes}.txt`);
    writeFileSync(path, text(bytes));
    return path;
  };
  try {
    for (const client of Object.values(clients)) await client.open();
    const small = await latency(clients, { path: file(10 << 10), burst: BURST, rounds });
    const large = await latency(clients, { path: file(1 << 20), burst: 2, rounds: Math.ceil(rounds / 2) });
    const rates = await throughput(clients, { path: file(10 << 10), rounds: Math.ceil(rounds / 6) });
    return [
      { name: 'proxy: p50 of a 10 KB read (direct)', bar: '<= 1.25', ...ratio(small, 'proxied') },
      { name: 'bare pump: p50 of a 10 KB read (direct)', ...ratio(small, 'pumped') },
      { name: 'proxy: p50 of a 1 MB read (direct)', bar: '<= 1.35', ...ratio(large, 'proxied') },
      { name: 'bare pump: p50 of a 1 MB read (direct)', ...ratio(large, 'pumped') },
      {
        name: 'proxy: 10 KB reads per ms, 32 in flight (direct)',
        bar: '>= 0.75',
        ...ratio(rates, 'proxied'),
      },
      { name: 'bare pump: 10 KB reads per ms, 32 in flight (direct)', ...ratio(rates, 'pumped') },
    ];
  } finally {
    await Promise.all(Object.values(clients).map((client) => client.close()));
    rmSync(base, { recursive: true, force: true });
  }
}

/** Returns the milliseconds of each call, for each client. */
function latency(clients, { path, burst, rounds }) {
  return inTurns(clients, rounds, async (client) => {
    const times = [];
    for (let n = 0; n < burst; n++) {
      const start = performance.now();
      await client.call(['read_text_file', { path }]);
      times.push(performance.now() - start);
    }
    return times;
  });
}

/** Returns the calls per millisecond in each round, for each client. */
function throughput(clients, { path, rounds }) {
  return inTurns(clients, rounds, async (client) => {
    const total = 640;
    let left = total;
    const worker = async () => {
      while (left-- > 0) await client.call(['read_text_file', { path }]);
    };
    const start = performance.now();
    await Promise.all(Array.from({ length: 32 }, worker));
    return [total / (performance.now() - start)];
  });
}

/**
 * Returns the samples of each client. The order of the clients changes every round. Additional
 * warm-up rounds, a quarter of `rounds`, run before the measured ones.
 */
async function inTurns(clients, rounds, take) {
  const names = Object.keys(clients);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -Math.ceil(rounds / 4); round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(turn + Math.abs(round)) % names.length];
      const taken = await take(clients[name]);
      if (round >= 0) samples[name].push(...taken);
    }
  }
  return samples;
}

function ratio(samples, which) {
  const [base, through] = [median(samples.direct), median(samples[which])];
  return { ratio: through / base, direct: base, through };
}

function text(bytes) {
  const line = 'a line of text with "quotes" in it, as long as lines usually are\n';
  return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
}

if (process.argv[1] === SELF) {
  const at = process.argv.indexOf('--rounds');
  const options = at < 0 ? {} : { rounds: Number(process.argv[at + 1]) };
  for (const row of await rows(options)) console.log(JSON.stringify(row));
}
