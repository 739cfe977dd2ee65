import { createRequire } from 'node:module';
import type { Flags, FlagsOf, Values } from '../config/flags.ts';
import type { CommandShape } from '../config/parse-flags.ts';
import type { DialectName } from '../dialect/tool.ts';
import type { Policy } from '../model/policy.ts';
import { exactTime, timeAgo } from '../report/times.ts';
import type { Sessions, WorkspaceOptions } from '../session/sessions.ts';
import type { RunProxy } from '../tools/proxy-plan.ts';
import type { GlobalFlags } from './flags.ts';
import type { Terminal } from './terminal.ts';

/** The context of every command. Commands do not use `process` directly. */
export interface Cli {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  /** The user's home folder, in which clients keep their configuration. */
  readonly homeFolder: string | undefined;
  /** The options that mean the same in every command. */
  readonly flags: GlobalFlags;
  /** The moment the command began. */
  readonly nowMs: number;
  /** The text of a time, in the form that `--date` chooses. */
  readonly age: TimeText;
  /** The command line of this program, for commands that start another instance of it. */
  readonly self: readonly string[];
  /** Servers are separate entry points. Their commands only prepare the options. */
  readonly runServer: RunServer;
  readonly runProxy: RunProxy;
  readonly runViewer: RunViewer;
}

/** A workspace, and how to serve it over MCP. */
export interface ServerPlan {
  readonly workspace: WorkspaceOptions;
  readonly rootsFrom: 'workspace' | 'client';
  readonly dialect: DialectName;
  readonly readOnly: boolean;
  readonly commands: boolean;
  readonly session: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly log: (line: string) => void;
  readonly opened: (sessions: Sessions) => void;
  /** Offer HTTP and the viewer instead of stdio. */
  readonly http?:
    | {
        readonly port: number | undefined;
        readonly token: string | undefined;
        /** The reason why the viewer may not undo changes; undefined if it may. */
        readonly whyReadOnly: (sessions: Sessions) => string | undefined;
        readonly listening: (server: {
          readonly url: string;
          readonly token: string;
          readonly viewer?: string | undefined;
        }) => void;
      }
    | undefined;
}

/** Serves until the client disconnects or the process gets a signal. */
type RunServer = (plan: ServerPlan) => Promise<unknown>;

/** Serves the page of `lookfirst view` until the process gets a signal. */
type RunViewer = (plan: {
  readonly place: { readonly home: string; readonly store: string };
  readonly folders: readonly string[];
  readonly secrets: Policy['secrets'];
  readonly openWorkspace: (roots: readonly string[]) => Promise<Sessions>;
  readonly readOnly: string | undefined;
  readonly port: number;
  /** Plays the demo's scenes in folders of their own, which `close` removes. */
  readonly demo: () => Promise<{ readonly workspace: string; readonly state: string; close(): void }>;
  readonly log: (line: string) => void;
  readonly listening: (address: { readonly url: string; once(): string }) => void;
}) => Promise<void>;

/** The exit codes. They are part of the contract, because scripts depend on them. */
export const EXIT = {
  /** Done; also "nothing to do". */
  done: 0,
  /** The command failed, or a check found something broken. */
  fault: 1,
  /** Refused; nothing was changed. */
  refused: 2,
  /** The command line is invalid. */
  usage: 64,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** One command: the words that it accepts, its help, and the work it does. */
export interface CliCommand extends CommandShape {
  readonly about: string;
  /** The flags for the form of the answer, if the command does not have all of them. */
  readonly outputFlags?: Flags;
  /** Remarks and examples at the end of the help. */
  readonly notes?: string;
  /** Does the work and returns the exit code of the process. */
  run(cli: Cli, given: Readonly<Record<string, unknown>>): Promise<number>;
}

/**
 * Checks that a command takes the values that its own tables of arguments and flags give, and that a
 * flag with the name of a global one has values of the same type.
 */
export function defineCommand<const A extends Flags, const F extends Flags & Partial<FlagsOf<GlobalFlags>>>(
  command: Omit<CliCommand, 'args' | 'flags' | 'run'> & {
    readonly args?: A;
    readonly flags: F;
    run(cli: Cli, given: Values<A> & Values<F>): Promise<number>;
  },
): CliCommand {
  return command;
}

/** The groups of the general help, in their order. */
export const COMMAND_GROUPS = ['set up', 'look', 'undo', 'serve', 'settings'] as const;

/** The line of a command in the list of commands. */
export interface CommandEntry {
  readonly group: (typeof COMMAND_GROUPS)[number];
  readonly name: string;
  /** The command with its arguments, for the list of commands. */
  readonly usage: string;
  readonly summary: string;
  readonly load: () => Promise<CliCommand>;
  /**
   * True if the command uses stdout for a protocol. Such a command handles a closed stdout itself.
   */
  readonly ownsStdout?: true;
  /**
   * True if the command runs a program on the terminal. Lookfirst then prints no "still working"
   * message, which would mix with the program's output.
   */
  readonly runsProgram?: true;
  /** True if the answer may be long. A terminal then shows it page by page. */
  readonly isPaged?: true;
}

/** Thrown for a session that the user named and of which nothing is known. `runCli` prints it as a refusal. */
export class UnknownSession extends Error {
  readonly session: string;

  constructor(session: string) {
    super(`there is no session ${session}`);
    this.session = session;
  }
}

/** The version of this package. Source, compiled and bundled files all lie two folders below package.json. */
export function version(): string {
  // The cast is safe: npm publishes no package without a version.
  const manifest = createRequire(import.meta.url)('../../package.json') as { version: string };
  return manifest.version;
}

/**
 * Formats a time: as an age such as `3h ago`, or as ISO 8601. A command that keeps running passes
 * the current time as `nowMs`.
 */
export type TimeText = (ms: number, nowMs?: number) => string;

/** Times in the form that `--date` chooses. */
export function timesIn(form: 'relative' | 'iso', startMs: number): TimeText {
  return (ms, nowMs = startMs) => (form === 'iso' ? exactTime(ms) : timeAgo(ms, nowMs));
}
