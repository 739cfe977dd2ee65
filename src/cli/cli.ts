import type { RunProxy } from './proxy-plan.ts';
import type { Terminal } from './terminal.ts';

/** What every command works with; nothing in here reaches for `process` on its own. */
export interface Cli {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  /** The moment the command began. */
  readonly nowMs: number;
  /** This very program, for commands that start it once more. */
  readonly self: readonly string[];
  /** Says what the process ends with. */
  end(code: number): void;
  /** Another entry point, which the command line only prepares. */
  readonly runProxy: RunProxy;
}
