import { randomUUID } from 'node:crypto';
import { HOSTS } from '../dialect/calls/hosts/hosts.ts';
import { isRecord, stringIn } from '../model/record.ts';
import {
  adapterToolset,
  answered,
  gatedSession,
  type SessionSource,
  type ToolsetAnswer,
  type ToolsetOptions,
  type ToolsetTool,
} from '../tools/toolset.ts';
import { ContextWatch, type ShownResult } from './context-watch.ts';

/** The answer of an `Editor`. */
export interface OpenAiPatched {
  status: 'completed' | 'failed';
  output: string;
}

/** An `Editor` for `applyPatchTool`. */
export interface OpenAiEditor {
  createFile(operation: { readonly path: string; readonly diff: string }): Promise<OpenAiPatched>;
  updateFile(operation: {
    readonly path: string;
    readonly diff: string;
    readonly moveTo?: string | undefined;
  }): Promise<OpenAiPatched>;
  deleteFile(operation: { readonly path: string }): Promise<OpenAiPatched>;
}

/**
 * An editor that refuses to update, delete or replace a file that the model has not read. The agent
 * also needs tools that read: those of the dialect `apply-patch` with `readOnly: true`.
 */
export function lookfirstEditor(
  session: SessionSource,
  options: Pick<ToolsetOptions, 'virtualRoot'> = {},
): OpenAiEditor {
  return editorOf(session, adapterToolset(session, { ...options, dialect: 'apply-patch' }).tools);
}

/**
 * Like `lookfirstEditor`, for a sandbox in which the model reads files with the shell. Its refusals
 * suggest shell commands instead of read tools.
 */
export function sandboxEditor(
  session: SessionSource,
  options: Pick<ToolsetOptions, 'virtualRoot'>,
): OpenAiEditor {
  const words = HOSTS.find(({ id }) => id === 'codex')?.words;
  return editorOf(session, adapterToolset(session, { ...options, dialect: 'apply-patch' }, words).tools);
}

function editorOf(session: SessionSource, tools: readonly ToolsetTool[]): OpenAiEditor {
  const tool = tools.find(({ name }) => name === 'apply_patch');
  if (tool === undefined) throw new TypeError('the dialect has no apply_patch');
  const patch = async (header: readonly string[], diff: string) =>
    resultOf(await patched(tool, header, diff));
  return {
    createFile: ({ path, diff }) => patch([`*** Add File: ${path}`], diff),
    updateFile: async ({ path, diff, moveTo }) => {
      const header = `*** Update File: ${path}`;
      if (moveTo === undefined) return patch([header], diff);
      const updated = diff.trim() === '' ? undefined : await patched(tool, [header], diff);
      if (updated?.ok === false) return resultOf(updated);
      const moved = await patched(tool, [header, `*** Move to: ${moveTo}`], '');
      const change = updated?.outcome.ok === true ? updated.outcome.change : undefined;
      // All or nothing: if the file cannot be moved, restore its old text.
      if (!moved.ok && change !== undefined) await gatedSession(session).undo({ change });
      return resultOf(moved);
    },
    deleteFile: ({ path }) => patch([`*** Delete File: ${path}`], ''),
  };
}

function resultOf({ ok, text }: ToolsetAnswer): OpenAiPatched {
  return { status: ok ? 'completed' : 'failed', output: text };
}

/**
 * Matches a line of a patch that begins another file. A patch with such a line is refused, because
 * the host approved a change of one file.
 */
const OTHER_FILE = /^\*\*\* (?!End of File\s*$)/m;

async function patched(tool: ToolsetTool, header: readonly string[], diff: string): Promise<ToolsetAnswer> {
  if (header.some((line) => line.includes('\n')) || OTHER_FILE.test(diff)) {
    const text =
      'refusing the patch: its operation is for one file, but the diff names another [INVALID_ARGUMENT]';
    return { ok: false, text, outcome: { ok: false, code: 'INVALID_ARGUMENT', next: 'fix_argument' } };
  }
  const body = diff === '' ? [] : [diff.replace(/\n$/, '')];
  const patch = ['*** Begin Patch', ...header, ...body, '*** End Patch'].join('\n');
  return answered(tool, { patch });
}

/** The model's next input, as `callModelInputFilter` passes it. */
export interface OpenAiModelData<Item> {
  input: Item[];
  instructions?: string;
}

/**
 * A `callModelInputFilter` that makes a session forget results the model no longer gets. After tool
 * results were left out, shortened or compacted, only the contents of the remaining items count as
 * seen. Not for runs with `conversationId` or `previousResponseId`, which send only new items.
 */
export function seenFrom(
  session: SessionSource,
): <Item>(args: { readonly modelData: OpenAiModelData<Item> }) => Promise<OpenAiModelData<Item>> {
  const watch = new ContextWatch(session, 'openai-agents');
  return async ({ modelData }) => {
    const { input } = modelData;
    const summary = input.findLastIndex((item) => isRecord(item) && item['type'] === 'compaction');
    const items = input.slice(summary + 1);
    await watch.look(items, resultsIn(items));
    return modelData;
  };
}

const RESULTS = new Set<unknown>(['function_call_result', 'apply_patch_call_output', 'shell_call_output']);

function* resultsIn(items: readonly unknown[]): Generator<ShownResult> {
  for (const item of items) {
    const call = isRecord(item) && RESULTS.has(item['type']) ? stringIn(item, 'callId') : undefined;
    if (call !== undefined && isRecord(item)) yield [call, item['output']];
  }
}

/** A command that the host program runs itself. */
export interface HostCommand {
  /** An id shared by the `before` and `after` calls. */
  readonly call: string;
  readonly command: string;
  /** The folder in which the command starts; default: the first root. */
  readonly folder?: string | undefined;
}

/**
 * Judges the commands that a host program runs. `before` returns the reason to deny a command, or
 * undefined. `after` records the command's changes and returns a note for the model, or undefined.
 */
export interface CommandJudge {
  before(command: HostCommand): Promise<string | undefined>;
  after(command: HostCommand, output: string): Promise<string | undefined>;
}

/** The part of the Agents SDK's `Shell` that is used here. */
export interface OpenAiShell<
  Action extends OpenAiShellAction = OpenAiShellAction,
  Result extends OpenAiShellResult = OpenAiShellResult,
> {
  run(action: Action): Promise<Result>;
}

export interface OpenAiShellAction {
  commands: string[];
}

export interface OpenAiShellResult {
  output: {
    stdout: string;
    stderr: string;
    outcome: { type: 'timeout' } | { type: 'exit'; exitCode: number | null };
  }[];
}

/** The exit code that shells report for a command they may not run. */
const NOT_PERMITTED = 126;

/**
 * Wraps a shell: judges all commands of a call together before they run, and records their changes
 * afterwards.
 */
export function guardedShell(shell: OpenAiShell, judge: CommandJudge): OpenAiShell {
  return {
    run: (action) =>
      judged(judge, commandOf(action.commands.join('\n')), () => shell.run(action), {
        failed: (reason) => ({ output: action.commands.map(() => refusedOutput(reason)) }),
        outputOf: ({ output }) => output.map(({ stdout }) => stdout).join('\n'),
        noted: ({ output, ...more }, note) => {
          const added = (stderr: string, at: number): string =>
            at === output.length - 1 ? joined(stderr, note) : stderr;
          return { ...more, output: output.map((each, at) => ({ ...each, stderr: added(each.stderr, at) })) };
        },
      }),
  };
}

function refusedOutput(reason: string): OpenAiShellResult['output'][number] {
  return { stdout: '', stderr: reason, outcome: { type: 'exit', exitCode: NOT_PERMITTED } };
}

function joined(text: string, note: string): string {
  return text === '' ? note : `${text}\n${note}`;
}

/** The parts of the Agents SDK's `SandboxSession` that `guardedSandbox` uses or replaces. */
export interface OpenAiSandbox {
  state: { manifest: { root: string } };
  createEditor?: ((runAs?: string) => unknown) | undefined;
  exec?: ((args: OpenAiExec) => Promise<OpenAiExecResult>) | undefined;
  execCommand?: ((args: OpenAiExec) => Promise<string>) | undefined;
  writeStdin?: ((args: { sessionId: number; chars?: string }) => Promise<string>) | undefined;
}

export interface OpenAiExec {
  cmd: string;
  workdir?: string;
}

export interface OpenAiExecResult {
  output: string;
  stdout: string;
  stderr: string;
  wallTimeSeconds: number;
  exitCode?: number | null;
}

/**
 * Wraps a sandbox: replaces its editor by `editor`, judges each command before it runs and records
 * its changes afterwards.
 */
export function guardedSandbox<Sandbox extends OpenAiSandbox>(
  sandbox: Sandbox,
  editor: unknown,
  judge: CommandJudge,
): Sandbox {
  const own: Omit<OpenAiSandbox, 'state'> = {
    createEditor: () => editor,
    exec: async (args) => {
      const run = () => method(sandbox, 'exec')(args);
      const failed = (reason: string) => ({
        output: reason,
        stdout: '',
        stderr: reason,
        wallTimeSeconds: 0,
        exitCode: NOT_PERMITTED,
      });
      return judged(judge, commandOf(args.cmd, args.workdir), run, {
        failed,
        outputOf: ({ output }) => output,
        noted: (result, note) => ({
          ...result,
          output: joined(result.output, note),
          stderr: joined(result.stderr, note),
        }),
      });
    },
    execCommand: (args) =>
      judged(judge, commandOf(args.cmd, args.workdir), () => method(sandbox, 'execCommand')(args), TEXT),
    writeStdin: (args) => {
      const run = () => method(sandbox, 'writeStdin')(args);
      const chars = args.chars ?? '';
      return chars.trim() === '' ? run() : judged(judge, commandOf(chars), run, TEXT);
    },
  };
  return new Proxy(sandbox, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return Object.hasOwn(own, name) ? Reflect.get(own, name) : value.bind(target);
    },
  });
}

/**
 * The sandbox's method of this name, bound to the sandbox. Throws if the sandbox has no such
 * method.
 */
function method<Name extends 'exec' | 'execCommand' | 'writeStdin'>(
  sandbox: OpenAiSandbox,
  name: Name,
): NonNullable<OpenAiSandbox[Name]> {
  const found = sandbox[name];
  if (found === undefined) throw new TypeError(`the sandbox has no ${name}`);
  return found.bind(sandbox) as NonNullable<OpenAiSandbox[Name]>;
}

function commandOf(command: string, folder?: string): HostCommand {
  return { call: randomUUID(), command, folder };
}

interface Results<Result> {
  failed(reason: string): Result;
  outputOf(result: Result): string;
  noted(result: Result, note: string): Result;
}

const TEXT: Results<string> = {
  failed: (reason) => reason,
  outputOf: (result) => result,
  noted: joined,
};

/** Judges a command, runs it, and records its changes, also those that it made before it threw. */
async function judged<Result>(
  judge: CommandJudge,
  command: HostCommand,
  run: () => Promise<Result>,
  { failed, outputOf, noted }: Results<Result>,
): Promise<Result> {
  const refused = await judge.before(command);
  if (refused !== undefined) return failed(refused);
  let result: Result;
  try {
    result = await run();
  } catch (error) {
    // Report the error of the command. Ignore an error of `judge.after`.
    await judge.after(command, '').catch(() => undefined);
    throw error;
  }
  const note = await judge.after(command, outputOf(result));
  return note === undefined ? result : noted(result, note);
}
