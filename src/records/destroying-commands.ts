import { basename } from 'node:path';
import type { ShellCommand } from '../dialect/calls/shell/shell-command.ts';
import type { ShellLine } from '../dialect/calls/shell/shell-line.ts';
import { type GitCall, gitCall, type Sweep, sweepsOf } from '../dialect/calls/shell/sweeps.ts';
import { inFolder, programOf } from '../dialect/calls/shell/words.ts';

/** The kinds of work that a command can destroy. */
type Work =
  | 'uncommitted work'
  | 'untracked files'
  | 'folders'
  | 'stashes'
  | 'branches or tags'
  | 'worktrees'
  | 'old commits';

/** A command that destroys work, if there was some. No line shows whether there was. */
interface DestroyingCommand {
  /** The program, its verb and the option that matters: `git reset --hard`, `rm -rf`. */
  readonly command: string;
  readonly work: Work;
  /** The removed paths, or the folder where git works. They are named like other paths of the line. */
  readonly paths: readonly string[];
}

/**
 * The commands of a line that can destroy work, if the whole line ran. `printed`: the output of the
 * line. Leaves out commands that may not have run, and work that the line itself has saved before.
 */
export function destroyingCommands(line: ShellLine, printed = ''): readonly DestroyingCommand[] {
  const saved = new Saved();
  const found = new Map<string, DestroyingCommand>();
  for (const command of line.commands) {
    const destroying = destroyingCommand(command, { saved, printed });
    if (destroying === undefined) continue;
    // A command is listed for each folder in which it may have run, but it ran once.
    const key = `${command.at} ${destroying.command}`;
    const paths = [...(found.get(key)?.paths ?? []), ...destroying.paths];
    found.set(key, { ...destroying, paths });
  }
  return [...found.values()];
}

function destroyingCommand(
  command: ShellCommand,
  { saved, printed }: { readonly saved: Saved; readonly printed: string },
): DestroyingCommand | undefined {
  const isGit = programOf(command.words[0]) === 'git';
  const call = isGit && command.folder !== undefined ? gitCall(command.folder, command) : undefined;
  const left = sweepsOf(command).filter((sweep) => !saved.isSafe(sweep));
  const [work] = left.flatMap((sweep) => workOf(sweep) ?? []);
  if (work === undefined || !command.certain || isHarmless(call, printed)) return undefined;
  const paths = left.flatMap((sweep) => (workOf(sweep) === undefined ? [] : (pathOf(sweep) ?? [])));
  return { command: nameOf(command, call), work, paths };
}

/** Follows what the commands of a line have saved of each repository. */
class Saved {
  readonly #added = new Set<string>();
  readonly #held = new Set<string>();

  /** True for a sweep of tracked files after a stash or commit of them all. */
  isSafe(sweep: Sweep): boolean {
    const { kind, folder } = sweep;
    if (kind === 'add') this.#added.add(folder);
    if (kind === 'push' && sweep.paths.length === 0) this.#held.add(folder);
    if (kind === 'commit' && (sweep.files === 'tracked' || this.#added.has(folder))) this.#held.add(folder);
    return kind === 'tracked' && this.#held.has(folder);
  }
}

function workOf(sweep: Sweep): Work | undefined {
  switch (sweep.kind) {
    case 'tracked':
      return sweep.takes === 'staged' ? undefined : 'uncommitted work';
    case 'clean':
      return 'untracked files';
    case 'removal':
      return sweep.of === 'trees' ? 'folders' : undefined;
    case 'stash':
      return 'stashes';
    case 'refs':
      return sweep.onto === undefined ? 'branches or tags' : undefined;
    case 'worktree':
      return 'worktrees';
    case 'history':
      return 'old commits';
    case 'add':
    case 'commit':
    case 'push':
    case 'pop':
    case 'rewrite':
    case 'alias':
    case 'fed':
      return undefined;
    default:
      return sweep satisfies never;
  }
}

function pathOf(sweep: Sweep): string | undefined {
  if (sweep.kind === 'worktree') return sweep.path;
  if (sweep.kind !== 'removal') return sweep.folder;
  const { files } = sweep;
  if ('path' in files) return files.path;
  // The names that another program prints are not in the line.
  return 'glob' in files ? inFolder(files.folder, files.glob.pattern) : undefined;
}

/** Git prints how many files a checkout has replaced. It prints no such line if it switches to a branch. */
const REPLACED = /^Updated (\d+) paths? from /m;
const CERTAIN_PATH = /^(?:\.|\.\.?\/.*|:.*)$/;

/**
 * True for a rename of a branch, and for a checkout that has switched to a branch, as far as its line
 * and output show, or has found no changed file.
 */
function isHarmless(call: GitCall | undefined, printed: string): boolean {
  if (call?.verb === 'branch' && call.has(/^(?:-[mM]|--move$)/)) return true;
  if (call?.verb !== 'checkout') return false;
  const replaced = REPLACED.exec(printed)?.[1];
  if (replaced !== undefined) return replaced === '0';
  const [only = '', ...others] = call.operands;
  // A single word may name a branch or a file.
  return call.after === undefined && others.length === 0 && !FORCED.test(call.args.join(' '))
    ? !CERTAIN_PATH.test(only)
    : false;
}

const FORCED = /(?:^| )(?:-[a-zA-Z]*f|--force)(?: |$)/;
/** The verbs of git whose next word says what they do. */
const WITH_SUBCOMMAND = new Set(['stash', 'worktree', 'reflog']);

function nameOf(command: ShellCommand, call: GitCall | undefined): string {
  const program = basename(command.words[0] ?? '');
  if (call === undefined) {
    const option = program === 'rm' ? command.words.find((word) => word?.startsWith('-')) : undefined;
    return [program, option ?? []].flat().join(' ');
  }
  const { verb, args } = call;
  const word = WITH_SUBCOMMAND.has(verb) ? args[0] : args.find((arg) => arg === '.' || arg.startsWith('-'));
  return ['git', verb, word?.replace(/=.*$/, '') ?? []].flat().join(' ');
}
