import { isRecord } from '../model/record.ts';
import type { JsonRecord } from './json-value.ts';
import { simpleWords } from './shell-words.ts';

/** A command that prints lines of one file and nothing else. */
export interface ShellRead {
  readonly path: string;
  /** First line, 1-based; negative: that many lines before the end. */
  readonly from: number;
  /** Last line it prints if there are that many; absent: to the end. */
  readonly to?: number;
  /** Lines carry their numbers (`cat -n`). */
  readonly numbered: boolean;
}

const DEFAULT_LINES = 10;

/**
 * What a shell command shows for certain: `cat`, `sed -n`, `head` or `tail` of one file, as a single simple command.
 * Anything with a pipe, a redirection, an expansion, a second command or an unknown option is undefined.
 */
export function shellRead(command: string | readonly string[]): ShellRead | undefined {
  const words = typeof command === 'string' ? simpleWords(command) : unwrapped(command);
  if (words === undefined) return undefined;
  const args = words.slice(1);
  switch (words[0]) {
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

/** The command in the arguments of a shell tool, under any of its usual names. */
export function commandIn(args: JsonRecord): string | readonly string[] | undefined {
  const action = args['action'];
  const command = args['command'] ?? args['cmd'] ?? (isRecord(action) ? action['command'] : undefined);
  if (typeof command === 'string') return command;
  const words = Array.isArray(command) ? command : [];
  return words.length > 0 && words.every((word) => typeof word === 'string') ? words : undefined;
}

/** `bash -lc "…"` as an array is the command inside; any other array is the words themselves. */
function unwrapped(words: readonly string[]): readonly string[] | undefined {
  const [shell, flag, inner, ...more] = words;
  if (!/^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh$/.test(shell ?? '')) return words;
  return /^-l?c$/.test(flag ?? '') && inner !== undefined && more.length === 0
    ? simpleWords(inner)
    : undefined;
}

function cat(args: readonly string[]): ShellRead | undefined {
  const numbered = args[0] === '-n';
  const path = onlyFile(numbered ? args.slice(1) : args);
  return path === undefined ? undefined : { path, from: 1, numbered };
}

/** `sed -n A,Bp FILE`, also one line, also to the last (`$`). */
function sed(args: readonly string[]): ShellRead | undefined {
  const [quiet, script, ...rest] = args;
  const match = /^(\d{1,12})(?:,(\d{1,12}|\$))?p$/.exec(script ?? '');
  const path = onlyFile(rest);
  if (quiet !== '-n' || match === null || path === undefined) return undefined;
  const from = Number(match[1]);
  const last = match[2] ?? match[1];
  if (from < 1) return undefined;
  if (last === '$') return { path, from, numbered: false };
  const to = Number(last);
  // A range that ends before it begins prints its first line.
  return { path, from, to: Math.max(from, to), numbered: false };
}

function head(args: readonly string[]): ShellRead | undefined {
  const counted = lineCountOf(args);
  if (counted === undefined || !/^\d{1,12}$/.test(counted.count)) return undefined;
  const to = Number(counted.count);
  return to < 1 ? undefined : { path: counted.path, from: 1, to, numbered: false };
}

function tail(args: readonly string[]): ShellRead | undefined {
  const counted = lineCountOf(args);
  if (counted === undefined) return undefined;
  const fromTop = /^\+(\d{1,12})$/.exec(counted.count)?.[1];
  if (fromTop !== undefined)
    return { path: counted.path, from: Math.max(1, Number(fromTop)), numbered: false };
  const lines = /^\d{1,12}$/.test(counted.count) ? Number(counted.count) : 0;
  return lines < 1 ? undefined : { path: counted.path, from: -lines, numbered: false };
}

/** The number in `-n N`, `-nN`, `-N` or `--lines=N`, and the one file after it. */
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

/** Exactly one name, after an optional `--`; `-` is the standard input. */
function onlyFile(args: readonly string[]): string | undefined {
  const names = args[0] === '--' ? args.slice(1) : args;
  const path = names[0];
  if (path === undefined || path === '' || path === '-' || names.length > 1) return undefined;
  return path.startsWith('-') && args[0] !== '--' ? undefined : path;
}
