import { randomUUID } from 'node:crypto';

/** A command that the host program runs itself. */
export interface HostCommand {
  /** An id shared by the `before` and `after` calls. */
  readonly call: string;
  readonly command: string;
  /** The folder in which the command starts; default: the first root. */
  readonly folder?: string | undefined;
}

/**
 * Judges a command before the host program runs it, and records its changes. `before` returns the
 * reason it must not run, or undefined. `after` returns a note for the model, or undefined.
 * `src/openai.ts` creates one from the hooks, which do the same for other host programs.
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

/** Wraps a shell: judges each command before it runs and records its changes afterwards. */
export function guardedShell(shell: OpenAiShell, judge: CommandJudge): OpenAiShell {
  return {
    async run(action) {
      const command = { call: randomUUID(), command: action.commands.join('\n') };
      const refused = await judge.before(command);
      if (refused !== undefined) return { output: action.commands.map(() => refusedOutput(refused)) };
      const result = await shell.run(action);
      const shown = result.output.map(({ stdout }) => stdout).join('\n');
      const note = await judge.after(command, shown);
      const last = result.output.at(-1);
      if (note === undefined || last === undefined) return result;
      const noted = { ...last, stderr: joined(last.stderr, note) };
      return { ...result, output: [...result.output.slice(0, -1), noted] };
    },
  };
}

function refusedOutput(reason: string): OpenAiShellResult['output'][number] {
  return { stdout: '', stderr: reason, outcome: { type: 'exit', exitCode: NOT_PERMITTED } };
}

function joined(text: string, note: string): string {
  return text === '' ? note : `${text}\n${note}`;
}

/** The parts of the Agents SDK's `SandboxSession` that are replaced here. */
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

/** A method of the sandbox. The proxy exposes only methods that the sandbox has. */
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

async function judged<Result>(
  judge: CommandJudge,
  command: HostCommand,
  run: () => Promise<Result>,
  { failed, outputOf, noted }: Results<Result>,
): Promise<Result> {
  const refused = await judge.before(command);
  if (refused !== undefined) return failed(refused);
  const result = await run();
  const note = await judge.after(command, outputOf(result));
  return note === undefined ? result : noted(result, note);
}
