// Compares our server with the official filesystem server, by the same calls of one raw client.
//   node bench/server.mjs [--only TEXT] [--quick]
// A row is the median time of our server ÷ that of the official one, and the same of the processor time, which decides:
// other load does not change it. `least` is the ratio for bench/peers/least.mjs, a server that only makes the system calls.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RawClient } from './raw-client.mjs';

const OFFICIAL = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
);
const LEAST = fileURLToPath(new URL('peers/least.mjs', import.meta.url));
const SERVERS = ['ours', 'official', 'least'];
const DIST = process.env['LOOKFIRST_DIST'] ?? new URL('../dist/', import.meta.url).href;
const OURS = fileURLToPath(new URL('bin/lookfirst.js', DIST));
const KB = 1 << 10;
const MB = 1 << 20;

/**
 * Measures the rows whose name contains `only`. Returns ratios, each with its pass limit (`bar`):
 * an upper limit for times, a lower limit for throughput.
 */
export async function rows({ only = '', quick = false } = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const bench = new Bench(base, quick ? 0.2 : 1);
  const results = [];
  try {
    for (const [name, bar, measure] of ROWS) {
      if (!name.includes(only)) continue;
      results.push({ name: `server: ${name}`, bar, ...(await measure(bench)) });
    }
    return results;
  } finally {
    await bench.close();
    rmSync(base, { recursive: true, force: true });
  }
}

const ROWS = [
  ['cold start to the tools list', '<= 0.50', (bench) => bench.coldStart()],
  ['cold start to the first read', '<= 0.32', (bench) => bench.coldStart({ read: true })],
  ['first 150 writes of 1 KB', '<= 1.1', (bench) => bench.firstWrites()],
  ['session: start, 30 x read a new file and edit it', '<= 0.70', (bench) => bench.session()],
  ['first read of a file of 1 KB', '<= 0.70', (bench) => bench.firstRead()],
  ['read 1 KB, p50', '<= 0.45', (bench) => bench.read({ bytes: KB, turns: 50, burst: 20 })],
  ['read 64 KB, p50', '<= 0.40', (bench) => bench.read({ bytes: 64 * KB, turns: 40, burst: 10 })],
  ['read 1 MB, p50', '<= 0.30', (bench) => bench.read({ bytes: MB, turns: 15, burst: 4 })],
  ['first 100 lines of a 100 MB file', '<= 1.3', (bench) => bench.head()],
  ['write 1 KB, p50', '<= 1.0', (bench) => bench.write({ bytes: KB, turns: 40, burst: 10 })],
  ['write 64 KB, p50', '<= 0.70', (bench) => bench.write({ bytes: 64 * KB, turns: 30, burst: 10 })],
  [
    'write 1 KB at the default durability, p50',
    '<= 1.4',
    (bench) => bench.write({ bytes: KB, turns: 40, burst: 10, durability: 'full' }),
  ],
  [
    'writes of 1 KB per second at the default durability, 32 in flight',
    undefined,
    (bench) => bench.writesInFlight(),
  ],
  ['edit in 64 KB, p50', '<= 0.70', (bench) => bench.edit({ bytes: 64 * KB, turns: 30, burst: 10 })],
  ['edit in 5 MB, p50', '<= 0.15', (bench) => bench.edit({ bytes: 5 * MB, turns: 6, burst: 2 })],
  ['list 10,000 entries', '<= 1.0', (bench) => bench.list({ dialect: 'filesystem' })],
  // Our own dialect sorts the entries and limits their number; the official server does neither.
  ['list 10,000 entries in our own words', '<= 1.1', (bench) => bench.list()],
  ['find by name over 100,000 files', '<= 0.03', (bench) => bench.find()],
  ['reads of 1 KB per second, 32 in flight', '>= 3.0', (bench) => bench.throughput()],
  ['memory after start', '<= 0.9', (bench) => bench.memory()],
];

/**
 * Three servers on one folder. Ours keeps a journal and the old content of changed files but, like
 * the official one, syncs nothing to disk.
 */
class Bench {
  #base;
  #root;
  #scale;
  #clients;
  #files = 0;

  constructor(base, scale) {
    this.#base = base;
    this.#root = join(base, 'workspace');
    this.#scale = scale;
    mkdirSync(this.#root);
    mkdirSync(join(base, 'state'));
    for (const durability of ['none', 'full'])
      writeFileSync(join(base, `${durability}.json`), JSON.stringify({ durability }));
  }

  /**
   * Measures the start of a server, with or without a first read. The two kinds of start use
   * separate state folders. A state folder caches compiled code, and the cached code depends on
   * what a start loads.
   */
  async coldStart({ read = false } = {}) {
    const path = this.#file(KB);
    const state = read ? 'read' : 'listed';
    mkdirSync(join(this.#base, state));
    const used = ofEach(() => []);
    const samples = await this.#turns(15, async (which) => {
      const start = performance.now();
      const client = this.#start(which, { state });
      await client.open();
      if (read) await client.text(readCall(which, path));
      const ms = performance.now() - start;
      used[which].push(client.cpu());
      await client.close();
      return [ms];
    });
    return { ...ratio(samples), cpu: ratio(used) };
  }

  /** Measures a whole session at the default durability: its start, and 30 new files that are read and edited. */
  async session() {
    const used = ofEach(() => []);
    const samples = await this.#turns(7, async (which) => {
      const paths = Array.from({ length: 30 }, () => this.#file(KB));
      for (const path of paths) writeFileSync(path, `the one place\n${text(KB)}`);
      const start = performance.now();
      const client = this.#start(which, { durability: 'full' });
      await client.open();
      for (const path of paths) {
        await client.text(readCall(which, path));
        await client.text(editCall(which, path, { from: 'the one place', to: 'another place' }));
      }
      const ms = performance.now() - start;
      used[which].push(client.cpu());
      await client.close();
      return [ms];
    });
    return { ...ratio(samples), cpu: ratio(used) };
  }

  /** Every call reads another file, which the server has not read before. */
  async firstRead() {
    const paths = ofEach(() => []);
    const call = (which) => {
      if (paths[which].length === 0) paths[which] = Array.from({ length: 100 }, () => this.#file(KB));
      return readCall(which, paths[which].pop());
    };
    return this.#compare({ turns: 40, burst: 20, call, mustSay: 'line' });
  }

  /** Reads several files in turn, so that a server does not read the same one every time. */
  async read({ bytes, turns, burst }) {
    const paths = this.#someFiles(bytes);
    const call = (which, n) => readCall(which, paths[n % paths.length]);
    return this.#compare({ turns, burst, call, mustSay: 'line' });
  }

  async head() {
    const path = this.#file(100 * MB);
    const call = (which) => {
      return which === 'official'
        ? ['read_text_file', { path, head: 100 }]
        : ['read_file', { path, limit: 100 }];
    };
    return this.#compare({ turns: 15, burst: 4, call, mustSay: 'line' });
  }

  /** Each server overwrites its own file, with different bytes every time. */
  async write({ bytes, turns, burst, durability = 'none' }) {
    const paths = ofEach(() => this.#file(bytes));
    return this.#withOurs(durability, async (clients) => {
      await clients.ours.text(['read_file', { path: paths.ours, limit: bytes }]);
      const call = (which, n) => ['write_file', { path: paths[which], content: other(bytes, n) }];
      return this.#compare({ turns, burst, call, mustSay: 'ote', clients });
    });
  }

  /** Measures the first 150 writes of a new server, before V8 has optimised its code. */
  async firstWrites() {
    const used = ofEach(() => []);
    const samples = await this.#turns(5, async (which) => {
      const path = this.#file(KB);
      const client = this.#start(which);
      await client.open();
      await client.text(readCall(which, path));
      const [start, before] = [performance.now(), client.cpu()];
      for (let n = 0; n < 150; n++) await client.call(['write_file', { path, content: other(KB, n) }]);
      const ms = performance.now() - start;
      used[which].push(client.cpu() - before);
      await client.close();
      return [ms];
    });
    return { ...ratio(samples), cpu: ratio(used) };
  }

  /**
   * Keeps 32 writes running in each server, one for each of its 32 files. As soon as the server has
   * answered a write, the client writes to the same file again.
   */
  async writesInFlight() {
    const paths = ofEach(() => this.#someFiles(KB));
    return this.#withOurs('full', async (clients) => {
      for (const path of paths.ours) await clients.ours.text(readCall('ours', path));
      let n = 0;
      const samples = await this.#turns(10, async (which) => {
        const start = performance.now();
        await Promise.all(
          paths[which].map(async (path) => {
            for (let turn = 0; turn < 5; turn++)
              await clients[which].text(['write_file', { path, content: other(KB, n++) }]);
          }),
        );
        return [(paths[which].length * 5) / (performance.now() - start)];
      });
      return ratio(samples);
    });
  }

  /** Each server changes the same line in the middle of its own file, again and again. */
  async edit({ bytes, turns, burst }) {
    const half = text(bytes / 2);
    const paths = ofEach(() => this.#file(0));
    for (const path of Object.values(paths)) writeFileSync(path, `${half}the one state0\n${half}`);
    const { ours } = await this.#open();
    await ours.text(['read_file', { path: paths.ours, limit: bytes }]);
    const call = (which, n) =>
      editCall(which, paths[which], { from: `the one state${n}`, to: `the one state${n + 1}` });
    return this.#compare({ turns, burst, call, mustSay: '' });
  }

  async list({ dialect = 'lookfirst' } = {}) {
    const path = join(this.#root, 'many');
    makeFolder(path, 10_000);
    const call = () => ['list_directory', { path }];
    const mustSay = 'entry-0';
    if (dialect === 'lookfirst') return this.#compare({ turns: 12, burst: 3, call, mustSay });
    const other = this.#start('ours', { flags: ['--dialect', dialect] });
    await other.open();
    try {
      const clients = { ...(await this.#open()), ours: other };
      return await this.#compare({ turns: 12, burst: 3, call, mustSay, clients });
    } finally {
      await other.close();
    }
  }

  async find() {
    const path = join(this.#root, 'tree');
    for (let folder = 0; folder < 1000; folder++) {
      const within = join(path, `group-${folder % 10}`, `folder-${folder}`);
      makeFolder(within, 100);
    }
    writeFileSync(join(path, 'group-3', 'folder-713', 'needle.txt'), '');
    const call = (which) => {
      return which === 'ours'
        ? ['find_files', { path, pattern: '**/needle*' }]
        : ['search_files', { path, pattern: '**/needle*' }];
    };
    const { ours, official } = await this.#open();
    return this.#compare({ turns: 5, call, mustSay: 'needle.txt', clients: { ours, official } });
  }

  async throughput() {
    const paths = this.#someFiles(KB);
    const clients = await this.#open();
    const samples = await this.#turns(60, async (which) => {
      const total = 640;
      let left = total;
      const worker = async () => {
        while (left-- > 0) await clients[which].call(readCall(which, paths[left % paths.length]));
      };
      const start = performance.now();
      await Promise.all(Array.from({ length: 32 }, worker));
      return [total / (performance.now() - start)];
    });
    return ratio(samples);
  }

  async memory() {
    const samples = await this.#turns(5, async (which) => {
      const client = this.#start(which);
      await client.open();
      // Servers do some work only after they have listed their tools. Wait until this work is done.
      await new Promise((resolve) => setTimeout(resolve, 1000));
      const bytes = client.memory();
      await client.close();
      return [bytes / MB];
    });
    return ratio(samples);
  }

  async close() {
    const clients = Object.values((await this.#clients) ?? {});
    await Promise.all(clients.map((client) => client.close()));
  }

  /**
   * Measures the same call in all servers. They take turns, each with `burst` calls. The text of an
   * answer must contain `mustSay`.
   */
  async #compare({ turns, burst = 1, call, mustSay, clients }) {
    const all = clients ?? (await this.#open());
    const names = Object.keys(all);
    const counts = ofEach(() => 0);
    const check = async (which) => {
      const said = await all[which].text(call(which, counts[which]++));
      if (!said.includes(mustSay)) throw new Error(`${which} said: ${said.slice(0, 200)}`);
    };
    for (const which of names) await check(which);
    const used = ofEach(() => []);
    const take = async (which) => {
      const times = [];
      const before = all[which].cpu();
      for (let n = 0; n < burst; n++) {
        const made = call(which, counts[which]++);
        const start = performance.now();
        await all[which].call(made);
        times.push(performance.now() - start);
      }
      used[which].push((all[which].cpu() - before) / burst);
      return times;
    };
    const samples = await this.#turns(turns, take, names);
    for (const which of names) await check(which);
    return { ...ratio(samples), cpu: ratio(used) };
  }

  /** Samples of each server. The order of the servers alternates. The first turns are a warm-up. */
  async #turns(count, take, names = SERVERS) {
    const samples = ofEach(() => []);
    const turns = Math.max(3, Math.round(count * this.#scale));
    const warm = Math.ceil(turns / 5);
    for (let turn = -warm; turn < turns; turn++) {
      for (const which of turn % 2 === 0 ? names : names.toReversed()) {
        const taken = await take(which);
        if (turn >= 0) samples[which].push(...taken);
      }
    }
    return samples;
  }

  /**
   * Runs `work` with the shared servers. If `durability` is not `none`, starts another Lookfirst
   * server with this durability, which replaces the shared Lookfirst server in `work`.
   */
  async #withOurs(durability, work) {
    const shared = await this.#open();
    if (durability === 'none') return work(shared);
    const ours = this.#start('ours', { durability });
    await ours.open();
    try {
      return await work({ ...shared, ours });
    } finally {
      await ours.close();
    }
  }

  /** Starts the servers that most rows share, once. */
  #open() {
    this.#clients ??= (async () => {
      const clients = ofEach((which) => this.#start(which));
      await Promise.all(Object.values(clients).map((client) => client.open()));
      return clients;
    })();
    return this.#clients;
  }

  #start(which, { flags = [], durability = 'none', state = 'state' } = {}) {
    if (which === 'least') return new RawClient([process.execPath, LEAST]);
    if (which === 'official') return new RawClient([process.execPath, OFFICIAL, this.#root]);
    const policy = ['--policy', join(this.#base, `${durability}.json`)];
    return new RawClient([process.execPath, OURS, 'serve', this.#root, ...policy, ...flags], {
      LOOKFIRST_HOME: join(this.#base, state),
    });
  }

  #someFiles(bytes) {
    return Array.from({ length: bytes < MB ? 32 : 4 }, () => this.#file(bytes));
  }

  #file(bytes) {
    const path = join(this.#root, `${this.#files++}.txt`);
    writeFileSync(path, text(bytes));
    return path;
  }
}

/** A call that reads a whole file. Our server returns only 2000 lines without a `limit`. */
function readCall(which, path) {
  return which === 'official' ? ['read_text_file', { path }] : ['read_file', { path, limit: 100_000 }];
}

/** A call that replaces a text that the file holds once. */
function editCall(which, path, { from, to }) {
  return which === 'official'
    ? ['edit_file', { path, edits: [{ oldText: from, newText: to }] }]
    : ['edit_file', { path, old_string: from, new_string: to }];
}

function makeFolder(path, files) {
  mkdirSync(path, { recursive: true });
  for (let n = 0; n < files; n++) writeFileSync(join(path, `entry-${n}.txt`), '');
}

/** A text of `bytes` bytes that differs for every `n`. */
function other(bytes, n) {
  return `${String(n).padStart(9)}${text(bytes - 9)}`;
}

function text(bytes) {
  const line = 'a line of text with "quotes" in it, as long as lines usually are\n';
  return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
}

function ofEach(make) {
  return Object.fromEntries(SERVERS.map((which) => [which, make(which)]));
}

/**
 * Ratio of our median to the official server's. `least`, the ratio of the minimal server
 * (bench/peers/least.mjs), is present only if it took part.
 */
function ratio(samples) {
  const [ours, official] = [median(samples.ours), median(samples.official)];
  const least = samples.least.length === 0 ? {} : { least: median(samples.least) / official };
  return { ratio: ours / official, ours, official, ...least };
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf('--only');
  const only = at < 0 ? '' : process.argv[at + 1];
  for (const row of await rows({ only, quick: process.argv.includes('--quick') })) {
    const [shown, mine, theirs] = [row.ratio, row.ours, row.official].map((value) => value.toFixed(3));
    const cpu =
      row.cpu === undefined
        ? ''
        : `  cpu ${row.cpu.ratio.toFixed(2)} (${row.cpu.ours.toFixed(2)} / ${row.cpu.official.toFixed(2)}; least ${row.cpu.least?.toFixed(2) ?? '-'})`;
    const least = `least ${row.least?.toFixed(3) ?? '-'}`.padEnd(12);
    console.log(
      `${row.name.padEnd(48)} ${shown.padStart(8)}  ${(row.bar ?? '').padEnd(8)} ${least} ${mine} / ${theirs}${cpu}`,
    );
  }
}
