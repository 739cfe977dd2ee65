// The cost that an adapter adds to a call. Each tool is called as its framework calls it. The base is the session's own
// method. For LangChain, it is a tool of the framework that calls this method, so that the framework's own share is on
// both sides; for deepagents, a minimal backend. A tool's read also numbers the lines: one row compares it with
// numbering by hand.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare } from '../test/adapters/prepare.mjs';
import { interleaved } from './measure.mjs';

const READS = 2000;
const EDITS = 600;
/** On a busy machine more than half of the edits are interrupted. */
const QUANTILE = 0.25;
const TEXT = `${'some text of a line\n'.repeat(400)}count 0\n`;

export async function rows() {
  await prepare();
  const base = mkdtempSync(join(tmpdir(), 'lookfirst-bench-'));
  const [root, home] = ['root', 'home'].map((name) => join(base, name));
  for (const folder of [root, home]) mkdirSync(folder);
  const { openSession } = await framework('lookfirst');
  const session = await openSession({ roots: [root], home });
  try {
    return await measured(session, root);
  } finally {
    await session.close();
    rmSync(base, { recursive: true, force: true });
  }
}

/** A package beside the frameworks, where the adapters find them. */
function framework(name) {
  const require = createRequire(new URL('../test/adapters/package.json', import.meta.url));
  return import(pathToFileURL(require.resolve(name)));
}

async function measured(session, root) {
  const doors = await allDoors(session);
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
    const answer = await doors[door].read(file(door));
    // Counts bytes as sending would: a concatenated string may be copied only at this point.
    const text = doors[door].text?.(answer) ?? answer;
    if (Buffer.byteLength(text) < TEXT.length) throw new Error(`not all was read through ${door}`);
  });
  const edited = await interleaved(edits, { rounds: EDITS, quantile: QUANTILE });
  const shown = await interleaved(reads, { rounds: READS, warmup: 500, quantile: QUANTILE });
  return Object.entries(doors).flatMap(([door, { base, told }], index) => {
    if (base === undefined) return [];
    const at = names.indexOf(base);
    return [
      row(`read through ${door} ÷ ${told ?? 'session.read'}`, shown[index] / shown[at]),
      ...byHand(door, shown[index] / shown[names.indexOf('numbering by hand')]),
      row(`edit through ${door} ÷ ${told ?? 'session.edit'}`, edited[index] / edited[at]),
    ];
  });
}

/** A row without a bar: it says how much of the toolset's read is the numbering of lines. */
function byHand(door, ratio) {
  if (door !== 'toolset') return [];
  const { bar: _, ...found } = row('read through toolset ÷ session.read with numbering by hand', ratio);
  return [found];
}

/** `base`: the door that does the same work without the adapter. */
async function allDoors(session) {
  const { toolset } = await framework('lookfirst');
  const byName = (tools) => new Map(tools.map((tool) => [tool.name, tool]));
  const own = byName(toolset(session).tools);
  const [ai, anthropic, openai, langchain, claude] = await Promise.all(
    ['ai-sdk', 'anthropic', 'openai', 'langchain', 'claude-agent-sdk'].map((name) =>
      framework(`lookfirst/${name}`),
    ),
  );
  const aiTools = ai.lookfirstTools(session);
  const anthropicTools = byName(anthropic.lookfirstTools(session));
  const openaiTools = byName(openai.lookfirstTools(session));
  const langchainTools = byName(langchain.lookfirstTools(session));
  const claudeTools = byName(claude.lookfirstTools(session));
  const backend = new langchain.LookfirstBackend(session);
  const { tool: structured } = await framework('@langchain/core/tools');
  const plain = new Map(
    Object.entries({
      read_file: async ({ path }) => (await session.read(path)).text,
      edit_file: ({ path, old_string, new_string }) => edit(session, path, old_string, new_string),
    }).map(([name, work]) => {
      const { description, inputSchema: schema } = own.get(name);
      return [name, structured(work, { name, description, schema })];
    }),
  );
  const invoke = (tool, args) => tool.invoke({ type: 'tool_call', id: 'call-1', name: tool.name, args });
  const through = (call, more) => ({
    base: 'session',
    ...more,
    read: (path) => call('read_file', { path }),
    edit: (path, from, to) => call('edit_file', { path, old_string: from, new_string: to }),
  });
  return {
    session: {
      read: async (path) => (await session.read(path)).text,
      edit: (path, from, to) => edit(session, path, from, to),
    },
    'numbering by hand': {
      read: (path) => numbered(session, path),
      edit: (path, from, to) => edit(session, path, from, to),
    },
    'plain backend': {
      read: (path) => plainBackend(session).read(`/${path}`),
      edit: (path, from, to) => edit(session, path, from, to),
      text: ({ content }) => content,
    },
    'langchain itself': through((name, args) => invoke(plain.get(name), args), {
      base: undefined,
      text: ({ content }) => content,
    }),
    toolset: through((name, args) => own.get(name).call(args), { text: ({ text }) => text }),
    'ai-sdk': through((name, args) => lastOf(aiTools[name].execute(args, {})), { text: ({ text }) => text }),
    anthropic: through((name, args) => anthropicTools.get(name).run(args, {})),
    openai: through((name, args) => openaiTools.get(name).invoke(undefined, JSON.stringify(args), {})),
    'claude-agent-sdk': through((name, args) => claudeTools.get(name).handler(args, {}), {
      text: ({ content }) => content[0].text,
    }),
    langchain: through((name, args) => invoke(langchainTools.get(name), args), {
      base: 'langchain itself',
      told: 'the same in a tool of LangChain',
      text: ({ content }) => content,
    }),
    deepagents: {
      base: 'plain backend',
      told: 'a plain backend on the session',
      text: ({ content }) => content,
      read: (path) => backend.read(`/${path}`),
      edit: (path, from, to) => backend.edit(`/${path}`, from, to),
    },
  };
}

async function numbered(session, path) {
  const { text, from, to, totalLines, revision } = await session.read(path);
  const lines = text.split('\n').map((line, index) => `${from + index}\t${line}`);
  return `${lines.join('\n')}\n[read ${path} lines ${from}-${to} of ${totalLines} revision ${revision}]`;
}

/** The smallest `read` that satisfies the backend interface of deepagents. */
function plainBackend(session) {
  return {
    read: async (path, offset = 0, limit = 500) => {
      const outcome = await session.read(path.replace(/^\/+/, ''), { offset: offset + 1, limit });
      if (!outcome.ok) return { error: outcome.refusal.code };
      const { text, from, to, totalLines } = outcome;
      return { content: text, mimeType: 'text/plain', startLine: from, endLine: to, totalLines };
    },
  };
}

async function edit(session, path, oldString, newString) {
  const { revision, replaced } = await session.edit(path, [{ oldString, newString }]);
  return `replaced ${replaced} occurrence(s) in ${path}\nrevision ${revision}`;
}

async function lastOf(answer) {
  if (answer instanceof Promise) return answer;
  let last;
  for await (const each of answer) last = each;
  return last;
}

function row(name, ratio) {
  return { name: `adapters: ${name}`, ratio: Number(ratio.toFixed(3)), bar: 1.05 };
}
