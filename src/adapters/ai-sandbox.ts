import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { shellLine } from '../dialect/calls/shell/shell-line.ts';
import { Fault } from '../model/fault.ts';
import type { FileKind } from '../model/path.ts';
import { defined } from '../model/record.ts';
import type { ReadResult, RunResult } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { explain } from '../report/explain.ts';
import type { ToolNames } from '../report/tool-names.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { gatedSession, type SessionSource } from '../tools/toolset.ts';

interface PathOptions {
  path: string;
  abortSignal?: AbortSignal | undefined;
}

interface ProcessOptions {
  command: string;
  workingDirectory?: string;
  env?: Record<string, string>;
  abortSignal?: AbortSignal;
}

/** A running command in a sandbox. */
export interface SandboxProcess {
  readonly pid?: number;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  wait(): PromiseLike<{ exitCode: number }>;
  kill(): PromiseLike<void>;
}

/** A running command with a writable stdin. */
export interface WritableSandboxProcess extends SandboxProcess {
  readonly stdin: WritableStream<Uint8Array>;
}

/** The command methods of a sandbox, which `lookfirstSandbox` wraps. */
export interface SandboxCommands {
  readonly spawn: {
    (options: ProcessOptions & { stdin: true }): PromiseLike<WritableSandboxProcess>;
    (options: ProcessOptions & { stdin?: false }): PromiseLike<SandboxProcess>;
    (options: ProcessOptions & { stdin?: boolean }): PromiseLike<SandboxProcess | WritableSandboxProcess>;
  };
  readonly run: (
    options: ProcessOptions,
  ) => PromiseLike<{ exitCode: number; stdout: string; stderr: string }>;
}

/** The `Experimental_SandboxSession` of AI SDK 7. */
export interface Sandbox extends SandboxCommands {
  readonly description: string;
  readonly readFile: (options: PathOptions) => Promise<ReadableStream<Uint8Array> | null>;
  readonly readBinaryFile: (options: PathOptions) => Promise<Uint8Array | null>;
  readonly readTextFile: (
    options: PathOptions & { encoding?: string; startLine?: number; endLine?: number },
  ) => Promise<string | null>;
  readonly writeFile: (options: PathOptions & { content: ReadableStream<Uint8Array> }) => Promise<void>;
  readonly writeBinaryFile: (options: PathOptions & { content: Uint8Array }) => Promise<void>;
  readonly writeTextFile: (options: PathOptions & { content: string; encoding?: string }) => Promise<void>;
  readonly stat: (
    options: PathOptions,
  ) => Promise<{ type: 'file' | 'directory' | 'other'; size: number } | null>;
  readonly listDirectory: (
    options: PathOptions,
  ) => Promise<{ name: string; type: 'file' | 'directory' | 'symlink' | 'other' }[] | null>;
  readonly deleteFile: (options: PathOptions) => Promise<boolean>;
}

/**
 * An error that carries a refusal. Methods throw it if their interface has no other way to report a
 * refusal.
 */
export class RefusedError extends Error {
  readonly code: Refusal['code'];
  readonly refusal: Refusal;

  constructor(refusal: Refusal, text: string) {
    super(text);
    this.name = 'RefusedError';
    this.code = refusal.code;
    this.refusal = refusal;
  }
}

/** The names of the sandbox's methods, for messages that suggest the next call. */
const SANDBOX_METHODS: ToolNames = {
  read: 'readTextFile',
  write: 'writeTextFile',
  edit: 'writeTextFile',
  delete: 'deleteFile',
  list: 'listDirectory',
  arguments: { path: 'path', from: 'startLine', to: 'endLine' },
};

/** A limit that leaves nothing out: no file has so many lines, and no folder so many entries. */
const ALL_LINES = 2 ** 31;

/**
 * A sandbox for `experimental_sandbox`. Through it, tools can overwrite only files that the session
 * has read. A refusal is thrown as a `RefusedError`; reading a missing file returns null. Commands
 * run in `inner` if it is given, else in Lookfirst's own sandbox.
 */
export function lookfirstSandbox(session: SessionSource, inner?: SandboxCommands): Sandbox {
  const current = (): GatedSession => gatedSession(session);
  return {
    description: 'A workspace in which a file must be read before it is overwritten or deleted.',
    readBinaryFile: async (options) => (await readLines(current(), options, {}))?.bytes ?? null,
    readFile: async (options) => {
      const read = await readLines(current(), options, {});
      return read === null ? null : streamOf(read.bytes);
    },
    readTextFile: async (options) => {
      const read = await readLines(current(), options, options);
      if (read === null) return null;
      // Secrets are masked in the bytes of text files only.
      return options.encoding === undefined || read.encoding === 'binary'
        ? read.text
        : new TextDecoder(options.encoding).decode(read.bytes);
    },
    writeFile: async (options) => write(current(), options, await bytesOf(options.content)),
    writeBinaryFile: (options) => write(current(), options, options.content),
    writeTextFile: (options) => write(current(), options, encoded(options.content, options.encoding)),
    stat: async ({ path }) => {
      const info = unlessMissing(await current().info(path));
      if (info === null) return null;
      const type = info.kind === 'file' || info.kind === 'directory' ? info.kind : 'other';
      return { type, size: info.sizeBytes };
    },
    listDirectory: async ({ path, abortSignal }) => {
      const options = { limit: ALL_LINES, ...defined({ signal: abortSignal }) };
      const listed = unlessMissing(await current().list(path, options));
      return listed?.entries.map(({ path: name, kind }) => ({ name, type: entryType(kind) })) ?? null;
    },
    deleteFile: async ({ path, abortSignal }) => {
      abortSignal?.throwIfAborted();
      return unlessMissing(await current().delete(path)) !== null;
    },
    ...(inner === undefined ? ownCommands(current) : watchedCommands(current, inner)),
  };
}

async function readLines(
  session: GatedSession,
  { path, abortSignal }: PathOptions,
  { startLine = 1, endLine = ALL_LINES }: { startLine?: number; endLine?: number },
): Promise<Required<Pick<ReadResult, 'text' | 'bytes' | 'encoding'>> | null> {
  const offset = startLine === 1 ? undefined : startLine;
  const page = { limit: endLine - startLine + 1, ...defined({ offset, signal: abortSignal }) };
  const read = unlessMissing(await session.read(path, { raw: true, ...page }));
  if (read === null) return null;
  const { text, to, totalLines, encoding } = read;
  const bytes = new Uint8Array(read.bytes ?? []);
  // The interface cannot report a partial result, so throw.
  if (encoding !== 'binary' && to < Math.min(endLine, totalLines ?? endLine))
    throw new Fault('IO_FAILED', `${path} is too large to be read at once; give startLine and endLine`);
  return { text, bytes, encoding };
}

async function write(
  session: GatedSession,
  { path, abortSignal }: PathOptions,
  content: string | Uint8Array,
): Promise<void> {
  abortSignal?.throwIfAborted();
  accepted(await session.write(path, content));
}

/** The result, or null if the file does not exist. Throws any other refusal. */
function unlessMissing<T extends object>(outcome: Outcome<T>): T | null {
  return !outcome.ok && outcome.refusal.code === 'NOT_FOUND' ? null : accepted(outcome);
}

function accepted<T extends object>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome;
  const { refusal } = outcome;
  throw new RefusedError(refusal, explain(refusal, { nowMs: Date.now(), tools: SANDBOX_METHODS }));
}

function entryType(kind: FileKind): 'file' | 'directory' | 'symlink' | 'other' {
  if (kind === 'link') return 'symlink';
  return kind === 'file' || kind === 'directory' ? kind : 'other';
}

function encoded(content: string, encoding: string | undefined): string | Uint8Array {
  if (encoding === undefined) return content;
  if (!Buffer.isEncoding(encoding)) throw new Fault('MISUSE', `unknown encoding "${encoding}"`);
  return Buffer.from(content, encoding);
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new Blob([new Uint8Array(bytes)]).stream();
}

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Records what a command has changed. Returns notices for the model. */
type Settle = () => Promise<readonly string[]>;

/**
 * Wraps the commands of another sandbox. Before a command runs, judges what its line would destroy,
 * and saves the bytes that the command may destroy. Afterwards, records the changes that it made.
 */
function watchedCommands(current: () => GatedSession, inner: SandboxCommands): SandboxCommands {
  const announced = async ({ command, workingDirectory = '.' }: ProcessOptions): Promise<Settle> => {
    const session = current();
    const line = shellLine(command);
    const cwd = resolve(session.roots[0] ?? '/', workingDirectory);
    const at = (path: string): string => (workingDirectory === '.' ? path : resolve(cwd, path));
    const changes = await session.changesOf(line, { cwd, at });
    const destroying = changes.filter(({ how }) => how === 'destroy');
    accepted(await session.vetCommand(destroying, { line, cwd, arrivedMs: Date.now() }));
    const change = await session.announceCommand(command, { call: randomUUID() });
    return async () => {
      const settled = await session.settle(change, 'done');
      return settled.ok ? settled.notices.map((notice) => describeNotice(notice)) : [];
    };
  };
  const spawn = async (options: ProcessOptions & { stdin?: boolean }): Promise<WritableSandboxProcess> => {
    const settle = await announced(options);
    // The cast is safe: `inner` returns a process with `stdin` if the caller requested it.
    const start = inner.spawn as (options: ProcessOptions) => PromiseLike<WritableSandboxProcess>;
    const started = await settledUnlessStarted(settle, () => start(options));
    const ended = Promise.resolve(started.wait()).finally(settle);
    // If the caller never calls `wait`, a rejection must not count as unhandled.
    ended.catch(() => undefined);
    const { pid, stdout, stderr, stdin } = started;
    return { stdout, stderr, stdin, wait: () => ended, kill: () => started.kill(), ...defined({ pid }) };
  };
  return {
    spawn,
    run: async (options) => {
      const settle = await announced(options);
      const ran = await settledUnlessStarted(settle, () => inner.run(options));
      const notices = (await settle()).map((text) => `\n${text}`);
      return { ...ran, stderr: ran.stderr + notices.join('') };
    },
  };
}

/**
 * Starts a process. If that fails, settles the announcement of its command, which would otherwise
 * stay open.
 */
async function settledUnlessStarted<T>(settle: Settle, start: () => PromiseLike<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    await settle();
    throw error;
  }
}

/** Runs commands in this library's own sandbox, which merges stderr into stdout. */
function ownCommands(current: () => GatedSession): SandboxCommands {
  const run = async (options: ProcessOptions, signal: AbortSignal | undefined): Promise<RunResult> => {
    if (options.env !== undefined)
      throw new Fault('MISUSE', 'this sandbox has no "env"; set variables in the command');
    const { command, workingDirectory: cwd } = options;
    // `silent`: the model gets only the output, so changes that the command made do not count as
    // seen.
    return accepted(await current().run(command, { cwd, signal, answer: 'silent' }));
  };
  const spawn = async (options: ProcessOptions & { stdin?: boolean }): Promise<WritableSandboxProcess> => {
    const noInput = new Fault('MISUSE', 'this sandbox has no "stdin"; use a pipe in the command');
    if (options.stdin === true) throw noInput;
    const killed = new AbortController();
    const signals = options.abortSignal === undefined ? [] : [options.abortSignal];
    const done = run(options, AbortSignal.any([...signals, killed.signal]));
    done.catch(() => undefined);
    const stdout = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from(textOf(await done)));
        controller.close();
      },
    });
    return {
      stdout,
      stderr: streamOf(new Uint8Array()),
      stdin: new WritableStream({ start: (controller) => controller.error(noInput) }),
      wait: async () => ({ exitCode: exitCodeOf(await done) }),
      kill: async () => {
        killed.abort();
        await done.catch(() => undefined);
      },
    };
  };
  return {
    spawn,
    run: async (options) => {
      const result = await run(options, options.abortSignal);
      return { exitCode: exitCodeOf(result), stdout: textOf(result), stderr: '' };
    },
  };
}

function textOf({ output: { head, tail, cutBytes } }: RunResult): string {
  return tail === undefined ? head : `${head}\n[${cutBytes} bytes are left out]\n${tail}`;
}

/** The exit code that shells report for a killed command. */
const ENDED = 137;

function exitCodeOf({ exitCode = ENDED }: RunResult): number {
  return exitCode;
}
