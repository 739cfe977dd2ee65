import type { ReadTouch, RunTouch } from '../touch.ts';

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

/** Characters that a shell takes literally outside quotes. */
const PLAIN = /[A-Za-z0-9_./@%+=:,-]/;
const ALL_PLAIN = /^[A-Za-z0-9_./@%+=:,-]+(?: [A-Za-z0-9_./@%+=:,-]+)*$/;
/**
 * Commands with more characters than this are not matched with `ALL_PLAIN`: its repeated group
 * overflows the stack on millions of characters.
 */
const MAX_PLAIN = 4096;

interface Word {
  readonly text: string;
  readonly end: number;
}

/**
 * The lines that a command certainly shows: `cat`, `sed -n`, `head` or `tail` of one file, as a single simple command.
 * Undefined for pipes, redirections, expansions, second commands, unknown options and background commands.
 */
export function readOfCommand(run: RunTouch): ReadTouch | undefined {
  const words = run.words === undefined ? simpleWords(run.command) : unwrapped(run.words);
  const printed = words === undefined || run.background === true ? undefined : printedBy(words);
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

/**
 * The words of a command given as an array. For `bash -lc "…"`, the words of the inner command; undefined if these
 * are uncertain.
 */
function unwrapped(words: readonly string[]): readonly string[] | undefined {
  const [shell, flag, inner, ...more] = words;
  if (!/^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh$/.test(shell ?? '')) return words;
  return /^-l?c$/.test(flag ?? '') && inner !== undefined && more.length === 0
    ? simpleWords(inner)
    : undefined;
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

/**
 * The words of one simple command. Undefined if the command contains a character that a shell might
 * interpret. This parser accepts less than a shell, so that its result is certain.
 */
function simpleWords(command: string): readonly string[] | undefined {
  // Fast path: most commands consist only of plain words with single spaces between them.
  if (command.length <= MAX_PLAIN && ALL_PLAIN.test(command)) return command.split(' ');
  const words: string[] = [];
  let at = 0;
  while (at < command.length) {
    const character = command.charAt(at);
    if (character === ' ' || character === '\t') {
      at += 1;
      continue;
    }
    const word = readWord(command, at);
    if (word === undefined) return undefined;
    words.push(word.text);
    at = word.end;
  }
  return words;
}

function readWord(command: string, start: number): Word | undefined {
  let text = '';
  let at = start;
  while (at < command.length) {
    const character = command.charAt(at);
    if (character === ' ' || character === '\t') break;
    const piece = character === "'" || character === '"' ? readQuoted(command, at) : readPlain(command, at);
    if (piece === undefined) return undefined;
    text += piece.text;
    at = piece.end;
  }
  return { text, end: at };
}

function readPlain(command: string, at: number): Word | undefined {
  const character = command.charAt(at);
  return PLAIN.test(character) ? { text: character, end: at + 1 } : undefined;
}

function readQuoted(command: string, at: number): Word | undefined {
  const quote = command.charAt(at);
  const end = command.indexOf(quote, at + 1);
  if (end === -1) return undefined;
  const text = command.slice(at + 1, end);
  // Reject characters that are special even inside double quotes. Reject newlines too: they are
  // legal in names, but never intended.
  const hazards = quote === '"' ? /[$`\\!\n\r\0]/ : /[\n\r\0]/;
  return hazards.test(text) ? undefined : { text, end: end + 1 };
}
