import type { Value } from './values.ts';
import type { Words } from './words.ts';

/** A simple command of a shell line, and a folder in which it may run. */
export interface ShellCommand {
  /** The words, without programs such as `env` before the command. Empty for the redirections of a group or loop. */
  readonly words: Words;
  /** The words, with globs unexpanded. */
  readonly values: readonly Value[];
  /** The part of the pipeline whose output the command reads. */
  readonly fed?: ShellFeed | undefined;
  readonly redirects: readonly ShellRedirect[];
  /**
   * The folder in which the command runs, relative to the folder where relative paths of the line
   * start. Undefined means unknown.
   */
  readonly folder: string | undefined;
  /**
   * True if the command runs whatever other commands of the line do, as long as those of its `&&`
   * list succeed. False for B in `A && B || C` if C writes other files.
   */
  readonly certain: boolean;
  /**
   * True if the command stands alone: it is in no list, pipeline or substitution, it runs in the
   * foreground, and neither an assignment nor a program such as `env` is before it.
   */
  readonly plain: boolean;
  /** The position in the line of the command or of the command around it. */
  readonly at: number;
}

/** The commands of a pipeline before one of them, and their text. */
export interface ShellFeed {
  readonly text: string;
  readonly commands: readonly ShellCommand[];
}

/** A redirection of a command. */
export interface ShellRedirect {
  readonly operator: string;
  /** The descriptor that it sets; undefined if the shell chooses the number (`{fd}>`). */
  readonly descriptor: number | undefined;
  /** The file or descriptor that it names; undefined if the shell expands it, and for a here-document. */
  readonly target?: string | undefined;
  /** The text of a here-document; undefined if the shell expands it. */
  readonly text?: string | undefined;
  /** True for a here-document without its closing line. */
  readonly open?: true;
}

/** The descriptors of the standard input and output. */
export const STDIN = 0;
export const STDOUT = 1;
