import type { Command } from 'commander';
import type { Cli } from './cli.ts';

/** One command of `lookfirst`. */
export interface CommandEntry {
  readonly name: string;
  /** The command with its arguments, for the list of commands. */
  readonly usage: string;
  readonly summary: string;
  readonly load: () => Promise<(cli: Cli) => Command>;
  /** True if a protocol uses its stdout. Such a command notices a closed stdout itself. */
  readonly ownsStdout?: true;
  /** True if its answer may be long and is only read: on a terminal it is shown page by page. */
  readonly isPaged?: true;
  /** True if another entry point runs it, without the argument parser. `load` is only for its help. */
  readonly runsElsewhere?: true;
}
