import { defined } from '../../../model/record.ts';
import { type ShellCommand, type ShellRedirect, STDIN, STDOUT } from './shell-command.ts';
import type { Value } from './values.ts';
import { inFolder, programOf, split, type Words } from './words.ts';

/**
 * A file that a command of a shell line writes. Paths are absolute, or relative to the folder where
 * relative paths of the line start.
 */
export type ShellWrite = {
  /** False if the command may not run, for example because it is in a condition. */
  readonly certain: boolean;
} & Effect;

type Effect =
  /**
   * `content`: the whole text that the command writes, if a here-document contains it. `printed`:
   * the text that `echo` or `printf` writes. Shells differ in escapes, so a caller must compare it
   * with the file before it relies on it.
   */
  | {
      readonly how: 'overwrite' | 'append';
      readonly path: string;
      readonly content?: string;
      readonly printed?: string;
    }
  /** A change in place by `sed -i` or `perl -pi`. */
  | { readonly how: 'edit'; readonly path: string }
  /** The destination, `path`, may be a folder; the file then keeps its name in that folder. */
  | { readonly how: 'copy' | 'move'; readonly source: string; readonly path: string }
  /** A call of `apply_patch` with the patch in a here-document or argument. Its paths are relative to `folder`. */
  | { readonly how: 'patch'; readonly patch: string; readonly folder: string };

/**
 * The files that a command writes, in order: literal targets of redirections, `tee`, `cp`, `mv`, `sed
 * -i`, `perl -pi` and `apply_patch`. Skips names that depend on a variable or glob.
 */
export function writesOf(command: ShellCommand): readonly ShellWrite[] {
  const { certain } = command;
  return [...programWrites(command), ...redirectWrites(command)].map((effect) => ({ certain, ...effect }));
}

/** True if two commands write the same files, or write none that are known and have the same words. */
export function writesLike(one: ShellCommand, other: ShellCommand): boolean {
  if (one.folder !== other.folder) return false;
  const [first = [], second = []] = [one, other].map((command) =>
    writesOf(command).map(({ certain, ...effect }) => placeOf(effect)),
  );
  if (first.length === 0 && second.length === 0)
    return one.words.every((word, at) => word !== undefined && word === other.words[at]);
  return first.length === second.length && first.every((place, at) => place === second[at]);
}

/** Identifies what an effect writes. The destination of a copy may be a folder, so the name of its source counts, too. */
function placeOf(effect: Effect): string {
  if (effect.how === 'patch') return JSON.stringify(effect);
  if (effect.how === 'move') return JSON.stringify([effect.source, effect.path]);
  return effect.path;
}

/** The literal operands of `mv` and `git mv`, including the destination. */
export function moveOperands({ words, folder = '' }: ShellCommand): readonly string[] {
  const [name, ...args] = words;
  const isGit = programOf(name) === 'git' && args[0] === 'mv';
  if (!isGit && programOf(name) !== 'mv') return [];
  const { operands } = split(isGit ? args.slice(1) : args, TRANSFER_VALUES);
  return operands.flatMap((path) => (path === undefined ? [] : (inFolder(folder, path) ?? [])));
}

function redirectWrites({ words, redirects, folder }: ShellCommand): readonly Effect[] {
  const content = words.length === 1 && words[0] === 'cat' ? bodyOf(redirects) : undefined;
  const printed = wordsPrinted(words);
  const out = outputOf(redirects);
  return redirects.flatMap((redirect): Effect[] => {
    const path = targetOf(redirect, folder);
    if (path === undefined) return [];
    const how = redirect.operator.endsWith('>>') ? 'append' : 'overwrite';
    if (redirect !== out) return [{ how, path }];
    return [{ how, path, ...defined({ content, printed: how === 'overwrite' ? printed : undefined }) }];
  });
}

function wordsPrinted([program, ...args]: Words): string | undefined {
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

/**
 * The only redirection of a descriptor. Undefined if there are several, because then bash uses only
 * the last one, but zsh uses all.
 */
function onlyFor(descriptor: number, redirects: readonly ShellRedirect[]): ShellRedirect | undefined {
  const [only, ...others] = redirects.filter((redirect) => redirect.descriptor === descriptor);
  return others.length === 0 ? only : undefined;
}

/**
 * The only redirection of the standard output. Undefined if there are several, and for `<>`, which
 * neither empties a file nor appends to it.
 */
function outputOf(redirects: readonly ShellRedirect[]): ShellRedirect | undefined {
  const only = onlyFor(STDOUT, redirects);
  return only?.operator === '<>' ? undefined : only;
}

const WRITING = new Set(['>', '>>', '>|', '&>', '&>>', '>&', '<>']);
/**
 * Matches the path of a device: a write to it destroys no file. `/dev/shm` contains ordinary files,
 * so it is excluded.
 */
const DEVICE = /^\/dev\/(?!shm\/|.*\.\.)/;

/** The file that a redirection writes. */
function targetOf(
  { operator, descriptor, target }: ShellRedirect,
  folder: string | undefined,
): string | undefined {
  if (target === undefined || target === '' || !WRITING.has(operator)) return undefined;
  // `2>&1` and `>&-` name descriptors, not files.
  if (operator === '>&' && /^(?:\d+|-|\d+-)$/.test(target)) return undefined;
  // Shells reject `2>&FILE`. A command may open a file with `3<>FILE` and then only read it.
  if ((operator === '>&' || operator === '<>') && descriptor !== STDOUT) return undefined;
  return fileIn(folder, target);
}

/** The path of a file that a command writes; undefined for a device, and for an unknown folder. */
export function fileIn(folder: string | undefined, path: string): string | undefined {
  return DEVICE.test(path) ? undefined : inFolder(folder, path);
}

/**
 * The text of the here-document that is certainly the standard input. Undefined if the shell
 * expands that text.
 */
function bodyOf(redirects: readonly ShellRedirect[]): string | undefined {
  const only = onlyFor(STDIN, redirects);
  return only?.open === true ? undefined : only?.text;
}

function programWrites(command: ShellCommand): readonly Effect[] {
  const [name, ...args] = command.words;
  switch (programOf(name)) {
    case 'tee':
      return teeWrites(command, args);
    case 'sed':
    case 'gsed':
      return edits(sedFiles(args), command);
    case 'perl':
      return edits(perlFiles(args), command);
    case 'cp':
      return transfers('copy', command, args);
    case 'mv':
      return transfers('move', command, args);
    case 'apply_patch':
    case 'applypatch':
      return patchWrites(command, args);
    default:
      return [];
  }
}

function edits(files: Words, { folder }: ShellCommand): readonly Effect[] {
  return files.flatMap((file): Effect[] => {
    const path = file === undefined || file === '' ? undefined : fileIn(folder, file);
    return path === undefined ? [] : [{ how: 'edit', path }];
  });
}

function teeWrites({ redirects, folder }: ShellCommand, args: Words): readonly Effect[] {
  const { options, operands } = split(args, /^$/);
  const how = options.some((option) => /^(?:-\w*a|--append$)/.test(option)) ? 'append' : 'overwrite';
  const content = bodyOf(redirects);
  return operands.flatMap((file): Effect[] => {
    const path = file === undefined || file === '-' ? undefined : fileIn(folder, file);
    if (path === undefined) return [];
    return [content === undefined ? { how, path } : { how, path, content }];
  });
}

function patchWrites({ redirects, folder }: ShellCommand, args: Words): readonly Effect[] {
  const body = redirects.findLast(({ text, descriptor }) => text !== undefined && descriptor === STDIN);
  const patch = body?.text ?? args[0];
  return patch === undefined || folder === undefined ? [] : [{ how: 'patch', patch, folder }];
}

/** The files that `sed` edits in place; none without `-i`. */
export function sedFiles<T extends Value>(args: readonly T[]): readonly (T | undefined)[] {
  const { options, operands } = split(args, /^(?:-[bnErsuz]*[efl]|--expression|--file|--line-length)$/);
  if (!options.some((option) => /^(?:-[bnErsuz]*i|--in-place)/.test(option))) return [];
  const hasScript = options.some((option) => /^(?:-[bnErsuz]*[ef]|--expression|--file)/.test(option));
  // In BSD's `-i ''` the empty suffix is a separate argument.
  const files = operands[0] === '' ? operands.slice(1) : operands;
  return hasScript ? files : files.slice(1);
}

/** The files that `perl` edits in place: `-i` together with `-p` or `-n`. Text directly after `-i` is a suffix. */
export function perlFiles<T extends Value>(args: readonly T[]): readonly (T | undefined)[] {
  const { options, operands } = split(args, /^(?:-[^i-]*[eE]|-[MmI])$/);
  const flags = options.filter((option) => !/^-[MmI]/.test(option));
  const inPlace = flags.some((option) => /^-[^eE-]*i/.test(option));
  const loops = flags.some((option) => /^-[^ieE-]*[pn]/.test(option));
  if (!inPlace || !loops) return [];
  const hasScript = flags.some((option) => /^-[^i-]*[eE]/.test(option));
  return hasScript ? operands : operands.slice(1);
}

function transfers(how: 'copy' | 'move', { folder }: ShellCommand, args: Words): readonly Effect[] {
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
  return sources.flatMap((given): Effect[] => {
    if (given === undefined) return [];
    const source = inFolder(folder, given);
    const isFolder = isNamed || sources.length > 1 || destination.endsWith('/');
    const name = given.replace(/\/+$/, '').replace(/^.*\//, '');
    const path = fileIn(folder, isFolder ? `${destination.replace(/\/+$/, '')}/${name}` : destination);
    return source === undefined || path === undefined ? [] : [{ how, source, path }];
  });
}

/** Matches options of `cp` and `mv` whose value is the next argument. */
const TRANSFER_VALUES = /^(?:-\w*[tS]|--(?:target-directory|suffix))$/;

/**
 * Matches the option of `cp` and `mv` that names the target folder, and the folder if it is part of the same word.
 */
const TARGET = /^(?:-[a-su-zA-RT-Z]*t|--target-directory(?:=|$))(.*)$/;
