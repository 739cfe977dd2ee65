import type { ReadTouch } from '../touch.ts';
import type { ShellCommand } from './shell-command.ts';
import { scriptOf } from './words.ts';

/** The lines of one file that a command prints, without any other output. */
interface PrintedLines {
  readonly path: string;
  /** First line, 1-based. A negative number counts lines from the end of the file. */
  readonly from: number;
  /** Last line, which may be beyond the end of the file. Absent: the command prints up to the end. */
  readonly to?: number;
  /** True if the lines are numbered (`cat -n`). */
  readonly numbered: boolean;
}

const DEFAULT_LINES = 10;

/** Programs of which `readOf` knows the output. */
export const PRINTS_FILES: RegExp = /\b(?:cat|sed|head|tail)\b/;

/**
 * The file and lines that a line certainly shows: `cat`, `sed -n`, `head` or `tail` of one file, as
 * its only command. Undefined for pipes, redirections, expansions, unknown options and background
 * commands.
 */
export function readOf(commands: readonly ShellCommand[]): ReadTouch | undefined {
  const [first, second] = commands;
  // The second command is the text of `bash -c TEXT`.
  const only = second !== undefined && scriptOf(first?.words ?? []) !== undefined ? second : first;
  if (only === undefined || commands.at(-1) !== only || !only.plain || only.redirects.length > 0)
    return undefined;
  const words = only.words.flatMap((word) => word ?? []);
  const printed = words.length === only.words.length ? printedBy(words) : undefined;
  if (printed === undefined) return undefined;
  const { path, from, to, numbered } = printed;
  const asked = from === 1 && to === undefined ? undefined : [{ from, to }];
  return { does: 'read', path, asked, shown: { as: 'output', numbers: numbered ? 'always' : 'never' } };
}

function printedBy([program, ...args]: readonly string[]): PrintedLines | undefined {
  switch (program) {
    case 'cat':
      return cat(args);
    case 'sed':
      return sed(args);
    case 'head':
      return head(args);
    case 'tail':
      return tail(args);
    default:
      return undefined;
  }
}

function cat(args: readonly string[]): PrintedLines | undefined {
  const numbered = args[0] === '-n';
  const path = onlyFile(numbered ? args.slice(1) : args);
  return path === undefined ? undefined : { path, from: 1, numbered };
}

/** Parses `sed -n A,Bp FILE`, also with a single line or `$` for the last. */
function sed(args: readonly string[]): PrintedLines | undefined {
  const [quiet, script, ...rest] = args;
  const match = /^(\d{1,12})(?:,(\d{1,12}|\$))?p$/.exec(script ?? '');
  const path = onlyFile(rest);
  if (quiet !== '-n' || match === null || path === undefined) return undefined;
  const from = Number(match[1]);
  const last = match[2] ?? match[1];
  if (from < 1) return undefined;
  if (last === '$') return { path, from, numbered: false };
  const to = Number(last);
  // sed prints the first line of a range that ends before it begins.
  return { path, from, to: Math.max(from, to), numbered: false };
}

function head(args: readonly string[]): PrintedLines | undefined {
  const counted = lineCountOf(args);
  if (counted === undefined || !/^\d{1,12}$/.test(counted.count)) return undefined;
  const to = Number(counted.count);
  return to < 1 ? undefined : { path: counted.path, from: 1, to, numbered: false };
}

function tail(args: readonly string[]): PrintedLines | undefined {
  const counted = lineCountOf(args);
  if (counted === undefined) return undefined;
  const fromTop = /^\+(\d{1,12})$/.exec(counted.count)?.[1];
  if (fromTop !== undefined)
    return { path: counted.path, from: Math.max(1, Number(fromTop)), numbered: false };
  const lines = /^\d{1,12}$/.test(counted.count) ? Number(counted.count) : 0;
  return lines < 1 ? undefined : { path: counted.path, from: -lines, numbered: false };
}

/** The number in `-n N`, `-nN`, `-N` or `--lines=N`, and the single file after it. */
function lineCountOf(args: readonly string[]): { readonly count: string; readonly path: string } | undefined {
  const [option, ...rest] = args;
  if (option === undefined) return undefined;
  if (!option.startsWith('-') || option === '--') return withPath(String(DEFAULT_LINES), args);
  if (option === '-n' || option === '--lines') return withPath(rest[0] ?? '', rest.slice(1));
  const count = /^(?:-n|--lines=|-)(\+?\d+)$/.exec(option)?.[1];
  return count === undefined ? undefined : withPath(count, rest);
}

function withPath(count: string, rest: readonly string[]): { count: string; path: string } | undefined {
  const path = onlyFile(rest);
  return path === undefined ? undefined : { count, path };
}

/** The only file name, after an optional `--`. Undefined for `-`, which means the standard input. */
function onlyFile(args: readonly string[]): string | undefined {
  const names = args[0] === '--' ? args.slice(1) : args;
  const path = names[0];
  if (path === undefined || path === '' || path === '-' || names.length > 1) return undefined;
  return path.startsWith('-') && args[0] !== '--' ? undefined : path;
}
