import { pathToFileURL } from 'node:url';
import { ANSWERS, type AnsweredKind } from '../dialect/answers.ts';
import { RECEIPT_STYLE } from '../dialect/lookfirst/read-text.ts';
import type { Operations, Results } from '../dialect/operation.ts';
import { type ReadStyle, type RenderContext, type Rendered, styledText } from '../dialect/render.ts';
import type { Call, Dialect } from '../dialect/tool.ts';
import { Fault, nothingChanged } from '../model/fault.ts';
import { defined } from '../model/record.ts';
import type { FileStatus, ReadResult, RunResult } from '../model/results.ts';
import type { FindOptions } from '../model/session.ts';
import { type Outcome, type Refusal, refused } from '../model/verdict.ts';
import { byteSize } from '../report/amounts.ts';
import { noticeTexts } from '../report/describe-notice.ts';
import { explain } from '../report/explain.ts';
import {
  applyOutcome,
  refusalOutcome,
  type SuccessOutcome,
  successOutcome,
  undoOutcome,
} from '../report/json.ts';
import { inTermsOf } from '../report/tool-names.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { type PathNames, withShownPaths } from '../session/path-names.ts';
import { viewOf } from '../text/lines.ts';
import {
  type EscapedText,
  type Performed,
  type ToolAnswer,
  type ToolContext,
  withText,
} from './tool-answer.ts';

/** The session, tool and output form of a call. */
interface PerformOptions {
  readonly session: GatedSession;
  /** Name of the tool that was called. */
  readonly tool: string;
  readonly context: RenderContext;
  /** Translates the caller's paths; absent if the caller uses the session's paths. */
  readonly names?: PathNames | undefined;
  /** The caller's signal and progress callback, and the times of the call's arrival and answer. */
  readonly watch: Pick<ToolContext, 'progress' | 'times'> & { readonly signal?: AbortSignal | undefined };
  /**
   * `text`: file contents are returned as strings. `bytes`: they may be returned as escaped bytes,
   * for a transport that writes JSON.
   */
  readonly form: 'bytes' | 'text';
}

/**
 * Minimum time between two progress notes: short enough for a user who watches, long enough to cost
 * nothing.
 */
const PACE_MS = 100;

type Progress = ToolContext['progress'];

/** Interval of the progress notes that are sent even if a command prints nothing. */
const SILENCE_MS = 1000;

const [NEWLINE, RETURN] = [10, 13];

/** Calls that change no file. If such a call fails, its error says that nothing was changed. */
const LOOKING: ReadonlySet<Call['kind']> = new Set([
  'read',
  'view',
  'read-many',
  'media',
  'list',
  'find',
  'search',
  'status',
  'info',
  'roots',
]);

/** Performs a translated call and answers in the dialect's wording. */
export async function callTool(
  call: Call,
  dialect: Pick<Dialect, 'terms'>,
  performing: PerformOptions,
): Promise<ToolAnswer> {
  let performed: Performed;
  try {
    const plain = call.kind === 'view' ? await viewed(call, performing) : call;
    if (plain.kind === 'read') {
      const reading = read(plain.operation, performing);
      performed = readAnswer(plain, performing, reading instanceof Promise ? await reading : reading);
    } else performed = await performLater(plain, performing);
  } catch (error) {
    throw LOOKING.has(call.kind) ? nothingChanged(error) : error;
  }
  if (performed.ok) return call.note === undefined ? performed : withText(performed, call.note);
  const refusal = inTermsOf(dialect.terms, performed.refusal);
  const foreword = call.foreword?.(refusal, performing.context);
  const text = explain(refusal, performing.context);
  return {
    ok: false,
    text: foreword === undefined ? text : `${foreword}\n${text}`,
    outcome: refusalOutcome(refusal),
  };
}

function readAnswer(
  { style = RECEIPT_STYLE }: Extract<Call, { kind: 'read' }>,
  { context, form, names }: PerformOptions,
  given: Outcome<ReadResult>,
): Performed {
  const outcome = names === undefined ? given : withShownPaths(given, names);
  if (!outcome.ok) return outcome;
  if (outcome.media !== undefined && style.textOnly) return refused(notText(outcome));
  const shown = (form === 'bytes' ? showRead : showText)(outcome, style, context);
  const performed = { ok: true, shown, outcome: successOutcome(outcome) } as const;
  if (outcome.notices === undefined) return performed;
  return withText(performed, noticeTexts(outcome.notices, outcome.path, context).join('\n'));
}

/** Adds what commands of other sessions have removed of this session's work since it last heard of that. */
async function withLosses(performed: Performed, session: GatedSession): Promise<Performed> {
  const losses = await session.untoldLosses().catch(noneAfterFault);
  return losses.length === 0 ? performed : withText(performed, losses.join('\n'));
}

/**
 * The call has been made, so a fault in the search for losses, such as a session that was closed
 * meanwhile, must not make it look failed. The next call names the losses.
 */
function noneAfterFault(error: unknown): readonly string[] {
  if (error instanceof Fault) return [];
  throw error;
}

/** The refusal of a read by a tool that shows only text. */
function notText({ path, media, sizeBytes }: ReadResult): Refusal {
  const reason = `its type is ${media?.mimeType} (${byteSize(sizeBytes)})`;
  return { code: 'NOT_TEXT', action: 'read', path, next: 'other_tool', detail: { reason } };
}

/** The call that shows a path: a listing of a folder, or else a read. */
async function viewed(
  { operation: { folder, ...read }, note, foreword }: Extract<Call, { kind: 'view' }>,
  { session }: PerformOptions,
): Promise<PlainCall> {
  const isFolder = (await session.kindAt(read.path)) === 'directory';
  const more = defined({ note, foreword });
  if (!isFolder) return { kind: 'read', operation: read, ...more };
  return { kind: 'list', operation: { ...folder, path: read.path }, ...more };
}

type PlainCall = Exclude<Call, { kind: 'view' }>;

type LaterKind = Exclude<keyof Operations, 'read' | 'view'>;

type Performer<K extends LaterKind> = (
  operation: Operations[K],
  performing: PerformOptions,
) => Promise<Outcome<Results[K]>>;

/** How each kind of operation is performed. */
const PERFORMERS: { readonly [K in LaterKind]: Performer<K> } = {
  'read-many': readMany,
  media: readMedia,
  list: ({ path, ...options }, { session, watch: { signal, progress } }) => {
    const note = paced(progress);
    const onProgress = (entries: number): void =>
      note(entries, undefined, `listing: ${entries} entries so far`);
    return session.list(path, { ...options, signal, onProgress });
  },
  find: ({ pattern, ...options }, { session, watch }) =>
    session.find(pattern, { ...options, ...searched(watch) }),
  search: ({ pattern, ...options }, { session, watch }) =>
    session.search(pattern, { ...options, ...searched(watch) }),
  status: ({ path }, { session }) => session.status(path),
  info: ({ path }, { session }) => session.info(path),
  run: runCommand,
  roots: async (_operation, { context }) => ({ ok: true, roots: context.roots }),
  write: ({ path, content, ...options }, { session, watch: { signal } }) =>
    session.write(path, content, { signal, ...options }),
  edit: ({ path, edits, ...options }, { session, watch: { signal } }) =>
    session.edit(path, edits, { signal, ...options }),
  insert: ({ path, content, ...options }, { session, watch: { signal } }) =>
    session.insert(path, content, { signal, ...options }),
  apply: ({ changes, dryRun, unread }, { session, watch: { signal } }) =>
    unread === 'show' ? session.preview(changes, { signal }) : session.apply(changes, { dryRun, signal }),
  patch: (patch, { session, names, watch: { signal } }) => session.patch(patch, { names, signal }),
  delete: ({ path, ...options }, { session, watch: { signal } }) =>
    session.delete(path, { signal, ...options }),
  move: ({ source, destination, ...options }, { session, watch: { signal } }) =>
    session.move(source, destination, { signal, ...options }),
  mkdir: ({ path }, { session, watch: { signal } }) => session.mkdir(path, { signal }),
  undo: (selection, { session, watch: { signal } }) => session.undo(selection, { signal }),
};

/** The outcomes for programs that are not `successOutcome`. */
const SUMMARIES: { readonly [K in LaterKind]?: (result: Results[K]) => SuccessOutcome } = {
  'read-many': manyOutcome,
  find: untilCut,
  search: untilCut,
  status: statusOutcome,
  run: runOutcome,
  roots: () => successOutcome(),
  apply: applyOutcome,
  patch: applyOutcome,
  undo: undoOutcome,
};

async function performLater(
  { kind, operation, asked = operation, render }: Exclude<PlainCall, { kind: 'read' }>,
  performing: PerformOptions,
): Promise<Performed> {
  const { session, watch, names, context, tool } = performing;
  watch.times.tool = tool;
  // Do not begin a change that was cancelled while it waited. Once the first file is touched, a
  // change cannot be cancelled: it finishes and is recorded in the journal.
  if (!LOOKING.has(kind)) watch.signal?.throwIfAborted();
  // The casts are safe: performer, answer and summary of one kind fit together.
  const perform = PERFORMERS[kind] as Performer<never>;
  const given = await session.inCall(watch.times, () => perform(operation as never, performing));
  const outcome: Outcome<object> = names === undefined ? given : withShownPaths(given, names);
  if (!outcome.ok) return outcome;
  const summary = (SUMMARIES[kind] ?? successOutcome) as (result: object) => SuccessOutcome;
  const shown =
    render === undefined
      ? ANSWERS[kind as AnsweredKind](asked as never, outcome as never, context)
      : render(outcome as never, context);
  return withLosses({ ok: true, shown, outcome: summary(outcome) }, session);
}

async function runCommand(
  { command, timeoutMs }: Operations['run'],
  { session, watch }: PerformOptions,
): Promise<Outcome<RunResult>> {
  const { onProgress, stop } = running(watch.progress);
  try {
    return await session.run(command, { timeoutMs, signal: watch.signal, onProgress });
  } finally {
    stop();
  }
}

function runOutcome({ committed, files, change }: RunResult): SuccessOutcome {
  return successOutcome({
    changed: committed && files.length > 0,
    ...(change === undefined ? {} : { change }),
  });
}

/** The signal and progress callback of a search. */
function searched({ signal, progress }: PerformOptions['watch']): Pick<FindOptions, 'signal' | 'onProgress'> {
  return { signal, onProgress: searching(progress) };
}

function read(
  operation: Operations['read'],
  { session, watch }: PerformOptions,
): Outcome<ReadResult> | Promise<Outcome<ReadResult>> {
  return session.readForTool(operation.path, operation, new ReadWatch(watch));
}

/** Progress and cancellation of one read. Most reads need neither, and making them takes longer than a repeated read. */
class ReadWatch {
  readonly times: ToolContext['times'];
  readonly #watch: PerformOptions['watch'];

  constructor(watch: PerformOptions['watch']) {
    this.#watch = watch;
    this.times = watch.times;
  }

  get onProgress(): Progress {
    return paced(this.#watch.progress);
  }

  get signal(): AbortSignal | undefined {
    return this.#watch.signal;
  }
}

/** Reads files one after the other, so that a thousand files do not need a thousand open handles. */
async function readMany(
  { paths, each, together = Number.POSITIVE_INFINITY }: Operations['read-many'],
  performing: PerformOptions,
): Promise<Outcome<Results['read-many']>> {
  const files: Results['read-many']['files'][number][] = [];
  let left = together;
  const { signal, progress } = performing.watch;
  const note = paced(progress);
  // Report progress by files, not within one file.
  const within = { ...performing, watch: { ...performing.watch, signal, progress: () => {} } };
  for (const [index, path] of paths.entries()) {
    signal?.throwIfAborted();
    note(index, paths.length);
    const bounded = together === Number.POSITIVE_INFINITY ? {} : { maxBytes: Math.max(0, left) };
    const outcome = await read({ ...each, ...bounded, path }, within);
    if (outcome.ok) left -= outcome.sizeBytes;
    files.push({ path, outcome });
  }
  return { ok: true, files };
}

async function readMedia(
  { path, maxBytes }: Operations['media'],
  performing: PerformOptions,
): Promise<Outcome<Results['media']>> {
  const outcome = await read({ path, maxBytes, raw: true, limit: Number.MAX_SAFE_INTEGER }, performing);
  if (!outcome.ok) return outcome;
  const info = await performing.session.info(path);
  if (!info.ok) return info;
  const base64 = Buffer.from(outcome.bytes ?? []).toString('base64');
  const absolute = performing.names?.shown(info.absolute) ?? info.absolute;
  return { ok: true, path, uri: pathToFileURL(absolute).href, base64 };
}

/** The outcome of each file, in the order of the paths. */
function manyOutcome({ files }: Results['read-many']): SuccessOutcome {
  const each = files.map(({ path, outcome }) =>
    outcome.ok ? successOutcome({ ...outcome, path }) : refusalOutcome({ ...outcome.refusal, path }),
  );
  return { ok: true, files: each };
}

function untilCut({ truncated }: { readonly truncated: boolean }): SuccessOutcome {
  return successOutcome({ complete: !truncated });
}

/**
 * The outcome of a status call for a single file. Includes the file's revision only if the session
 * has read the present content: a caller may use the revision as proof of what it saw.
 */
function statusOutcome({ files }: { readonly files: readonly FileStatus[] }): SuccessOutcome {
  const [file, another] = files;
  if (file === undefined || another !== undefined) return successOutcome();
  const { path, freshness, seen, revision } = file;
  const fresh = freshness === 'fresh';
  return successOutcome({
    path,
    complete: fresh && seen === 'whole',
    ...(fresh && revision !== undefined ? { revision } : {}),
  });
}

/** Passes the first progress note on immediately and later ones at most every 100 ms; drops the rest. */
export function paced(progress: Progress, now: () => number = () => performance.now()): Progress {
  let nextMs = Number.NEGATIVE_INFINITY;
  return (done, total, message) => {
    const atMs = now();
    if (atMs < nextMs) return;
    nextMs = atMs + PACE_MS;
    progress(done, total, message);
  };
}

/**
 * Progress notes for a command. A command may print nothing for minutes, so the progress value is
 * the elapsed time in milliseconds. Sends a note immediately, then on output and every second,
 * until `stop` is called.
 */
function running(progress: Progress): {
  readonly onProgress: (bytes: number) => void;
  readonly stop: () => void;
} {
  const startMs = performance.now();
  const note = paced(progress);
  let bytes = 0;
  const tell = (): void =>
    note(Math.round(performance.now() - startMs), undefined, `running: ${bytes} bytes of output so far`);
  const timer = setInterval(tell, SILENCE_MS);
  note(0, undefined, 'running');
  return {
    onProgress: (printed) => {
      bytes = printed;
      tell();
    },
    stop: () => clearInterval(timer),
  };
}

/**
 * Progress notes for a search. Its total is unknown and it may find nothing for seconds, so the
 * progress value is the elapsed time in milliseconds. Sends the first note immediately.
 */
export function searching(
  progress: Progress,
  now: () => number = () => performance.now(),
): (files: number) => void {
  const startMs = now();
  progress(0, undefined, 'searching');
  return (files) => progress(Math.round(now() - startMs), undefined, `searching: ${files} files so far`);
}

/** Renders the result of a read as text, in the style of a dialect. */
function showText(result: ReadResult, style: ReadStyle, context: RenderContext): Rendered {
  return result.media === undefined ? styledText(result, style, context) : style.other(result, context);
}

/** Like `showText`, but sends the file's bytes without decoding them where that is possible. */
export function showRead(
  result: ReadResult,
  style: ReadStyle,
  context: RenderContext,
): Rendered | EscapedText {
  const { bytes, encoding, media } = result;
  if (media !== undefined || bytes === undefined || encoding !== 'utf-8')
    return showText(result, style, context);
  const lines = viewOf(bytes);
  if (style.lines !== 'numbered')
    return escaped(style.lines === 'raw' ? lines : joined(lines), style.foot(result, context));
  // A file with CRLF needs decoded text, because its lines are shown without `\r`. An empty file
  // has no line to number. Search for a single `\r` first: that is faster, and few files contain
  // one.
  if (lines.length === 0 || (lines.includes(RETURN) && lines.includes('\r\n')))
    return styledText(result, style, context);
  return numbered(lines, result.from, style.foot(result, context));
}

function numbered(lines: Buffer, first: number, foot: string): EscapedText {
  const end = lines[lines.length - 1] === NEWLINE ? lines.length - 1 : lines.length;
  const shown = lines.subarray(0, end);
  return {
    escaped: {
      expectedBytes: lines.length + (lines.length >> 2) + foot.length,
      writeTo: (out) => void out.numberedLines(shown, first).text(foot),
    },
  };
}

function joined(bytes: Buffer): Buffer {
  return bytes.at(-1) === NEWLINE ? bytes.subarray(0, -1) : bytes;
}

function escaped(bytes: Uint8Array, foot: string): EscapedText {
  return {
    escaped: {
      expectedBytes: bytes.length + (bytes.length >> 3) + foot.length,
      writeTo: (out) => void out.bytes(bytes).text(foot),
    },
  };
}
