// Measures a fleet store: one PostgreSQL database for the sessions of many machines. Compares the
// throughput of one chain of journal entries per writer with that of one chain for all writers.
// Also compares an edit over a network with a delay of 1 ms with the same edit on SQLite.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresConnection } from '../build/store/postgres/connection.js';
import { Names } from '../build/store/postgres/names.js';
import { PostgresStore } from '../build/store/postgres/postgres-store.js';
import { makeSchema } from '../build/store/postgres/schema.js';
import { openSession } from '../dist/index.js';
import { startRelay } from '../test/postgres/relay.mjs';
import { startServer } from '../test/postgres/server.mjs';

const SESSIONS = 200;
const WRITERS = 16;
const ROUND_MS = Number(process.env.LOOKFIRST_BENCH_MS ?? 3000);
const ROUNDS = 3;
const EDITS = 40;

export async function rows() {
  return [
    ...(await withServer('on', async (server) => [
      ...(await chainRows(server)),
      ...(await sizeRows(server)),
      ...(await latencyRows(server, 'behind a network of 1 ms', { bar: '<= 5' })),
    ])),
    // The server does not sync to disk, so that the rows contain only the time of the network, of
    // PostgreSQL and of Lookfirst.
    ...(await withServer('off', (server) => latencyRows(server, 'behind a network of 1 ms, fsync off'))),
  ];
}

async function withServer(fsync, measure) {
  const server = await startServer({ fsync });
  if (typeof server === 'string') {
    process.stderr.write(`${server}\n`);
    return [];
  }
  try {
    return await measure(server);
  } finally {
    await server.stop();
  }
}

/**
 * Measures operations per second. Each session repeats the store calls that eight reads and one
 * change of a file make. Sixteen connections share the sessions, as sixteen processes would.
 */
async function chainRows(server) {
  const rates = { writer: [], one: [] };
  for (let round = 0; round < ROUNDS; round++)
    for (const mode of ['one', 'writer']) rates[mode].push((await loadOf(server, mode)).rate);
  const [writer, one] = [median(rates.writer), median(rates.one)];
  return [
    { name: `${SESSIONS} sessions, file operations a second, a chain per writer`, value: Math.round(writer) },
    { name: `${SESSIONS} sessions, file operations a second, one chain for all`, value: Math.round(one) },
    { name: 'rate of a chain per writer ÷ one chain', ratio: writer / one, bar: '>= 2' },
  ];
}

const AGENTS = [10, 1000, 10_000];
/** The load of one agent: file operations a minute, eight reads to one change. */
const OPERATIONS_A_MINUTE = 12;
const WORKING_DAY_S = 8 * 3600;
const FILES_SEEN = 200;

/** The resources that fleets of several sizes need, from the measured cost of one operation and the size of one row. */
async function sizeRows(server) {
  const { cpuMs, entryBytes, sightingBytes } = await loadOf(server, 'writer');
  const rows = [
    { name: 'server CPU of a file operation, ms', value: round(cpuMs, 3) },
    { name: 'bytes of a journal entry with indexes', value: Math.round(entryBytes) },
    { name: 'bytes of a sighting with its index', value: Math.round(sightingBytes) },
  ];
  for (const agents of AGENTS) {
    const perSecond = (agents * OPERATIONS_A_MINUTE) / 60;
    rows.push(
      { name: `${agents} agents: busy cores of the server`, value: round((perSecond * cpuMs) / 1000, 3) },
      {
        name: `${agents} agents: journal of a working day, MB`,
        value: round((perSecond * WORKING_DAY_S * entryBytes) / 1e6),
      },
      { name: `${agents} agents: sightings, MB`, value: round((agents * FILES_SEEN * sightingBytes) / 1e6) },
    );
  }
  return rows;
}

/**
 * CPU time that the database server has used so far, in milliseconds, with its child processes.
 * Reads the kernel's counters.
 */
function cpuMsOf(server) {
  const [pid] = readFileSync(join(server.folder, 'data/postmaster.pid'), 'utf8').split('\n');
  let ticks = 0;
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // Fields after the program's name, which may contain spaces: 2 is the parent, 12 to 15 are CPU times.
      const fields = stat.slice(stat.lastIndexOf(')') + 1).split(' ');
      if (name === pid) for (const at of [12, 13, 14, 15]) ticks += Number(fields[at]);
      else if (fields[2] === pid) ticks += Number(fields[12]) + Number(fields[13]);
    } catch {
      // Ignore the error: the process has ended since.
    }
  }
  return ticks * 10;
}

async function bytesOf(db, tables) {
  const [row] = await db.query(
    `select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint as bytes from pg_class
     where relnamespace = $1::text::regnamespace and relname = any ($2::text[])`,
    [db.schema, tables],
  );
  const [count] = await db.query(`select count(*)::bigint as n from ${db.schema}.${tables[0]}`);
  return Number(row.bytes) / Number(count.n);
}

async function loadOf(server, mode) {
  const url = server.url();
  const connections = await Promise.all(Array.from({ length: WRITERS }, () => PostgresConnection.open(url)));
  await makeSchema(connections[0]);
  await letWritersShareChains(connections[0]);
  const stores = connections.map((db, index) => {
    const chain = mode === 'one' ? 'all' : `writer-${index}`;
    const context = { names: new Names('bench'), owner: `owner-${index}`, sharedRoots: [], chain };
    return new PostgresStore(db, context);
  });
  let operations = 0;
  const cpuBefore = cpuMsOf(server);
  const until = Date.now() + ROUND_MS;
  const agents = Array.from({ length: SESSIONS }, async (_, agent) => {
    const store = stores[agent % WRITERS];
    for (let turn = 0; Date.now() < until; turn++) {
      await workOf(store, `agent-${agent}`, turn);
      operations += 9;
    }
  });
  const started = performance.now();
  await Promise.all(agents);
  const rate = operations / ((performance.now() - started) / 1000);
  const cpuMs = (cpuMsOf(server) - cpuBefore) / operations;
  const entryBytes = await bytesOf(connections[0], ['entries', 'touches']);
  const sightingBytes = await bytesOf(connections[0], ['sightings']);
  await Promise.all(stores.map((store) => store.close()));
  return { rate, cpuMs, entryBytes, sightingBytes };
}

/**
 * Lets several writers append to one chain of journal entries. The database normally requires that
 * the record numbers of a chain grow; this trigger disables that check. The runs with one writer
 * per chain have the trigger too, so that both kinds of runs do equal work.
 */
async function letWritersShareChains(db) {
  await db.query(`create function ${db.schema}.no_number() returns trigger language plpgsql as
    $f$ begin new.record := 0; return new; end $f$`);
  await db.query(`create trigger no_number before update on ${db.schema}.chains
    for each row execute function ${db.schema}.no_number()`);
}

async function workOf(store, session, turn) {
  const paths = Array.from({ length: 8 }, (_, n) => `src/${session}-${n}.ts`);
  const change = `c-${session}-${turn}`;
  const [first] = paths;
  await store.recallMany(session, [`/repo/${first}`]);
  await store.record({
    sightings: paths.map((path) => ({ session, sighting: sightingOf(path) })),
    entries: paths.map((path) => entryOf(session, 'read', path)),
  });
  const entry = { ...entryOf(session, 'change', first), change };
  await store.record({ announce: { change, entry, owner: 'bench', locked: [`/repo/${first}`] } });
  await store.record({
    settle: [change],
    entries: [entry],
    views: [{ session, view: { sighting: sightingOf(first) } }],
  });
}

function entryOf(session, kind, path) {
  return { kind, atMs: Date.now(), session, root: '/repo', path, lines: 'whole', sha256: 'ab'.repeat(32) };
}

function sightingOf(path) {
  return {
    key: `/repo/${path}`,
    fingerprint: { sha256: 'ab'.repeat(32), size: 7000 },
    stamp: undefined,
    racy: true,
    coverage: { kind: 'whole' },
    totalLines: 200,
    flags: { clamped: false, redacted: false, notText: false, unverified: false },
    how: 'read',
    atMs: Date.now(),
  };
}

async function latencyRows(server, network, bar = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const relay = await startRelay(server.socket, 1);
  const url = (port) => `postgres://lookfirst@127.0.0.1:${port}/postgres?schema=latency`;
  const stores = { sqlite: undefined, loopback: server.url('latency'), millisecond: url(relay.port) };
  try {
    const sessions = {};
    for (const [name, store] of Object.entries(stores)) {
      const root = join(base, name, 'root');
      mkdirSync(root, { recursive: true });
      writeFileSync(join(root, 'a.txt'), `${'y'.repeat(59)}\n`.repeat(116));
      sessions[name] = await openSession({
        roots: [root],
        home: join(base, name, 'home'),
        store,
        session: name,
      });
      await sessions[name].read('a.txt');
    }
    const times = { sqlite: [], loopback: [], millisecond: [] };
    for (let edit = 0; edit < EDITS; edit++)
      for (const name of Object.keys(times)) times[name].push(await timed(sessions[name], edit));
    for (const session of Object.values(sessions)) await session.close();
    const [sqlite, loopback, millisecond] = [times.sqlite, times.loopback, times.millisecond].map(median);
    return [
      { name: `edit of 7 KB on SQLite, ms p50`, value: round(sqlite) },
      { name: `edit of 7 KB on PostgreSQL, ms p50 over SQLite`, value: round(loopback - sqlite) },
      { name: `edit of 7 KB ${network}, ms p50 over SQLite`, value: round(millisecond - sqlite), ...bar },
    ];
  } finally {
    await relay.close();
    rmSync(base, { recursive: true, force: true });
  }
}

async function timed(session, edit) {
  const started = performance.now();
  await session.edit('a.txt', [
    {
      oldString: `${'y'.repeat(59)}\n`.repeat(116 - edit),
      newString: `${'y'.repeat(59)}\n`.repeat(115 - edit),
    },
  ]);
  return performance.now() - started;
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function round(value, digits = 1) {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
