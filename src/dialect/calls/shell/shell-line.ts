import type { Harm } from '../../../model/session.ts';
import type { ReadTouch } from '../touch.ts';
import { changingPart } from './changing-part.ts';
import { type Destroyed, destroyedBy, type NamedFiles } from './destroyed.ts';
import { moveOperands, type ShellWrite, writesOf } from './effects.ts';
import { namesOf, scriptNames, searchFolders } from './names.ts';
import { readOf } from './printed-lines.ts';
import { gitFolders, harmOf } from './reading.ts';
import type { ShellCommand } from './shell-command.ts';
import { type Sweep, sweepsOf } from './sweeps.ts';
import { NO_COMMANDS, type WalkedLine, walkLine } from './walk.ts';

/** Matches the settings of bash and zsh with which a star also matches a dot at the beginning of a name. */
const MATCHES_DOTS = /\b(?:dotglob|glob_?dots)\b/i;

/** The folder of a line, and the known facts about its shell. */
interface ShellStart {
  /** The folder in which the line starts, as its call names it. Absent: where relative paths start. */
  readonly folder?: string | undefined;
  /** The folder that `~` and `$HOME` name. Without it, words that begin with them are unknown. */
  readonly home?: string | undefined;
}

/** Parses a shell line. Every question about the line is a method of the result, which never changes. */
export function shellLine(text: string, { folder = '', home }: ShellStart = {}): ShellLine {
  return new ShellLine(text, folder, walkLine(text, folder, home));
}

/** The reason for refusing a line that `parsedLine` calls too deep. */
export const TOO_DEEP_REASON =
  'the command is nested too deeply to be checked: split it into several commands';

/** Like `shellLine`, for a line that may be nested too deeply to parse, for which `shellLine` throws. */
export function parsedLine(text: string, start?: ShellStart): ShellLine | 'too deep' {
  try {
    return shellLine(text, start);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return 'too deep';
  }
}

/**
 * Parses a line of a transcript. A line too deep to parse has no commands, so that the rest of the
 * transcript can be read.
 */
export function recordedLine(text: string): ShellLine {
  const line = parsedLine(text);
  return line === 'too deep' ? new ShellLine(text, '', NO_COMMANDS) : line;
}

/**
 * A parsed shell line. Paths in the answers are absolute, or relative to the folder where relative
 * paths start. A line that cannot be parsed has no commands.
 */
export class ShellLine {
  readonly text: string;
  /** The folder in which the line starts. */
  readonly folder: string;
  readonly #walked: WalkedLine;
  /**
   * The files that each command removes or replaces, computed once. `Processes.namesOf` caches the
   * names of each of these objects, so every caller must get the same ones.
   */
  #destroyed: readonly (readonly Destroyed[])[] | undefined;
  #sweeps: readonly Sweep[] | undefined;

  constructor(text: string, folder: string, walked: WalkedLine) {
    this.text = text;
    this.folder = folder;
    this.#walked = walked;
  }

  /**
   * Every simple command, also in conditions, functions, substitutions, `eval` and `sh -c`. A
   * command is listed once for each folder in which it may run, because a `cd` before it may not run
   * (`test -d a && cd a`).
   */
  get commands(): readonly ShellCommand[] {
    return this.#walked.commands;
  }

  /** The files that commands of the line write. Skips names that the line does not show. */
  writes(): readonly ShellWrite[] {
    return this.commands.flatMap(writesOf);
  }

  /** The files that the line removes or replaces, apart from those in `writes`. */
  destroys(): readonly Destroyed[] {
    return this.#byCommand().flat();
  }

  #byCommand(): readonly (readonly Destroyed[])[] {
    this.#destroyed ??= this.commands.map((command) =>
      destroyedBy(command).map((each) => ({ ...each, files: this.#asExpanded(each.files) })),
    );
    return this.#destroyed;
  }

  /** The line's effects on bytes that it does not name one by one, in its order. */
  sweeps(): readonly Sweep[] {
    const destroyed = this.#byCommand();
    this.#sweeps ??= this.commands.flatMap((command, at) => sweepsOf(command, destroyed[at]));
    return this.#sweeps;
  }

  #asExpanded(files: NamedFiles): NamedFiles {
    return 'glob' in files && MATCHES_DOTS.test(this.text)
      ? { ...files, glob: { ...files.glob, dots: true } }
      : files;
  }

  /** Tells whether the line may destroy files, git objects, or nothing. */
  harm(): Harm {
    return harmOf(this.text, this.commands);
  }

  /** The paths that the line may move with `mv` or `git mv`, including the destinations. */
  moves(): readonly string[] {
    return [...new Set(this.commands.flatMap(moveOperands))];
  }

  /** The file that the line certainly shows, if that is all that it does. */
  read(): ReadTouch | undefined {
    return readOf(this.commands);
  }

  /** Every path that the line may name. Most of these names belong to no file. */
  names(): readonly string[] {
    return namesOf(this.#walked, this.folder);
  }

  /** Every path that code in the line may name which an interpreter such as python runs. */
  scriptNames(): readonly string[] {
    return scriptNames(this.commands);
  }

  /** The folders in which git commands of the line work that may change files or references. */
  gitFolders(): readonly string[] {
    return gitFolders(this.commands);
  }

  /** True if the line chooses files by globs, variables, `xargs` or `-exec`. Only its output then names them. */
  get hasUnknownNames(): boolean {
    return /[*?$[{]|\bxargs\b|\s-exec\b/.test(this.text);
  }

  /** The folders in which the line searches files; empty if it runs no search. */
  searchFolders(): ReadonlySet<string> {
    return searchFolders(this.commands);
  }

  /**
   * True if processes of the line may still run when it has ended: `server &` without a later `wait`
   * or `kill`, or a program that starts others in the background. A script can start processes too,
   * which no line shows.
   */
  get leavesProcesses(): boolean {
    return this.#walked.leavesProcesses;
  }

  /** The part of the line that may change files. */
  changingPart(): ShellLine {
    const part = changingPart(this.text, this.#walked);
    return part === undefined ? this : new ShellLine(part.text, this.folder, part.walked);
  }
}
