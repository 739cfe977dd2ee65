import type { Command } from 'commander';
import type { Cli } from './cli.ts';

/** One word after `lookfirst`. */
export interface CommandEntry {
  readonly name: string;
  /** For the list of commands; the arguments are part of `usage`. */
  readonly usage: string;
  readonly summary: string;
  readonly load: () => Promise<(cli: Cli) => Command>;
  /** Its stdout belongs to a protocol, and it notices a closed stdout by itself. */
  readonly ownsStdout?: true;
  /** Its answer may be long and is only read: on a terminal it is shown page by page. */
  readonly isPaged?: true;
  /** Another entry point runs it, without the argument parser; `load` is for its help. */
  readonly runsElsewhere?: true;
}
