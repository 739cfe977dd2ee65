// Generates transcripts of Claude Code of any length. The records have the same order of keys, the
// same mix of kinds and the same sizes as in 35 public files (14,126 records of versions 2.1.38 and
// 2.1.39). Most lines are notes of progress, and most bytes are results of tools.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

const WORDS =
  'const let return function import export value index result await async if else for of in new class this throw error path file line'.split(
    ' ',
  );
const BASE = {
  userType: 'external',
  cwd: '/repo',
  sessionId: '8883fa47-8a34-4787-9ebd-d92fe6e3bc86',
  version: '2.1.39',
  gitBranch: 'main',
};
const USAGE = {
  input_tokens: 100,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 10,
  service_tier: 'standard',
  cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
};

/** Share of each tool in all calls, in percent. */
const CALLS = { bash: 40, read: 24, edit: 18, glob: 5, grep: 5, write: 4, task: 4 };
/**
 * Bytes of a record: the median, the 95th percentile and the maximum. Sizes follow a logarithmic
 * normal distribution.
 */
const SIZES = {
  progress: [633, 2291, 82_286],
  result: [2231, 30_211, 178_084],
  call: [1106, 3261, 23_075],
  text: [951, 1198, 29_182],
};
/**
 * Number of other records for each tool call. Of a hundred records, 22 are 11 tool calls and their
 * results. The rest is 69 records of progress, 7 of text and 2 of other kinds.
 */
const BESIDE = { progress: 69 / 11, text: 7 / 11, other: 2 / 11 };

/**
 * The kinds of transcripts: the main conversation, or a sub-agent. Only the main conversation has
 * `toolUseResult` beside each tool result.
 */
export const SHAPES = { main: {}, 'sub-agent': { agentId: 'a0d565a4ecc6f2b56' } };

/** Lines of a transcript, without end. The same seed gives the same lines. */
export function* transcriptLines(shape = SHAPES.main, seed = 7) {
  const random = randomNumbers(seed);
  const state = { shape, random, files: new Map(), parent: null, count: 0, calls: 0, owed: { ...BESIDE } };
  for (;;) yield* turn(state);
}

export async function writeTranscript(file, shape, lines) {
  const stream = createWriteStream(file, { highWaterMark: 1 << 22 });
  let written = 0;
  for (const line of transcriptLines(shape)) {
    if (!stream.write(`${line}\n`)) await once(stream, 'drain');
    written += 1;
    if (written === lines) break;
  }
  stream.end();
  await finished(stream);
}

function* turn(state) {
  state.calls += 1;
  if (owes(state, 'text') > 0) yield text(state);
  const id = `toolu_${state.calls.toString(36).padStart(24, '0')}`;
  const call = callOf(state, id);
  const caller = uuidOf(state.count + 1);
  yield assistant(state, { type: 'tool_use', id, name: call.name, input: call.input }, 'call');
  for (let left = owes(state, 'progress'); left > 0; left -= 1) yield progress(state, id);
  const result = { tool_use_id: id, type: 'tool_result', content: call.text };
  const message = { role: 'user', content: [result] };
  const detail = state.shape.agentId === undefined ? { toolUseResult: call.detail } : {};
  yield record(state, { type: 'user', message }, { ...detail, sourceToolAssistantUUID: caller });
  if (owes(state, 'other') > 0) yield other(state);
}

/** Number of records of a kind to write now. A fraction is carried over to the next tool call. */
function owes(state, kind) {
  const due = Math.floor(state.owed[kind]);
  state.owed[kind] += BESIDE[kind] - due;
  return due;
}

function callOf(state, id) {
  const { calls, files, random } = state;
  const path = `/repo/src/file-${Math.floor(random() * 300)}.ts`;
  const content = files.get(path) ?? body(state, contentSize(state));
  files.set(path, content);
  switch (toolOf(random)) {
    case 'read':
      return readCall(path, content);
    case 'edit':
      return editCall(state, path, content);
    case 'write': {
      const written = body(state, 2 * sizeOf(state, 'call'));
      files.set(path, written);
      const detail = {
        type: 'update',
        filePath: path,
        content: written,
        structuredPatch: [],
        originalFile: content,
      };
      return {
        name: 'Write',
        input: { file_path: path, content: written },
        text: `The file ${path} has been updated successfully.`,
        detail,
      };
    }
    case 'grep': {
      const filenames = Array.from({ length: 20 }, (_, at) => `src/file-${at}.ts`);
      const detail = { mode: 'files_with_matches', filenames, numFiles: filenames.length };
      return {
        name: 'Grep',
        input: { pattern: 'value', path: '/repo/src' },
        text: filenames.join('\n'),
        detail,
      };
    }
    case 'glob': {
      const filenames = Array.from({ length: 20 }, (_, at) => `/repo/src/file-${at}.ts`);
      const detail = { filenames, durationMs: 4, numFiles: 20, truncated: false };
      return { name: 'Glob', input: { pattern: '**/*.ts' }, text: filenames.join('\n'), detail };
    }
    case 'task': {
      const said = body(state, contentSize(state));
      const detail = {
        status: 'completed',
        prompt: 'Look',
        agentId: 'a1',
        content: [{ type: 'text', text: said }],
      };
      return {
        name: 'Task',
        input: { description: 'Look', prompt: id },
        text: [{ type: 'text', text: said }],
        detail,
      };
    }
    default: {
      const printed = body(state, contentSize(state)).trimEnd();
      const command = calls % 20 === 0 ? `cat ${path}` : `npm test -- ${calls} 2>&1 | tail -40`;
      const stdout = calls % 20 === 0 ? content.trimEnd() : printed;
      const detail = { stdout, stderr: '', interrupted: false, isImage: false };
      return { name: 'Bash', input: { command, description: 'Run the tests' }, text: stdout, detail };
    }
  }
}

function readCall(path, content) {
  const lines = content.split('\n');
  const numbered = lines.map((line, index) => `${String(index + 1).padStart(6)}→${line}`).join('\n');
  const numLines = lines.length;
  const file = { filePath: path, content, numLines, startLine: 1, totalLines: numLines };
  return {
    name: 'Read',
    input: { file_path: path },
    text: `${numbered}\n\n<system-reminder>\nConsider the content.\n</system-reminder>\n`,
    detail: { type: 'text', file },
  };
}

function editCall(state, path, content) {
  const lines = content.split('\n');
  const oldString = lines[Math.floor(state.random() * (lines.length - 1))];
  const newString = sentence(state);
  state.files.set(
    path,
    content.replace(oldString, () => newString),
  );
  const structuredPatch = [{ oldStart: 1, oldLines: 3, newStart: 1, newLines: 3, lines: [' a', '-b', '+c'] }];
  const detail = { filePath: path, oldString, newString, originalFile: content, structuredPatch };
  return {
    name: 'Edit',
    input: { file_path: path, old_string: oldString, new_string: newString },
    text: `The file ${path} has been updated successfully.`,
    detail: { ...detail, userModified: false, replaceAll: false },
  };
}

function text(state) {
  const kind = state.random() < 0.5 ? 'text' : 'thinking';
  const said = body(state, Math.max(100, sizeOf(state, 'text') - 700));
  return assistant(
    state,
    { type: kind, [kind]: said, ...(kind === 'thinking' ? { signature: 'Eq'.repeat(60) } : {}) },
    'text',
  );
}

function assistant(state, block) {
  const message = {
    model: 'claude-opus-4-6',
    id: `msg_${state.count}`,
    type: 'message',
    role: 'assistant',
    content: [block],
    stop_reason: null,
    stop_sequence: null,
    usage: USAGE,
  };
  return record(state, { message, requestId: `req_${state.count}`, type: 'assistant' }, {});
}

/** Progress notes of a tool, a hook or a sub-agent, with their keys in one of two orders. */
function progress(state, id) {
  const output = body(state, Math.max(10, sizeOf(state, 'progress') - 560) / 1.6);
  const draw = state.random();
  const data =
    draw < 0.5
      ? {
          type: 'hook_progress',
          hookEvent: 'PostToolUse',
          hookName: 'PostToolUse:Read',
          command: output.slice(0, 80),
        }
      : draw < 0.8
        ? { type: 'bash_progress', output, fullOutput: output, elapsedTimeSeconds: 3, totalLines: 9 }
        : {
            message: {
              type: 'user',
              message: { role: 'user', content: [{ tool_use_id: id, type: 'tool_result', content: output }] },
              uuid: uuidOf(state.count),
              timestamp: '2026-02-10T10:00:00.000Z',
            },
            type: 'agent_progress',
            prompt: '',
            agentId: 'a1',
          };
  return draw < 0.9
    ? record(state, { type: 'progress', data, toolUseID: id, parentToolUseID: id }, {})
    : record(state, { type: 'progress', data, parentToolUseID: id, toolUseID: id }, 'time first');
}

function other(state) {
  const draw = state.random();
  const { sessionId } = BASE;
  if (draw < 0.4)
    return JSON.stringify({
      type: 'file-history-snapshot',
      messageId: uuidOf(state.count),
      snapshot: {
        messageId: uuidOf(state.count),
        trackedFileBackups: {},
        timestamp: '2026-02-10T10:00:00.000Z',
      },
      isSnapshotUpdate: false,
    });
  if (draw < 0.6)
    return JSON.stringify({
      type: 'queue-operation',
      operation: 'enqueue',
      timestamp: '2026-02-10T10:00:00.000Z',
      sessionId,
    });
  return record(state, { type: 'system', subtype: 'turn_duration', durationMs: 4711, isMeta: false }, {});
}

/** A record of the conversation, with its keys in the order in which Claude Code writes them. */
function record(state, fields, after) {
  const { agentId } = state.shape;
  const parentUuid = state.parent;
  state.count += 1;
  const uuid = uuidOf(state.count);
  state.parent = uuid;
  const timestamp = new Date(Date.UTC(2026, 1, 10) + state.count).toISOString();
  return JSON.stringify({
    parentUuid,
    isSidechain: agentId !== undefined,
    ...BASE,
    ...(agentId === undefined ? {} : { agentId }),
    slug: 'quiet-hopping-otter',
    ...fields,
    ...(after === 'time first' ? { timestamp, uuid } : { uuid, timestamp, ...after }),
  });
}

function uuidOf(count) {
  return `${count.toString(16).padStart(8, '0')}-7f3a-4c1e-9b2d-${(count * 7919).toString(16).padStart(12, '0')}`;
}

function toolOf(random) {
  let left = random() * 100;
  for (const [tool, share] of Object.entries(CALLS)) {
    left -= share;
    if (left < 0) return tool;
  }
  return 'bash';
}

function sizeOf({ random }, kind) {
  const [median, high, most] = SIZES[kind];
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.min(most, median * Math.exp((Math.log(high / median) / 1.645) * normal));
}

/**
 * Size of the text of a tool result. The record contains the text twice, beside about 600 bytes of
 * other keys.
 */
function contentSize(state) {
  return Math.max(60, (sizeOf(state, 'result') - 600) / 2.2);
}

/** Lines of about `bytes` bytes in total. */
function body(state, bytes) {
  const lines = [];
  for (let left = bytes; left > 0; ) {
    const line = sentence(state);
    lines.push(line);
    left -= line.length + 1;
  }
  return `${lines.join('\n')}\n`;
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
    return seed / 0x80000000;
  };
}
