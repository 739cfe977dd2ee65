// A server with a few small tools for transport tests: `tool-server.mjs stdio|http [TOKEN]`.

import { runStdioLoop } from '../../build/mcp/stdio-loop.js';

const text = (value) => ({ ok: true, shown: String(value), outcome: { ok: true } });
const escaped = (value) => ({
  ok: true,
  shown: { escaped: { expectedBytes: value.length, writeTo: (out) => out.bytes(Buffer.from(value)) } },
  outcome: { ok: true, complete: true },
});
const held = new Map();
let cancelled = 0;

const tools = {
  echo: async ({ value }) => text(value),
  bytes: async ({ value }) => escaped(value),
  structured: async ({ value }) => escaped(value),
  refuse: async () => ({
    ok: false,
    text: 'refusing to overwrite a.txt: read it first [NOT_READ]',
    outcome: { ok: false, code: 'NOT_READ', next: 'read' },
  }),
  size: async ({ value }) => text(value.length),
  fail: async () => {
    throw new Error('secret detail');
  },
  who: async (_args, { clientInfo, sessionHint, meta }) =>
    text(JSON.stringify({ clientInfo, session: typeof sessionHint, meta })),
  // Delays its answer: a client may drop notifications that arrive together with the answer.
  count: async ({ to, key }, { progress }) => {
    for (let done = 1; done <= to; done += 1) progress(done, to, `step ${done}`);
    progress(1);
    await new Promise((resolve) => held.set(key, resolve));
    return text(to);
  },
  hold: ({ key }, { signal }) =>
    new Promise((resolve, reject) => {
      held.set(key, () => resolve(text(key)));
      signal.addEventListener('abort', () => {
        cancelled += 1;
        process.stderr.write(`cancelled ${key}: ${signal.reason.message}\n`);
        reject(signal.reason);
      });
      process.stderr.write(`holding ${key}\n`);
    }),
  holding: async () => text([...held.keys()]),
  release: async ({ key }) => {
    held.get(key)();
    held.delete(key);
    return text('released');
  },
  cancelled: async () => text(cancelled),
  turns: async ({ count }) => {
    for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
    return text(count);
  },
};

const host = {
  info: { name: 'fixture', version: '1.2.3', title: 'Fixture' },
  instructions: 'Read, then change.',
  tools: () =>
    Object.keys(tools).map((name) => ({
      name,
      description: `The tool ${name}.`,
      inputSchema: { type: 'object', properties: {} },
      annotations: { readOnlyHint: true },
      ...(name === 'structured' ? { outputSchema: { type: 'object' } } : {}),
    })),
  call: (name, args, context) => tools[name](args, context),
  sessionEnded: (id) => process.stderr.write(`ended ${typeof id}\n`),
};
const log = (line) => process.stderr.write(`log: ${line.split('\n')[0]}\n`);

const [mode, token] = process.argv.slice(2);
if (mode === 'stdio') {
  const end = await runStdioLoop({
    host,
    input: process.stdin,
    output: process.stdout,
    signals: process,
    log,
    maxMessageBytes: 64 << 20,
  });
  process.stderr.write(`end: ${end}\n`);
} else {
  const { listenHttp } = await import('../../build/mcp/http.js');
  const server = await listenHttp({ host, token, log, maxBodyBytes: 16 << 20 });
  process.stdout.write(`${server.url}\n`);
  process.once('SIGTERM', () => server.close());
}
