// Measures the cost of calling a tool through an adapter for an agent framework. The base is a
// plain tool of the same framework that only calls `session.read` or `session.edit`, so the
// framework's time cancels out. A row is the median of 1 + (time of the adapter's tool − time of
// the plain tool) ÷ time of a direct call of the session. Its limit is 1.05. Every framework runs
// in its own process, because one framework may slow down all promises of a process.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { prepare } from '../test/adapters/prepare.mjs';
import { median, roundsOf } from './measure.mjs';

const READS = 2000;
const EDITS = 600;
/**
 * Number of warm-up reads. With fewer, on a busy machine, V8 might have optimised the adapter but
 * not the plain tool, or the reverse.
 */
const WARMUP = 3000;
const TEXT = `${'some text of a line\n'.repeat(400)}count 0\n`;

/**
 * The measured groups. Each function returns the ways to call a tool ("doors") of one group. A
 * group runs in its own process, together with direct calls of the session.
 */
const GROUPS = {
  toolset: toolsetDoors,
  'numbering by hand': handDoors,
  'ai-sdk': aiDoors,
  anthropic: anthropicDoors,
  openai: openAiDoors,
  'claude-agent-sdk': claudeDoors,
  langchain: langChainDoors,
  deepagents: deepagentsDoors,
};

export async function rows() {
  await prepare();
  const found = [];
  for (const group of Object.keys(GROUPS)) {
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url), group]);
    found.push(...JSON.parse(stdout));
  }
  return found;
}

const [, program, group] = process.argv;
if (program === fileURLToPath(import.meta.url)) console.log(JSON.stringify(await groupRows(GROUPS[group])));

async function groupRows(doorsOf) {
  const base = mkdtempSync(join(tmpdir(), 'lookfirst-bench-'));
  const [root, home] = ['root', 'home'].map((name) => join(base, name));
  for (const folder of [root, home]) mkdirSync(folder);
  const { openSession, toolset } = await framework('lookfirst');
  const session = await openSession({ roots: [root], home });
  const plain = {
    read_file: async ({ path }) => (await session.read(path)).text,
    edit_file: ({ path, old_string, new_string }) => edit(session, path, old_string, new_string),
  };
  const own = toolset(session).tools.filter(({ name }) => name in plain);
  const work = own.map((tool) => ({ ...tool, execute: plain[tool.name] }));
  try {
    const tools = new Map(work.map((tool) => [tool.name, tool]));
    const doors = {
      session: through((name, args) => plain[name](args)),
      // Every group also measures the toolset, so that V8 optimises the toolset's code as much as
      // the session's.
      toolset: through(async (name, args) => (await tools.get(name).call(args)).text),
      ...(await doorsOf(session, work)),
    };
    return await measured(doors, root);
  } finally {
    await session.close();
    rmSync(base, { recursive: true, force: true });
  }
}

/** Imports a package from the folder where test/adapters has installed the frameworks. */
function framework(name) {
  const require = createRequire(new URL('../test/adapters/package.json', import.meta.url));
  return import(pathToFileURL(require.resolve(name)));
}

async function measured(doors, root) {
  const names = Object.keys(doors);
  const file = (door) => `${door}.txt`;
  for (const door of names) writeFileSync(join(root, file(door)), TEXT);
  for (const door of names) await doors[door].read(file(door));
  const counts = new Map(names.map((door) => [door, 0]));
  const edits = names.map((door) => async () => {
    const count = counts.get(door);
    counts.set(door, count + 1);
    await doors[door].edit(file(door), `count ${count}\n`, `count ${count + 1}\n`);
  });
  const reads = names.map((door) => async () => {
    const text = await doors[door].read(file(door));
    // Counting the bytes forces V8 to build the whole string, as sending it would. A concatenated
    // string may otherwise stay in pieces.
    if (Buffer.byteLength(text) < TEXT.length) throw new Error(`not all was read through ${door}`);
  });
  const edited = await roundsOf(edits, { rounds: EDITS });
  const shown = await roundsOf(reads, { rounds: READS, warmup: WARMUP });
  // Compute the ratio within each round: on a busy machine, times differ more between two rounds
  // than between an adapter and its base.
  const ratio = (times, { door, base }) => {
    const [ours, theirs, own] = [door, base, 'session'].map((name) => times[names.indexOf(name)]);
    return 1 + median(own.map((time, round) => (ours[round] - theirs[round]) / time));
  };
  return Object.entries(doors).flatMap(([door, { base, bar = 1.05 }]) => {
    if (base === undefined) return [];
    const beside = base === 'session' ? '' : `, beside ${base}`;
    return [
      row(`read through ${door} ÷ session.read${beside}`, ratio(shown, { door, base }), bar),
      row(`edit through ${door} ÷ session.edit${beside}`, ratio(edited, { door, base }), bar),
    ];
  });
}

async function toolsetDoors(_session, work) {
  const tools = new Map(work.map((tool) => [tool.name, tool]));
  return { toolset: through(async (name, args) => (await tools.get(name).call(args)).text, 'session') };
}

/**
 * Measures, for comparison, a program that calls `session.read` and numbers the lines with its own
 * code. These rows have no pass limit.
 */
async function handDoors(session) {
  const call = async (name, args) =>
    name === 'read_file'
      ? numbered(session, args.path)
      : edit(session, args.path, args.old_string, args.new_string);
  return { 'numbering by hand': { ...through(call, 'session'), bar: null } };
}

/**
 * Makes a door that reads and edits files with `call`, which gets a tool's name and its arguments.
 * `base`: the name of the door with which the benchmark compares this one.
 */
function through(call, base) {
  return {
    base,
    read: (path) => call('read_file', { path }),
    edit: (path, from, to) => call('edit_file', { path, old_string: from, new_string: to }),
  };
}

/**
 * Two ways to call tools through one framework: plain tools as the base, and the adapter's tools.
 */
function pair(name, { plain, ours, call }) {
  const theirs = `a tool of ${name}`;
  const byName = (tools) => new Map(tools.map((tool) => [tool.name, tool]));
  const doorOf = (tools, base) => through((tool, args) => call(tools.get(tool), args), base);
  return { [theirs]: doorOf(byName(plain)), [name]: doorOf(byName(ours), theirs) };
}

async function aiDoors(session, work) {
  const { executeTool, jsonSchema, tool } = await framework('@ai-sdk/provider-utils');
  const { lookfirstTools } = await framework('lookfirst/ai-sdk');
  const asText = ({ output: value }) => ({ type: 'text', value });
  const plain = work.map(({ name, description, inputSchema, execute }) => ({
    name,
    ...tool({ description, inputSchema: jsonSchema(inputSchema), execute, toModelOutput: asText }),
  }));
  const ours = Object.entries(lookfirstTools(session)).map(([name, each]) => ({ name, ...each }));
  const call = async (each, input) => {
    let output;
    for await (const part of executeTool({ tool: each, input, options: {} })) ({ output } = part);
    return each.toModelOutput({ output }).value;
  };
  return pair('ai-sdk', { plain, ours, call });
}

async function anthropicDoors(session, work) {
  const { betaTool } = await framework('@anthropic-ai/sdk/helpers/beta/json-schema');
  const { runRunnableTool } = await framework('@anthropic-ai/sdk/lib/tools/BetaRunnableTool');
  const { lookfirstTools } = await framework('lookfirst/anthropic');
  const plain = work.map(({ name, description, inputSchema, execute: run }) =>
    betaTool({ name, description, inputSchema, run }),
  );
  const call = async (tool, input) => (await runRunnableTool(tool, input, {})).content;
  return pair('anthropic', { plain, ours: lookfirstTools(session), call });
}

async function openAiDoors(session, work) {
  const { invokeFunctionTool, tool, RunContext } = await framework('@openai/agents');
  const { lookfirstTools } = await framework('lookfirst/openai');
  const plain = work.map(({ name, description, strictSchema: parameters, execute }) =>
    tool({ name, description, parameters, strict: true, execute }),
  );
  const runContext = new RunContext();
  const call = (each, args) =>
    invokeFunctionTool({ tool: each, runContext, input: JSON.stringify(args), details: {} });
  return pair('openai', { plain, ours: lookfirstTools(session), call });
}

/**
 * Calls the plain tools and the adapter's tools through the framework's own MCP server, as the
 * framework's function `query` does.
 */
async function claudeDoors(session, work) {
  const { createSdkMcpServer, tool } = await framework('@anthropic-ai/claude-agent-sdk');
  const { lookfirstTools, lookfirstServer } = await framework('lookfirst/claude-agent-sdk');
  const ours = lookfirstTools(session);
  const shapes = new Map(ours.map(({ name, inputSchema }) => [name, inputSchema]));
  const plain = work.map(({ name, description, execute }) => {
    const handler = async (args) => ({ content: [{ type: 'text', text: await execute(args) }] });
    return tool(name, description, shapes.get(name), handler);
  });
  const served = (tools) => createSdkMcpServer({ name: 'lookfirst', tools });
  const door = async (server, base) => {
    const request = await connected(server.instance);
    return through(
      async (name, args) => (await request('tools/call', { name, arguments: args })).content[0].text,
      base,
    );
  };
  return {
    'a tool of claude-agent-sdk': await door(served(plain)),
    'claude-agent-sdk': await door(served(ours), 'a tool of claude-agent-sdk'),
    lookfirstServer: await door(lookfirstServer(session), 'a tool of claude-agent-sdk'),
  };
}

/** Connects to an MCP server in this process. Returns a function that sends requests to the server. */
async function connected(server) {
  const waiting = new Map();
  let last = 0;
  const transport = {
    start: async () => {},
    close: async () => {},
    send: async ({ id, result }) => waiting.get(id)(result),
  };
  await server.connect(transport);
  const request = (method, params) =>
    new Promise((resolve) => {
      const id = ++last;
      waiting.set(id, (result) => {
        waiting.delete(id);
        resolve(result);
      });
      transport.onmessage({ jsonrpc: '2.0', id, method, params });
    });
  const clientInfo = { name: 'bench', version: '1' };
  await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  transport.onmessage({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return request;
}

async function langChainDoors(session, work) {
  const { tool } = await framework('@langchain/core/tools');
  const { lookfirstTools } = await framework('lookfirst/langchain');
  const plain = work.map(({ name, description, inputSchema: schema, execute }) =>
    tool(execute, { name, description, schema }),
  );
  const call = async (each, args) =>
    (await each.invoke({ type: 'tool_call', id: 'call-1', name: each.name, args })).content;
  return pair('langchain', { plain, ours: lookfirstTools(session), call });
}

/**
 * Measures deepagents, which calls methods of a file backend instead of tools. The base is the
 * smallest possible backend.
 */
async function deepagentsDoors(session) {
  const { LookfirstBackend } = await framework('lookfirst/langchain');
  const backend = new LookfirstBackend(session);
  return {
    'a backend for deepagents': {
      read: async (path) => (await smallestRead(session, `/${path}`)).content,
      edit: (path, from, to) => edit(session, path, from, to),
    },
    deepagents: {
      base: 'a backend for deepagents',
      read: async (path) => (await backend.read(`/${path}`)).content,
      edit: (path, from, to) => backend.edit(`/${path}`, from, to),
    },
  };
}

/** The smallest `read` that satisfies the backend interface of deepagents. */
async function smallestRead(session, path, offset = 0, limit = 500) {
  const outcome = await session.read(path.replace(/^\/+/, ''), { offset: offset + 1, limit });
  if (!outcome.ok) return { error: outcome.refusal.code };
  const { text, from, to, totalLines } = outcome;
  return { content: text, mimeType: 'text/plain', startLine: from, endLine: to, totalLines };
}

async function numbered(session, path) {
  const { text, from, to, totalLines, revision } = await session.read(path);
  const lines = text.split('\n').map((line, index) => `${from + index}\t${line}`);
  return `${lines.join('\n')}\n[read ${path} lines ${from}-${to} of ${totalLines} revision ${revision}]`;
}

async function edit(session, path, oldString, newString) {
  const { revision, replaced } = await session.edit(path, [{ oldString, newString }]);
  return `replaced ${replaced} occurrence(s) in ${path}\nrevision ${revision}`;
}

function row(name, ratio, bar) {
  return { name: `adapters: ${name}`, ratio: Number(ratio.toFixed(3)), ...(bar === null ? {} : { bar }) };
}
