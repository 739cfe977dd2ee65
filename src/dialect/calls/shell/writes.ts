import type { HereDoc, Redirect, Redirection } from 'unbash';
import {
  allCommands,
  certainCommands,
  inFolder,
  literalOf,
  programOf,
  type SimpleCommand,
} from './commands.ts';

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

/**
 * The paths that a shell command may move: the literal operands of `mv` and `git mv`, including
 * their destinations. Also lists commands that may not run, as if they ran in the start folder.
 */
export function moveOperands(command: string, home?: string): readonly string[] {
  const possible = (allCommands(command) ?? []).map(({ words }) => ({ words, folder: '' }));
  const paths = [...(certainCommands(command, home) ?? []), ...possible].flatMap(({ words, folder }) => {
    const [name = '', ...args] = words;
    const isGit = programOf(name) === 'git' && args[0] === 'mv';
    if (!isGit && programOf(name) !== 'mv') return [];
    const { operands } = split(isGit ? args.slice(1) : args, TRANSFER_VALUES);
    return operands.flatMap((path) => (path === undefined ? [] : (inFolder(folder, path) ?? [])));
  });
  return [...new Set(paths)];
}

function redirectWrites(simple: SimpleCommand): readonly ShellWrite[] {
  const { words, redirects } = simple;
  const content = words.length === 1 && words[0] === 'cat' ? bodyOf(redirects) : undefined;
  const out = outputOf(redirects);
  return redirects.flatMap((redirect): ShellWrite[] => {
    const path = redirect.type === 'Redirect' ? targetOf(redirect, simple) : undefined;
    if (path === undefined) return [];
    const how = redirect.operator.endsWith('>>') ? 'append' : 'overwrite';
    return [content === undefined || redirect !== out ? { how, path } : { how, path, content }];
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
    const out = outputOf(simple.redirects);
    if (content === undefined || out === undefined) return [];
    return redirectWrites({ ...simple, redirects: [out] }).flatMap((write) =>
      write.how === 'overwrite' ? [{ path: write.path, content }] : [],
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

const STDIN = 0;
const STDOUT = 1;

/** The descriptor that a redirection sets; undefined if the shell chooses the number (`{fd}>`). */
function descriptorOf({ descriptor, operator }: Redirection): number | undefined {
  if (descriptor === undefined) return operator.startsWith('<') ? STDIN : STDOUT;
  return descriptor.type === 'FileDescriptor' ? descriptor.value : undefined;
}

/**
 * The only redirection of a descriptor. Undefined if there are several, because then bash uses only
 * the last one, but zsh uses all.
 */
function onlyFor(descriptor: number, redirects: readonly Redirection[]): Redirection | undefined {
  const [only, ...others] = redirects.filter((redirect) => descriptorOf(redirect) === descriptor);
  return others.length === 0 ? only : undefined;
}

/**
 * The only redirection of the standard output. Undefined if there are several, and for `<>`, which
 * neither empties a file nor appends to it.
 */
function outputOf(redirects: readonly Redirection[]): Redirection | undefined {
  const only = onlyFor(STDOUT, redirects);
  return only?.operator === '<>' ? undefined : only;
}

const WRITING = new Set(['>', '>>', '>|', '&>', '&>>', '>&', '<>']);
/**
 * Matches the path of a device: a write to it destroys no file. `/dev/shm` contains ordinary files,
 * so it is excluded.
 */
const DEVICE = /^\/dev\/(?!shm\/|.*\.\.)/;

/** The file that a redirection certainly writes. */
function targetOf(redirect: Redirect, { folder, home }: SimpleCommand): string | undefined {
  const { operator } = redirect;
  const target = redirect.target === undefined ? undefined : literalOf(redirect.target, home);
  if (target === undefined || target === '' || !WRITING.has(operator)) return undefined;
  // `2>&1` and `>&-` name descriptors, not files.
  if (operator === '>&' && /^(?:\d+|-|\d+-)$/.test(target)) return undefined;
  // Shells reject `2>&FILE`. A command may open a file with `3<>FILE` and then only read it.
  if ((operator === '>&' || operator === '<>') && descriptorOf(redirect) !== STDOUT) return undefined;
  return fileAt(folder, target);
}

function fileAt(folder: string | undefined, path: string): string | undefined {
  return DEVICE.test(path) ? undefined : inFolder(folder, path);
}

/**
 * The text of the here-document that is certainly the standard input. Undefined if the shell
 * expands that text.
 */
function bodyOf(redirects: readonly Redirection[]): string | undefined {
  const only = onlyFor(STDIN, redirects);
  // Shells differ about the final newline of a here-document that is not closed.
  return only?.type === 'HereDoc' && only.closing !== undefined ? textOf(only) : undefined;
}

function textOf({ body: { text }, delimiter, operator }: HereDoc): string | undefined {
  if (delimiter?.quoted !== true && /[$`\\]/.test(text)) return undefined;
  return operator === '<<-' ? text.replace(/^\t+/gm, '') : text;
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
  const body = redirects.findLast((each) => each.type === 'HereDoc' && descriptorOf(each) === STDIN);
  const patch = (body?.type === 'HereDoc' ? textOf(body) : undefined) ?? args[0];
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
  const { options, operands, values } = split(args, TRANSFER_VALUES);
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

/** Matches options of `cp` and `mv` whose value is the next argument. */
const TRANSFER_VALUES = /^(?:-\w*[tS]|--(?:target-directory|suffix))$/;

/**
 * Matches the option of `cp` and `mv` that names the target folder, and the folder if it is part of the same word.
 */
const TARGET = /^(?:-[a-su-zA-RT-Z]*t|--target-directory(?:=|$))(.*)$/;

/**
 * Separates options from operands. Words that the shell expands count as operands. `valued` matches
 * options whose value is the next argument. `values` has one entry per option: the value, or the
 * option itself if the next argument is not its value.
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
