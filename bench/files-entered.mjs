// Counts the source files that one warm call runs through: the files that a new reader must open to
// follow the call. A file counts if V8 entered one of its functions. Uses build/, where each source
// file is one module.
//   node bench/files-entered.mjs [--list]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';

const BUILD = new URL('../build/', import.meta.url).href;
const BARS = { write_file: 75, edit_file: 85 };
/** Calls before the counted ones: they load modules and fill caches. */
const WARM = 5;

export async function rows() {
  const entered = await filesEntered();
  return Object.entries(BARS).map(([tool, bar]) => ({
    name: `files entered by a warm ${tool}`,
    value: entered[tool].length,
    unit: 'files',
    bar,
  }));
}

/** For each tool, the files that its call enters, relative to src/. */
export async function filesEntered() {
  const base = mkdtempSync(join(tmpdir(), 'lookfirst-entered-'));
  const root = join(base, 'root');
  mkdirSync(root);
  const inspector = new Session();
  inspector.connect();
  const client = await serve(root, join(base, 'home'));
  try {
    await inspector.post('Profiler.enable');
    await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const entered = {};
    for (const tool of Object.keys(BARS)) {
      const path = `${tool}.txt`;
      writeFileSync(join(root, path), 'turn 0\nsecond line\n');
      await client.call('read_file', { path });
      for (let turn = 1; turn <= WARM; turn += 1) await client.call(tool, change(tool, path, turn));
      await inspector.post('Profiler.takePreciseCoverage');
      await client.call(tool, change(tool, path, WARM + 1));
      const { result } = await inspector.post('Profiler.takePreciseCoverage');
      entered[tool] = result.filter(isEntered).map(({ url }) => url.slice(BUILD.length).replace(/js$/, 'ts'));
    }
    return entered;
  } finally {
    inspector.disconnect();
    await client.close();
    rmSync(base, { recursive: true, force: true });
  }
}

function change(tool, path, turn) {
  if (tool === 'write_file') return { path, content: `turn ${turn}\nsecond line\n` };
  return { path, old_string: `turn ${turn - 1}\n`, new_string: `turn ${turn}\n` };
}

/**
 * True if a call entered a function of this source file. The script's first function does not
 * count: it is the module itself, which ran when it was loaded.
 */
function isEntered({ url, functions }) {
  return (
    url.startsWith(BUILD) &&
    functions.some(({ functionName, ranges }, index) => {
      const isModule = index === 0 && functionName === '' && ranges[0].startOffset === 0;
      return !isModule && ranges[0].count > 0;
    })
  );
}

async function serve(root, home) {
  const { serveStdio } = await import(new URL('mcp/serve.js', BUILD));
  const input = new PassThrough();
  const output = new PassThrough();
  const ended = serveStdio({
    workspace: { roots: [root], home, store: `sqlite:${join(home, 'state.db')}` },
    dialect: 'lookfirst',
    readOnly: false,
    input,
    output,
    signals: process,
    log: () => {},
    env: {},
    version: '0',
  });
  const waiting = new Map();
  let rest = '';
  output.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const message of lines.map((line) => JSON.parse(line))) waiting.get(message.id)?.(message);
  });
  let id = 0;
  const ask = (method, params) =>
    new Promise((resolve) => {
      id += 1;
      waiting.set(id, resolve);
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  const clientInfo = { name: 'bench', version: '0' };
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return {
    call: async (name, args) => {
      const { result, error } = await ask('tools/call', { name, arguments: args });
      if (error !== undefined || result.isError === true) throw new Error(JSON.stringify(error ?? result));
    },
    close: async () => {
      input.end();
      await ended;
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const entered = await filesEntered();
  for (const [tool, files] of Object.entries(entered)) {
    process.stdout.write(`${tool}: ${files.length} files (bar ${BARS[tool]})\n`);
    if (process.argv.includes('--list'))
      process.stdout.write(
        `${files
          .sort()
          .map((file) => `  ${file}\n`)
          .join('')}`,
      );
  }
}
