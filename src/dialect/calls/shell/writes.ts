import type { HereDoc, Redirect, Redirection } from 'unbash';
import type { ReadTouch, RunTouch } from '../touch.ts';
import { certainCommands, inFolder, literalOf, programOf, type SimpleCommand } from './commands.ts';

/** A file that a command certainly writes. Paths are absolute, or relative to the command's start folder. */
export type ShellWrite =
  /** `content`: the whole text that the command writes, if a here-document contains it. */
  | { readonly how: 'overwrite' | 'append'; readonly path: string; readonly content?: string }
  /** A change in place by `sed -i` or `perl -pi`. */
  | { readonly how: 'edit'; readonly path: string }
  /** The destination, `path`, may be a folder; the file then keeps its name in that folder. */
  | { readonly how: 'copy' | 'move'; readonly source: string; readonly path: string }
  /** A call of `apply_patch` with the patch in a here-document or argument. Its paths are relative to `folder`. */
  | { readonly how: 'patch'; readonly patch: string; readonly folder: string };

/**
 * The files that a shell command certainly writes, in order: literal targets of redirections, `tee`, `cp`, `mv`, `sed
 * -i`, `perl -pi` and `apply_patch`. Anything that depends on a variable, glob or condition is skipped, and so is a
 * command that cannot be parsed.
 */
export function writesOf(command: string, home?: string): readonly ShellWrite[] {
  return (certainCommands(command, home) ?? []).flatMap((simple) => [
    ...programWrites(simple),
    ...redirectWrites(simple),
  ]);
}

function redirectWrites({ words, redirects, folder, home }: SimpleCommand): readonly ShellWrite[] {
  return redirects.flatMap((redirect): ShellWrite[] => {
    if (redirect.type !== 'Redirect') return [];
    const target = redirect.target === undefined ? undefined : literalOf(redirect.target, home);
    const path = targetOf(redirect.operator, target, folder);
    if (path === undefined) return [];
    const how = redirect.operator.endsWith('>>') ? 'append' : 'overwrite';
    const content = words.length === 1 && words[0] === 'cat' ? bodyOf(redirects) : undefined;
    return [content === undefined ? { how, path } : { how, path, content }];
  });
}

/**
 * The texts that `echo` and `printf` write into files. Shells differ in escapes, so a caller must
 * compare a text with the file before it relies on the text.
 */
export function printedTexts(
  command: string,
  home?: string,
): readonly { readonly path: string; readonly content: string }[] {
  return (certainCommands(command, home) ?? []).flatMap((simple) => {
    const content = wordsPrinted(simple.words);
    const writes = content === undefined ? [] : redirectWrites(simple);
    return writes.flatMap((write) =>
      write.how === 'overwrite' && content !== undefined ? [{ path: write.path, content }] : [],
    );
  });
}

function wordsPrinted([program, ...args]: SimpleCommand['words']): string | undefined {
  const words = args.flatMap((word) => word ?? []);
  if (words.length !== args.length) return undefined;
  if (program === 'echo') return words[0] === '-n' ? words.slice(1).join(' ') : `${words.join(' ')}\n`;
  const [format, ...values] = words;
  if (program !== 'printf' || format === undefined) return undefined;
  const text = format.replaceAll('\\n', '\n').replaceAll('\\t', '\t');
  if (!text.includes('%')) return text;
  const around = text.split('%s');
  return around.length === 2 && values.length > 0
    ? values.map((value) => around.join(value)).join('')
    : undefined;
}

const WRITING = new Set(['>', '>>', '>|', '&>', '&>>', '>&']);
/** Devices are not files, and writing to them loses nothing. `/dev/shm` contains ordinary files. */
const DEVICE = /^\/dev\/(?!shm\/|.*\.\.)/;

function targetOf(
  operator: Redirect['operator'],
  target: string | undefined,
  folder: string | undefined,
): string | undefined {
  if (target === undefined || target === '' || !WRITING.has(operator)) return undefined;
  // `2>&1` and `>&-` name descriptors, not files.
  if (operator === '>&' && /^(?:\d+|-|\d+-)$/.test(target)) return undefined;
  return fileAt(folder, target);
}

function fileAt(folder: string | undefined, path: string): string | undefined {
  return DEVICE.test(path) ? undefined : inFolder(folder, path);
}

/** The text of the only here-document, if the shell does not expand it. */
function bodyOf(redirects: readonly Redirection[]): string | undefined {
  const bodies = redirects.filter((redirect): redirect is HereDoc => redirect.type === 'HereDoc');
  const [only] = bodies;
  if (only === undefined || bodies.length > 1) return undefined;
  const { text } = only.body;
  if (only.delimiter?.quoted !== true && /[$`\\]/.test(text)) return undefined;
  return only.operator === '<<-' ? text.replace(/^\t+/gm, '') : text;
}

function programWrites(simple: SimpleCommand): readonly ShellWrite[] {
  const [name, ...args] = simple.words;
  switch (name === undefined ? undefined : programOf(name)) {
    case 'tee':
      return teeWrites(simple, args);
    case 'sed':
    case 'gsed':
      return edits(sedFiles(args), simple);
    case 'perl':
      return edits(perlFiles(args), simple);
    case 'cp':
      return transfers('copy', simple, args);
    case 'mv':
      return transfers('move', simple, args);
    case 'apply_patch':
    case 'applypatch':
      return patchWrites(simple, args);
    default:
      return [];
  }
}

type Args = readonly (string | undefined)[];

function edits(files: Args, { folder }: SimpleCommand): readonly ShellWrite[] {
  return files.flatMap((file): ShellWrite[] => {
    const path = file === undefined || file === '' ? undefined : fileAt(folder, file);
    return path === undefined ? [] : [{ how: 'edit', path }];
  });
}

function teeWrites({ redirects, folder }: SimpleCommand, args: Args): readonly ShellWrite[] {
  const { options, operands } = split(args, /^$/);
  const how = options.some((option) => /^(?:-\w*a|--append$)/.test(option)) ? 'append' : 'overwrite';
  const content = bodyOf(redirects);
  return operands.flatMap((file): ShellWrite[] => {
    const path = file === undefined || file === '-' ? undefined : fileAt(folder, file);
    if (path === undefined) return [];
    return [content === undefined ? { how, path } : { how, path, content }];
  });
}

function patchWrites({ redirects, folder }: SimpleCommand, args: Args): readonly ShellWrite[] {
  const patch = bodyOf(redirects) ?? args[0];
  return patch === undefined || folder === undefined ? [] : [{ how: 'patch', patch, folder }];
}

/** The files that `sed` edits in place; none without `-i`. */
function sedFiles(args: Args): Args {
  const { options, operands } = split(args, /^(?:-[bnErsuz]*[efl]|--expression|--file|--line-length)$/);
  if (!options.some((option) => /^(?:-[bnErsuz]*i|--in-place)/.test(option))) return [];
  const hasScript = options.some((option) => /^(?:-[bnErsuz]*[ef]|--expression|--file)/.test(option));
  // In BSD's `-i ''` the empty suffix is a separate argument.
  const files = operands[0] === '' ? operands.slice(1) : operands;
  return hasScript ? files : files.slice(1);
}

/** The files that `perl` edits in place: `-i` together with `-p` or `-n`. Text directly after `-i` is a suffix. */
function perlFiles(args: Args): Args {
  const { options, operands } = split(args, /^(?:-[^i-]*[eE]|-[MmI])$/);
  const flags = options.filter((option) => !/^-[MmI]/.test(option));
  const inPlace = flags.some((option) => /^-[^eE-]*i/.test(option));
  const loops = flags.some((option) => /^-[^ieE-]*[pn]/.test(option));
  if (!inPlace || !loops) return [];
  const hasScript = flags.some((option) => /^-[^i-]*[eE]/.test(option));
  return hasScript ? operands : operands.slice(1);
}

function transfers(how: 'copy' | 'move', { folder }: SimpleCommand, args: Args): readonly ShellWrite[] {
  const { options, operands, values } = split(args, /^(?:-\w*[tS]|--(?:target-directory|suffix))$/);
  // With these options, `cp` and `mv` never replace a file.
  if (options.some((option) => /^(?:-[a-su-zA-RT-Z]*n|--(?:no-clobber|update=none))/.test(option))) return [];
  const isNamed = options.some((option) => TARGET.test(option));
  const named = options.flatMap((option, at) => {
    const [found, attached] = TARGET.exec(option) ?? [];
    return found === undefined ? [] : [attached === '' ? values[at] : attached];
  });
  const destination = isNamed ? named.at(-1) : operands.at(-1);
  const sources = isNamed ? operands : operands.slice(0, -1);
  if (destination === undefined || sources.length === 0) return [];
  return sources.flatMap((given): ShellWrite[] => {
    if (given === undefined) return [];
    const source = inFolder(folder, given);
    const isFolder = isNamed || sources.length > 1 || destination.endsWith('/');
    const name = given.replace(/\/+$/, '').replace(/^.*\//, '');
    const path = fileAt(folder, isFolder ? `${destination.replace(/\/+$/, '')}/${name}` : destination);
    return source === undefined || path === undefined ? [] : [{ how, source, path }];
  });
}

/**
 * Matches the option of `cp` and `mv` that names the target folder, and the folder if it is part of the same word.
 */
const TARGET = /^(?:-[a-su-zA-RT-Z]*t|--target-directory(?:=|$))(.*)$/;

/**
 * Separates options from operands. Words that the shell expands count as operands. `valued` matches options whose
 * value is the next argument. `values` has the value of each option, or the option itself if it has none.
 */
function split(
  args: Args,
  valued: RegExp,
): { readonly options: readonly string[]; readonly values: Args; readonly operands: Args } {
  const options: string[] = [];
  const values: (string | undefined)[] = [];
  const operands: (string | undefined)[] = [];
  let isPlain = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at];
    if (isPlain || arg === undefined || arg === '-' || !arg.startsWith('-')) operands.push(arg);
    else if (arg === '--') isPlain = true;
    else {
      options.push(arg);
      if (valued.test(arg)) at += 1;
      values.push(args[at]);
    }
  }
  return { options, values, operands };
}

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
 * Longer commands are not matched with `ALL_PLAIN`: its repeated group overflows the stack on millions of characters.
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
