// Counts what one warm call of one file costs: source files and functions entered (V8's precise
// coverage), promises created, SQL statements and, where strace is installed, system calls. Unlike
// times, these counts do not depend on the machine. Uses build/, where each source file is one module.
//   node bench/call-weight.mjs [--json] [--list CALL]   CALL: such as `session write`

import { createHook } from 'node:async_hooks';
import { spawnSync } from 'node:child_process';
import { accessSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Session as Inspector } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';

const OFFICIAL = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
);
const BUILD = new URL('../build/', import.meta.url).href;
/** Calls before the counted one: they load modules and fill caches. */
const WARM = 5;
/** Paths that do not exist. Asking for them marks the counted part of a trace. */
const [BEGIN, END] = ['/lookfirst-trace-begin', '/lookfirst-trace-end'];

export async function rows() {
  await countStatements();
  return Object.entries(await weigh()).flatMap(([call, { names: _, ...weight }]) =>
    Object.entries(weight).map(([unit, value]) => ({ name: `${unit} of a warm ${call}`, value, unit })),
  );
}

/** The weight of each call, by its door and kind. */
export async function weigh() {
  const weights = {};
  for (const [door, open] of Object.entries(DOORS)) {
    for (const kind of KINDS) {
      // One kind is enough behind the proxy, where a call takes long.
      if (door === 'proxy' && kind !== 'edit') continue;
      const weight = await inFolder(open, (client, root) => measure(client, root, kind));
      weights[`${door} ${kind}`] = weight;
    }
  }
  for (const [call, count] of Object.entries(systemCalls())) weights[call].systemCalls = count;
  return weights;
}

const KINDS = ['write', 'first read', 'read', 'edit', 'undo'];

/** Counts one call several times, each time something else, because counters disturb each other. */
async function measure(client, root, kind) {
  const calls = preparedCalls(client, root, kind);
  for (let turn = 0; turn < WARM; turn += 1) await done(client, (await calls.next()).value);
  const next = (await calls.next()).value;
  const { files, functions, names } = await entered(() => done(client, next));
  const promises = await promisesOf(client, (await calls.next()).value);
  const last = (await calls.next()).value;
  statements = 0;
  await done(client, last);
  return { files, functions, promises, statements, names };
}

/** Calls of one kind, each on a file that is ready for it. */
async function* preparedCalls(client, root, kind) {
  const write = (path, turn) => ['write', path, `turn ${turn}\nsecond line\n`];
  for (let turn = 1; ; turn += 1) {
    const path = kind === 'first read' ? `${turn}.txt` : 'a.txt';
    if (turn === 1 || kind === 'first read') writeFileSync(join(root, path), 'turn 0\nsecond line\n');
    if (turn === 1 && kind !== 'first read') await done(client, ['read', path]);
    if (kind === 'undo') await done(client, write(path, turn));
    await quiet();
    if (kind === 'write') yield write(path, turn);
    else if (kind === 'edit') yield ['edit', path, `turn ${turn - 1}\n`, `turn ${turn}\n`];
    else yield kind === 'undo' ? ['undo'] : ['read', path];
  }
}

/** Lets work that follows an answer, such as storing what was shown, end before the next call. */
function quiet() {
  return new Promise((resolve) => setTimeout(resolve, 60));
}

function done(client, call) {
  return new Promise((resolve, reject) =>
    client.call(call, (failure) => (failure ? reject(failure) : resolve())),
  );
}

/** The files of src/ and the functions that `work` enters. */
async function entered(work) {
  const inspector = new Inspector();
  inspector.connect();
  try {
    await inspector.post('Profiler.enable');
    await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await inspector.post('Profiler.takePreciseCoverage');
    await work();
    const { result } = await inspector.post('Profiler.takePreciseCoverage');
    const found = result.flatMap(({ url, functions }) =>
      url.startsWith(BUILD)
        ? functions.filter(isEntered).map(({ functionName }) => ({ url, functionName }))
        : [],
    );
    const names = found.map(
      ({ url, functionName }) => `${url.slice(BUILD.length)} ${functionName || '(anonymous)'}`,
    );
    return { files: new Set(found.map(({ url }) => url)).size, functions: found.length, names };
  } finally {
    inspector.disconnect();
  }
}

/** The first function of a script is the module itself, which ran when it was loaded. */
function isEntered({ functionName, ranges }, index) {
  const isModule = index === 0 && functionName === '' && ranges[0].startOffset === 0;
  return !isModule && ranges[0].count > 0;
}

function promisesOf(client, call) {
  return new Promise((resolve, reject) => {
    let count = 0;
    const hook = createHook({
      init: (_id, type) => {
        if (type === 'PROMISE') count += 1;
      },
    });
    hook.enable();
    client.call(call, (failure) => {
      hook.disable();
      if (failure) reject(failure);
      // The client's own `then` is one of them.
      else resolve(count - client.ownPromises);
    });
  });
}

let statements = 0;

/** Counts the statements that our connections run from now on. */
async function countStatements() {
  const { Connection } = await import(new URL('store/sqlite/connection.js', BUILD));
  const { sql } = Connection.prototype;
  Connection.prototype.sql = function (text) {
    const statement = Reflect.apply(sql, this, [text]);
    const counted =
      (way) =>
      (...values) => {
        statements += 1;
        if (process.env.LOOKFIRST_SHOW_SQL !== undefined) process.stderr.write(`${text}\n`);
        return statement[way](...values);
      };
    return { get: counted('get'), all: counted('all'), run: counted('run') };
  };
}

const DOORS = { session: openLibrary, server: openServer, proxy: openProxied };

async function inFolder(open, work) {
  const base = mkdtempSync(join(tmpdir(), 'lookfirst-weight-'));
  const root = join(base, 'root');
  mkdirSync(root);
  const client = await open(root, join(base, 'home'));
  try {
    return await work(client, root);
  } finally {
    await client.close();
    rmSync(base, { recursive: true, force: true });
  }
}

async function openLibrary(root, home) {
  const { openSession } = await import(new URL('index.js', BUILD));
  const session = await openSession({ roots: [root], home, policy: { durability: 'none' } });
  const make = {
    write: (path, content) => session.write(path, content),
    read: (path) => session.read(path),
    edit: (path, oldString, newString) => session.edit(path, [{ oldString, newString }]),
    undo: () => session.undo(),
  };
  return {
    ownPromises: 1,
    call: ([name, ...values], answered) => {
      const fail = (outcome) => (outcome.ok ? undefined : new Error(JSON.stringify(outcome)));
      make[name](...values).then((outcome) => answered(fail(outcome)), answered);
    },
    close: () => session.close(),
  };
}

const TOOLS = {
  write: (path, content) => ['write_file', { path, content }],
  read: (path) => ['read_file', { path }],
  edit: (path, old_string, new_string) => ['edit_file', { path, old_string, new_string }],
  undo: () => ['undo_change', {}],
};

/** The tools of the official filesystem server. */
const official = (root) => ({
  read: (path) => ['read_text_file', { path: join(root, path) }],
  edit: (path, oldText, newText) => ['edit_file', { path: join(root, path), edits: [{ oldText, newText }] }],
});

async function openServer(root, home) {
  mkdirSync(home);
  writeFileSync(join(home, 'lookfirst.json'), '{"durability":"none"}');
  const { serveStdio } = await import(new URL('mcp/serve.js', BUILD));
  const [input, output] = [new PassThrough(), new PassThrough()];
  const ended = serveStdio({
    workspace: { roots: [root], home, policy: { durability: 'none' } },
    dialect: 'lookfirst',
    readOnly: false,
    input,
    output,
    signals: process,
    log: () => {},
    env: {},
    version: '0',
  });
  return lineClient({ input, output, ended, tools: TOOLS });
}

/** The official filesystem server behind the proxy. */
async function openProxied(root, home) {
  const { Sessions } = await import(new URL('session/sessions.js', BUILD));
  const { runProxy } = await import(new URL('proxy/open-proxy.js', BUILD));
  const sessions = await Sessions.open({ roots: [root], home, policy: { durability: 'none' } });
  const session = (await sessions.session()).forHost();
  const [input, output, stderr] = [new PassThrough(), new PassThrough(), new PassThrough().resume()];
  const server = { command: process.execPath, args: [OFFICIAL, root], root, signals: [] };
  const ended = runProxy({ session, ...server, stdin: input, stdout: output, stderr });
  const done = ended.then(() => sessions.close());
  return lineClient({ input, output, ended: done, tools: official(root) });
}

/** A client of a server that speaks over a pair of streams in this process. */
async function lineClient({ input, output, ended, tools }) {
  const waiting = new Map();
  let rest = '';
  output.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      waiting.get(message.id)?.(message);
    }
  });
  let id = 0;
  const ask = (method, params, answered) => {
    id += 1;
    waiting.set(id, answered);
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  };
  const clientInfo = { name: 'bench', version: '0' };
  await new Promise((resolve) =>
    ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }, resolve),
  );
  input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return {
    ownPromises: 0,
    call: ([name, ...values], answered) => {
      const [tool, args] = tools[name](...values);
      ask('tools/call', { name: tool, arguments: args }, ({ result, error }) => {
        answered(error || result.isError ? new Error(JSON.stringify(error ?? result)) : undefined);
      });
    },
    close: async () => {
      input.end();
      await ended;
    },
  };
}

/** The system calls of each kind of call through a session, all threads together. Empty without strace. */
function systemCalls() {
  if (spawnSync('strace', ['-V']).status !== 0) return {};
  const counts = {};
  for (const kind of KINDS) {
    const calls = traced(kind);
    counts[`session ${kind}`] = calls.length;
    if (process.argv.includes('--list') && process.argv.at(-1) === `session ${kind}`)
      process.stdout.write(`${calls.join('\n')}\n`);
  }
  return counts;
}

function traced(kind) {
  const folder = mkdtempSync(join(tmpdir(), 'lookfirst-trace-'));
  const file = join(folder, 'trace');
  try {
    const script = [fileURLToPath(import.meta.url), '--trace', kind];
    const { status, stderr } = spawnSync('strace', ['-f', '-o', file, process.execPath, ...script]);
    if (status !== 0) throw new Error(`the traced run failed: ${stderr}`);
    const lines = readFileSync(file, 'utf8').split('\n');
    const [from, to] = [BEGIN, END].map((path) => lines.findIndex((line) => line.includes(path)));
    return lines.slice(from + 1, to).filter((line) => /^\d+ +[a-z_0-9]+\(/.test(line));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes one counted call between two marks, for `traced`. */
async function runTraced(kind) {
  await inFolder(openLibrary, async (client, root) => {
    const calls = preparedCalls(client, root, kind);
    for (let turn = 0; turn < WARM; turn += 1) await done(client, (await calls.next()).value);
    const call = (await calls.next()).value;
    mark(BEGIN);
    await done(client, call);
    mark(END);
  });
}

function mark(path) {
  try {
    accessSync(path);
  } catch {
    // The path never exists: asking for it is the mark.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === '--trace') await runTraced(process.argv[3]);
  else {
    await countStatements();
    const weights = await weigh();
    const listed = process.argv.includes('--list') ? weights[process.argv.at(-1)]?.names : [];
    if (process.argv.includes('--json')) process.stdout.write(JSON.stringify(weights));
    else
      for (const [call, { names: _, ...weight }] of Object.entries(weights))
        process.stdout.write(`${call.padEnd(18)} ${JSON.stringify(weight)}\n`);
    for (const name of listed.sort()) process.stdout.write(`  ${name}\n`);
  }
}
