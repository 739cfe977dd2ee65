// Transcripts of Claude Code as long as wanted, in the shape its version 2.1 writes them.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

const WORDS =
  'const let return function import export value index result await async if else for of in new class this throw error path file line'.split(
    ' ',
  );
const BASE = {
  userType: 'external',
  entrypoint: 'cli',
  cwd: '/repo',
  sessionId: '8883fa47-8a34-4787-9ebd-d92fe6e3bc86',
  version: '2.1.325',
  gitBranch: 'main',
};
const USAGE = {
  input_tokens: 100,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 10,
  server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
  service_tier: 'standard',
  cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
};

/** What tools are called, in parts of a hundred; what is left is said, not called. `lines`: of every file; else 10 to 100. */
export const MIXES = {
  realistic: { read: 26, bash: 23, edit: 10, other: 6 },
  'reads only': { read: 100 },
  'reads of a sub-agent only': { read: 100, agent: true },
  'files printed by commands only': { cat: 100 },
  'reads and edits only': { read: 50, edit: 50 },
  'reads of one-line files only': { read: 100, lines: 1 },
  'one-line files printed by commands only': { cat: 100, lines: 1 },
  'edits of one-line files only': { edit: 100, lines: 1 },
  'reads and edits of one-line files only': { read: 50, edit: 50, lines: 1 },
};

/** Lines of a transcript, without end. */
export function* transcriptLines(mix) {
  const state = { random: randomNumbers(7), files: new Map(), parent: null, count: 0, calls: 0, mix };
  for (;;) yield* turn(state);
}

export async function writeTranscript(file, mix, lines) {
  const stream = createWriteStream(file, { highWaterMark: 1 << 22 });
  let written = 0;
  for (const line of transcriptLines(mix)) {
    if (!stream.write(`${line}\n`)) await once(stream, 'drain');
    written += 1;
    if (written === lines) break;
  }
  stream.end();
  await finished(stream);
}

function* turn(state) {
  const tool = toolOf(state);
  if (tool === undefined) {
    yield assistant(state, { type: 'text', text: body(state, 8) });
    return;
  }
  state.calls += 1;
  const id = `toolu_${state.calls.toString(36).padStart(24, '0')}`;
  const { name, input, text, detail } = callOf(state, tool);
  yield assistant(state, { type: 'tool_use', id, name, input });
  const result = { tool_use_id: id, type: 'tool_result', content: text };
  const message = { role: 'user', content: [result] };
  yield record(state, { type: 'user', message }, state.mix.agent ? {} : { toolUseResult: detail });
  if (state.mix.other === undefined) return;
  const attachment = {
    type: 'total_tokens_reminder',
    text: '<total_tokens>15000000 tokens left</total_tokens>',
  };
  yield record(state, { attachment, type: 'attachment' });
  const hash = 'c'.repeat(64);
  yield JSON.stringify({ type: 'api-request-blob', sessionId: BASE.sessionId, hash, message });
  const params = { model: 'claude-sonnet-4-5', betas: ['a', 'b'], max_tokens: 32000 };
  yield JSON.stringify({
    type: 'api-request',
    sessionId: BASE.sessionId,
    id: randomUUID(),
    params,
    tail: [hash],
  });
}

function toolOf({ random, mix }) {
  let left = random() * 100;
  for (const tool of ['read', 'bash', 'cat', 'edit', 'other']) {
    left -= mix[tool] ?? 0;
    if (left < 0) return tool;
  }
  return undefined;
}

function callOf(state, tool) {
  const { calls, files, random, mix } = state;
  const path = `/repo/src/file-${calls % 500}.ts`;
  const known = files.get(path) ?? body(state, mix.lines ?? 10 + Math.floor(random() * 90));
  files.set(path, known);
  switch (tool) {
    case 'read': {
      const lines = known.split('\n');
      const text = lines.map((line, index) => `${index + 1}\t${line}`).join('\n');
      const numLines = lines.length;
      const file = { filePath: path, content: known, numLines, startLine: 1, totalLines: numLines };
      return { name: 'Read', input: { file_path: path }, text, detail: { type: 'text', file } };
    }
    case 'edit': {
      const lines = known.split('\n');
      const oldString = lines[Math.floor(random() * (lines.length - 1))];
      const newString = sentence(state);
      files.set(
        path,
        known.replace(oldString, () => newString),
      );
      const structuredPatch = [
        { oldStart: 1, oldLines: 3, newStart: 1, newLines: 3, lines: [' a', '-b', '+c'] },
      ];
      const detail = { filePath: path, oldString, newString, originalFile: known, structuredPatch };
      return {
        name: 'Edit',
        input: { file_path: path, old_string: oldString, new_string: newString },
        text: `The file ${path} has been updated successfully.`,
        detail: { ...detail, userModified: false, replaceAll: false },
      };
    }
    case 'other': {
      const todos = [{ content: sentence(state), status: 'pending' }];
      const detail = { oldTodos: [], newTodos: todos };
      return { name: 'TodoWrite', input: { todos }, text: 'Todos have been modified', detail };
    }
    default: {
      const command = tool === 'cat' ? `cat ${path}` : `npm test -- ${calls}`;
      const text = (tool === 'cat' ? known : body(state, 10 + Math.floor(random() * 80))).trimEnd();
      const detail = { stdout: text, stderr: '', interrupted: false, isImage: false };
      return { name: 'Bash', input: { command, description: 'Run' }, text, detail };
    }
  }
}

function assistant(state, block) {
  const message = {
    id: `msg_${state.count}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [block],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: USAGE,
  };
  return record(state, { message, requestId: `req_${state.count}`, type: 'assistant' });
}

/** In the order of keys that the host writes. */
function record(state, fields, after = {}) {
  const parentUuid = state.parent;
  const isSidechain = state.mix.agent === true;
  state.parent = randomUUID();
  state.count += 1;
  const timestamp = new Date(Date.UTC(2026, 10, 15) + state.count).toISOString();
  return JSON.stringify({
    parentUuid,
    isSidechain,
    ...fields,
    uuid: state.parent,
    timestamp,
    ...after,
    ...BASE,
  });
}

function body(state, lines) {
  return `${Array.from({ length: lines }, () => sentence(state)).join('\n')}\n`;
}

function sentence({ random }) {
  const words = Array.from({ length: 3 + Math.floor(random() * 9) }, () => {
    const word = WORDS[Math.floor(random() * WORDS.length)];
    return random() < 0.2 ? `${word}("x");` : word;
  });
  return `  ${words.join(' ')}`;
}

function randomNumbers(start) {
  let seed = start;
  return () => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
}
