import { pathToFileURL } from 'node:url';
import type { ManyRead, Operations, Results } from '../dialect/operation.ts';
import type { RenderContext } from '../dialect/render.ts';
import type { Call } from '../dialect/tool.ts';
import { runAsTool } from '../gate/calling-tool.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import type { CallTimes } from '../model/foreign-session.ts';
import type { FileStatus, ReadResult, RunResult } from '../model/results.ts';
import type { FindOptions } from '../model/session.ts';
import type { Outcome } from '../model/verdict.ts';
import { noticeTexts } from '../report/describe-notice.ts';
import { refusalOutcome, type SuccessOutcome, successOutcome } from '../report/json.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { type PathNames, withShownPaths } from '../session/path-names.ts';
import { performChange } from './perform-change.ts';
import { paced, running, searching } from './progress-notes.ts';
import { showRead, showText } from './show-read.ts';
import { type Performed, rendered, withText } from './tool-answer.ts';
import type { ToolContext } from './tool-context.ts';

/** The session, tool and output form of a call. */
export interface Performing {
  readonly session: GatedSession;
  /** Name of the tool that was called. */
  readonly tool: string;
  readonly context: RenderContext;
  /** Translates the caller's paths; absent if the caller uses the session's paths. */
  readonly names?: PathNames | undefined;
  /** The caller's signal, progress callback and times. */
  readonly watch: Pick<ToolContext, 'signal' | 'progress' | 'times'>;
  /** `bytes`: file text may be returned as escaped bytes, for a transport that writes JSON. */
  readonly form: 'bytes' | 'text';
}

/** Performs a call and renders its result with the call's own renderer. Small reads complete synchronously. */
export function performCall(call: Call, performing: Performing): Awaitable<Performed> {
  if (call.kind === 'view') return performView(call, performing);
  if (call.kind !== 'read') return runAsTool(performing.tool, () => performLater(call, performing));
  return andThen(read(call.operation, performing), (given) => {
    const { context, form, names } = performing;
    const outcome = names === undefined ? given : withShownPaths(given, names);
    if (!outcome.ok) return outcome;
    const shown = (form === 'bytes' ? showRead : showText)(outcome, call.style, context);
    const notices = noticeTexts(outcome.notices ?? [], outcome.path, context);
    const performed = { ok: true, shown, outcome: successOutcome(outcome) } as const;
    return notices.length === 0 ? performed : withText(performed, notices.join('\n'));
  });
}

async function performView(
  { operation: { folder, ...read }, style, render, ...call }: Extract<Call, { kind: 'view' }>,
  performing: Performing,
): Promise<Performed> {
  const kind = await performing.session.kindAt(read.path);
  if (kind !== 'directory') return performCall({ ...call, kind: 'read', operation: read, style }, performing);
  return performCall(
    { ...call, kind: 'list', operation: { ...folder, path: read.path }, render },
    performing,
  );
}

async function performLater(
  call: Exclude<Call, { kind: 'read' | 'view' }>,
  performing: Performing,
): Promise<Performed> {
  const { session, context, watch } = performing;
  switch (call.kind) {
    case 'read-many':
      return rendered(await readMany(call.operation, performing), performing, {
        render: call.render,
        summary: manyOutcome,
      });
    case 'media':
      return rendered(await readMedia(call.operation, performing), performing, { render: call.render });
    case 'list': {
      const { path, ...options } = call.operation;
      const note = paced(watch.progress);
      const onProgress = (entries: number): void =>
        note(entries, undefined, `listing: ${entries} entries so far`);
      const outcome = await session.list(path, { ...options, signal: watch.signal, onProgress });
      return rendered(outcome, performing, { render: call.render });
    }
    case 'find': {
      const { pattern, ...options } = call.operation;
      const outcome = await session.find(pattern, { ...options, ...searched(watch) });
      return rendered(outcome, performing, { render: call.render, summary: untilCut });
    }
    case 'search': {
      const { pattern, ...options } = call.operation;
      const outcome = await session.search(pattern, { ...options, ...searched(watch) });
      return rendered(outcome, performing, { render: call.render, summary: untilCut });
    }
    case 'status': {
      const outcome = await session.status(call.operation.path);
      return rendered(outcome, performing, { render: call.render, summary: statusOutcome });
    }
    case 'claim': {
      const { target, ...options } = call.operation;
      const outcome = await session.claim(target, { ...options, signal: watch.signal });
      return rendered(outcome, performing, { render: call.render, summary: done });
    }
    case 'release': {
      const outcome = await session.release(call.operation.target, { signal: watch.signal });
      return rendered(outcome, performing, { render: call.render, summary: done });
    }
    case 'info':
      return rendered(await session.info(call.operation.path), performing, { render: call.render });
    case 'run': {
      const outcome = await runCommand(call.operation, performing);
      return rendered(outcome, performing, { render: call.render, summary: runOutcome });
    }
    case 'roots':
      return rendered({ ok: true, roots: context.roots }, performing, { render: call.render, summary: done });
    default:
      // Do not begin a change that was cancelled while it waited.
      watch.signal.throwIfAborted();
      return session.asOf(watch.times?.arrivedAt ?? Number.POSITIVE_INFINITY, () =>
        performChange(call, session, performing),
      );
  }
}

async function runCommand(
  { command, timeoutMs }: Operations['run'],
  { session, watch }: Performing,
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
function searched({ signal, progress }: Performing['watch']): Pick<FindOptions, 'signal' | 'onProgress'> {
  return { signal, onProgress: searching(progress) };
}

function read(operation: Operations['read'], { session, watch }: Performing): Awaitable<Outcome<ReadResult>> {
  return session.readNow(operation.path, operation, new Watching(watch));
}

/**
 * Options that are created on access: only long reads need a signal or progress, so short reads do
 * not pay for them.
 */
class Watching {
  readonly #watch: Performing['watch'];

  constructor(watch: Performing['watch']) {
    this.#watch = watch;
  }

  get signal(): AbortSignal {
    return this.#watch.signal;
  }

  get times(): CallTimes | undefined {
    return this.#watch.times;
  }

  get onProgress(): ReturnType<typeof paced> {
    return paced(this.#watch.progress);
  }
}

/** Reads files one after the other, so that a thousand files do not need a thousand open handles. */
async function readMany(
  { paths, each, together = Number.POSITIVE_INFINITY }: Operations['read-many'],
  performing: Performing,
): Promise<Outcome<Results['read-many']>> {
  const files: ManyRead[] = [];
  let left = together;
  const { signal, progress } = performing.watch;
  const note = paced(progress);
  // Report progress by files, not within one file.
  const within = { ...performing, watch: { ...performing.watch, signal, progress: () => {} } };
  for (const [index, path] of paths.entries()) {
    signal.throwIfAborted();
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
  performing: Performing,
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

const done = (): SuccessOutcome => successOutcome();

function untilCut({ truncated }: { readonly truncated: boolean }): SuccessOutcome {
  return successOutcome({ complete: !truncated });
}

/**
 * The outcome for a single file. Includes the revision only while the sighting is fresh, because it
 * serves as proof.
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
