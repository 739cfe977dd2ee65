import { ToolMessage } from '@langchain/core/messages';
import { type StructuredToolInterface, tool as structuredTool } from '@langchain/core/tools';
import type { AgentMiddleware } from 'langchain';
import { ClientCall } from '../model/call.ts';
import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord, objectsIn, stringIn } from '../model/record.ts';
import type { ChangeResult, ListedEntry } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import { explain } from '../report/explain.ts';
import type { ToolNames } from '../report/tool-names.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { callNames, type PathForm, type PathNames, pathForm } from '../session/path-names.ts';
import {
  adapterToolset,
  answered,
  flaggedFault,
  gatedSession,
  type SessionSource,
  type ToolsetAnswer,
  type ToolsetOptions,
  type ToolsetTool,
} from '../tools/toolset.ts';
import { ContextWatch, resultsIn, toolCallMessage, toolResultMessage } from './context-watch.ts';

/** The options that LangChain passes to a tool besides its arguments. */
interface ToolConfig {
  readonly signal?: AbortSignal;
  readonly toolCallId?: string;
  readonly toolCall?: { readonly id?: string };
}

type Content = string | ({ type: 'text'; text: string } | { type: string; mimeType: string; data: string })[];

/**
 * The tools of a session, for `createAgent`, `ToolNode` and `bindTools`. A refusal or a fault is a
 * ToolMessage with `status: "error"`; `artifact` holds the outcome for programs.
 */
export function lookfirstTools(
  session: SessionSource,
  options: ToolsetOptions = {},
): StructuredToolInterface[] {
  return adapterToolset(session, options).tools.map((tool) => {
    const { name, description, inputSchema: schema } = tool;
    const run = (args: unknown, config: ToolConfig) => called(tool, args, config);
    const shown = structuredTool(run, { name, description, schema });
    // The model sees the schema, but LangChain does not check it: it would answer wrong arguments with a stack trace.
    const unchecked = structuredTool(run, { name, description, schema: {} });
    shown.call = (args, config, tags) => unchecked.call(args, config, tags);
    return shown;
  });
}

async function called(tool: ToolsetTool, args: unknown, config: ToolConfig): Promise<ToolMessage | Content> {
  return messageOf(await answered(tool, args, { signal: config.signal }), tool, config);
}

function messageOf(answer: ToolsetAnswer, tool: ToolsetTool, config: ToolConfig): ToolMessage | Content {
  const content = contentOf(answer);
  const call = config.toolCall?.id ?? config.toolCallId;
  // Return the plain content to a program that invokes the tool itself, without a tool call of a
  // model.
  if (call === undefined) return content;
  const status = answer.ok ? 'success' : 'error';
  return new ToolMessage({ content, tool_call_id: call, name: tool.name, status, artifact: answer.outcome });
}

function contentOf({ text, media }: ToolsetAnswer): Content {
  if (media === undefined) return text;
  const files = media.map(({ mimeType, base64: data }) => ({ type: blockType(mimeType), mimeType, data }));
  return [{ type: 'text', text }, ...files];
}

function blockType(mimeType: string): string {
  const [kind = ''] = mimeType.split('/');
  return ['image', 'audio', 'video'].includes(kind) ? kind : 'file';
}

/**
 * A middleware for `createAgent` with the tools of a session. After tool messages were removed or
 * shortened, only the contents of the remaining messages count as seen. Put the middleware last in
 * the agent's list, so that it gets the same messages as the model.
 */
export function lookfirstMiddleware(session: SessionSource, options: ToolsetOptions = {}): AgentMiddleware {
  const watch = new ContextWatch(session, 'anthropic-messages');
  return {
    // The mark by which LangChain recognises a middleware. `createMiddleware` adds it, and does nothing else.
    [Symbol.for('AgentMiddleware')]: true,
    name: 'lookfirst',
    tools: lookfirstTools(session, options),
    wrapModelCall: async (request, handler) => {
      const messages = [...transcriptOf(request.messages)];
      await watch.look(messages, resultsIn(messages));
      return handler(request);
    },
  };
}

/** The calls and results of LangChain's messages, as messages of the Anthropic API. */
function* transcriptOf(messages: readonly unknown[]): Generator<JsonRecord> {
  for (const message of messages) {
    if (!isRecord(message)) continue;
    for (const { id, name, args } of objectsIn(message, 'tool_calls'))
      if (typeof id === 'string' && typeof name === 'string') yield toolCallMessage(id, name, args);
    const call = stringIn(message, 'tool_call_id');
    if (call === undefined) continue;
    yield toolResultMessage(call, { content: message['content'], is_error: message['status'] === 'error' });
  }
}

/**
 * The names of the tools that deepagents builds from a backend, for messages that suggest the next
 * call.
 */
const DEEPAGENTS_TOOLS: ToolNames = {
  read: 'read_file',
  write: 'write_file',
  edit: 'edit_file',
  list: 'ls',
  find: 'glob',
  search: 'grep',
  arguments: { path: 'file_path', fromZero: 'offset', count: 'limit', replaceAll: 'replace_all' },
};

/**
 * Limits of one read. deepagents truncates a text above 80,000 characters, of which each line number
 * takes ten, and lines that it cuts off must not count as seen.
 */
const MAX_SHOWN_CHARS = 70_000;
const LINE_NUMBER_CHARS = 10;
const MAX_LINES = 3000;
const DEFAULT_LINES = 500;
/**
 * More entries than any folder has. No entry may be left out, because the result of `ls` could not
 * say so.
 */
const MAX_ENTRIES = 2 ** 31;
/**
 * Maximum number of matches that a caller of `grep` can request. A higher `maxCount` is lowered to
 * it. If matches are left out, the result has `truncated: true`.
 */
const MAX_MATCHES = 10_000;
interface FileInfo {
  path: string;
  is_dir?: boolean;
  size?: number;
  modified_at?: string;
}

interface Changed {
  error?: string;
  path?: string;
  filesUpdate?: null;
  metadata?: Record<string, unknown>;
}

/**
 * A `BackendProtocolV2` for deepagents: its file tools read and write through a session. Paths are
 * absolute, and `/` is the session's root. An edit of a file that another program has changed is
 * refused, not merged, because deepagents would not tell the model about a merge.
 */
export class LookfirstBackend {
  readonly #session: SessionSource;
  #last: { readonly session: GatedSession; readonly form: PathForm } | undefined;

  constructor(session: SessionSource) {
    this.#session = session;
  }

  async ls(path: string): Promise<{ error?: string; files?: FileInfo[] }> {
    const { session, names } = this.#call();
    const listed = await session.list(names.real(path), { limit: MAX_ENTRIES });
    if (!listed.ok) return { error: this.#explain(listed.refusal, names) };
    const folder = path.endsWith('/') ? path : `${path}/`;
    return { files: listed.entries.map((entry) => fileInfo(folder, entry)) };
  }

  async read(
    path: string,
    offset = 0,
    limit: number = DEFAULT_LINES,
  ): Promise<{
    error?: string;
    content?: string | Uint8Array;
    mimeType?: string;
    totalLines?: number;
    startLine?: number;
    endLine?: number;
    nextOffset?: number;
  }> {
    const { session, names } = this.#call();
    const times = new ClientCall();
    const lines = Math.min(limit, MAX_LINES);
    const maxAnswerBytes = MAX_SHOWN_CHARS - LINE_NUMBER_CHARS * lines;
    const page = { offset: offset + 1, limit: lines, maxAnswerBytes };
    const outcome = await session.readForTool(names.real(path), page, { times });
    if (!outcome.ok) return { error: this.#explain(outcome.refusal, names) };
    times.answered();
    const { text, from, to, totalLines, media } = outcome;
    if (media !== undefined) return { content: media.base64 ?? '', mimeType: media.mimeType };
    const shown = { content: text, mimeType: 'text/plain', startLine: from, endLine: to };
    if (totalLines === undefined) return shown;
    return to < totalLines ? { ...shown, totalLines, nextOffset: to } : { ...shown, totalLines };
  }

  /**
   * A read for the framework itself. The model does not see the content, so the file does not count
   * as seen.
   */
  async readRaw(path: string): Promise<{
    error?: string;
    data?: { content: string | Uint8Array; mimeType: string; created_at: string; modified_at: string };
  }> {
    const { session, names } = this.#call();
    const real = names.real(path);
    const read = await session.read(real, { raw: true, credit: false, limit: 2 ** 31 });
    if (!read.ok) return { error: this.#explain(read.refusal, names) };
    const info = await session.info(real);
    if (!info.ok) return { error: this.#explain(info.refusal, names) };
    const { encoding, text, bytes, media } = read;
    const content = encoding === 'binary' ? new Uint8Array(bytes ?? []) : text;
    const at = (ms: number): string => new Date(ms).toISOString();
    const times = { created_at: at(info.createdMs), modified_at: at(info.modifiedMs) };
    return { data: { content, mimeType: media?.mimeType ?? 'text/plain', ...times } };
  }

  /** Searches for `pattern` as literal text. */
  async grep(
    pattern: string,
    path?: string | null,
    glob?: string | null,
    maxCount?: number | null,
  ): Promise<{
    error?: string;
    matches?: { path: string; line: number; text: string }[];
    truncated?: boolean;
  }> {
    const { session, names } = this.#call();
    const found = await session.search(pattern, {
      literal: true,
      path: names.real(path ?? '/'),
      ...(glob == null ? {} : { glob }),
      ...(maxCount == null ? {} : { limit: Math.min(maxCount, MAX_MATCHES) }),
    });
    if (!found.ok) return { error: this.#explain(found.refusal, names) };
    const matches = found.hits.map(({ path: hit, line, text }) => ({ path: names.shown(hit), line, text }));
    return { matches, truncated: found.truncated };
  }

  async glob(
    pattern: string,
    path = '/',
  ): Promise<{ error?: string; files?: FileInfo[]; truncated?: boolean }> {
    const { session, names } = this.#call();
    const found = await session.find(pattern.replace(/^\/+/, ''), { path: names.real(path) });
    if (!found.ok) return { error: this.#explain(found.refusal, names) };
    return { files: found.paths.map((file) => ({ path: names.shown(file) })), truncated: found.truncated };
  }

  write(path: string, content: string): Promise<Changed> {
    return this.#change('write_file', path, (session, real) => session.write(real, content));
  }

  edit(
    path: string,
    oldString: string,
    newString: string,
    replaceAll = false,
  ): Promise<Changed & { occurrences?: number }> {
    const edits = [{ oldString, newString, replaceAll }];
    return this.#change('edit_file', path, (session, real) => session.editUnmerged(real, edits));
  }

  delete(path: string): Promise<Changed> {
    return this.#change('delete', path, (session, real) => session.delete(real, { recursive: true }));
  }

  /**
   * Performs a change. Returns a fault as an error instead of throwing it, because the framework
   * would replace the text of a thrown error.
   */
  async #change(
    tool: string,
    path: string,
    work: (session: GatedSession, real: string) => Promise<Outcome<ChangeResult>>,
  ): Promise<Changed & { occurrences?: number }> {
    const { session, names } = this.#call();
    try {
      const done = await work(session, names.real(path));
      if (!done.ok) return { error: this.#explain(done.refusal, names) };
      const { change, revision, notices, replaced } = done;
      const occurrences = replaced === undefined ? {} : { occurrences: replaced };
      return { path, filesUpdate: null, metadata: { change, revision, notices }, ...occurrences };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { error: flaggedFault(tool, error).text };
    }
  }

  #call(): { readonly session: GatedSession; readonly names: PathNames } {
    const session = gatedSession(this.#session);
    if (this.#last?.session !== session) {
      const form = pathForm({ root: session.roots[0] ?? '/', virtualRoot: '/', cwd: session.cwd });
      this.#last = { session, form };
    }
    return { session, names: callNames(this.#last.form) };
  }

  #explain(refusal: Refusal, names: PathNames): string {
    const { wording } = gatedSession(this.#session);
    const shown = { ...refusal, path: names.shown(refusal.path) };
    return explain(shown, { nowMs: Date.now(), tools: DEEPAGENTS_TOOLS, wording });
  }
}

function fileInfo(folder: string, { path, kind, sizeBytes, mtimeMs }: ListedEntry): FileInfo {
  const isFolder = kind === 'directory';
  return {
    path: `${folder}${path}${isFolder ? '/' : ''}`,
    is_dir: isFolder,
    ...(sizeBytes === undefined ? {} : { size: sizeBytes }),
    ...(mtimeMs === undefined ? {} : { modified_at: new Date(mtimeMs).toISOString() }),
  };
}
