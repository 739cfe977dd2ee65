import type { Harm } from '../../../model/session.ts';
import { writesOf } from './effects.ts';
import type { ShellCommand, ShellRedirect } from './shell-command.ts';
import { inFolder, programOf, type Words } from './words.ts';

/**
 * The meaning of an unknown word of a command. `may write`: an option with which the program writes.
 * `reads`: the name of a file.
 */
type Doubt = 'may write' | 'reads';

/** Programs that change no file, whatever their arguments. */
const PLAIN_READERS =
  `: [ basename cat cd cmp cut df diff dirname du echo egrep export false fgrep file grep head id jq ll ls
  md5sum more nl od printenv printf ps pwd read readlink realpath seq sha1sum sha256sum shasum sleep stat tail test tr
  true type uname wc which whoami`.split(/\s+/);

/**
 * By program: matches the arguments with which it writes a file, runs a program or sets something.
 * Most programs accept a long option in abbreviated form.
 */
const READERS: ReadonlyMap<string, RegExp | undefined> = new Map([
  ...PLAIN_READERS.map((name) => [name, undefined] as const),
  ['ag', /^--pag/],
  ['date', /^-u?s|^--s/],
  ['find', /^-(?:delete|exec|ok|fprint|fls)/],
  ['hostname', /^(?:[^-]|-[bF]|--(?:boot|file))/],
  ['less', /^-[^-]*o|^--log/i],
  ['rg', /^--(?:pre|hostname-bin)(?:=|$)/],
  ['tree', /^-[^-]*o/],
]);

const SORT_WRITES = /^-[^-]*o|^--(?:o|co)/;

/** Git commands that change no file and no reference. The value matches arguments with which they may. */
const GIT_READERS: ReadonlyMap<string, RegExp> = new Map([
  ...'blame cat-file describe grep ls-files ls-tree rev-list rev-parse shortlog status'
    .split(' ')
    .map((verb) => [verb, /^--out/] as const),
  ...['diff', 'log', 'show'].map((verb) => [verb, /^--(?:out|ext-diff)/] as const),
  [
    'branch',
    /^(?!(-a|-r|-v|-vv|--list|--show-current|--all|--remotes|--verbose|--(no-)?merged|--format=.*)$)/,
  ],
  ['remote', /^(?!(-v|show|get-url)$)/],
  ['stash', /^(?!(list|show)$)/],
]);
/** Git commands that write into the repository, but change no file that they name. */
const GIT_RECORDS: ReadonlySet<string> = new Set(['add', 'commit']);

/** True if a command changes no file. */
export function onlyReads(command: ShellCommand, doubt: Doubt): boolean {
  const { words, redirects } = command;
  if (!redirects.every(keepsFiles) || writesOf(command).length > 0) return false;
  const [name, ...args] = words;
  if (words.length === 0) return true;
  switch (programOf(name)) {
    case 'git':
      return gitOnlyReads(args) || (doubt === 'reads' && gitNamesOnly(args));
    case 'sed':
      return isKnown(args) && printsBySed(args);
    case 'sort':
      return isKnown(args) && !args.some((arg) => SORT_WRITES.test(arg ?? ''));
    default: {
      const writes = READERS.get(programOf(name));
      if (writes === undefined) return READERS.has(programOf(name));
      return !args.some((arg) => (arg === undefined ? doubt === 'may write' : writes.test(arg)));
    }
  }
}

/** Commands of git whose output is used as names. */
const PRINTING = new Set(['branch', 'ls-files', 'stash', 'status']);

/**
 * True if a command only prints something, so that it can be run to learn what it prints. Unlike
 * `onlyReads`, false for commands of git that write into the repository.
 */
export function onlyPrints(command: ShellCommand): boolean {
  const [name, verb] = command.words;
  // A program with a path may be any program.
  if (name === undefined || name.includes('/')) return false;
  if (name === 'git' && !PRINTING.has(verb ?? '')) return false;
  return command.values.every((value) => value !== undefined) && onlyReads(command, 'reads');
}

/** True for the name of a program of which most calls change no file. */
export function isReader(name: string): boolean {
  return READERS.has(name);
}

/** True if all arguments are known. A glob in brackets may match a file whose name is an option. */
function isKnown(args: Words): args is readonly string[] {
  return args.every((arg) => arg?.includes('[') === false);
}

/** True for arguments with which git changes no file and no reference. */
function gitOnlyReads(args: Words): boolean {
  const { verb, rest } = verbOf(args);
  const writes = verb === undefined ? undefined : GIT_READERS.get(verb);
  if (writes === undefined) return false;
  // `git stash` without an argument makes a stash.
  if (verb === 'stash' && rest.length === 0) return false;
  return verb === 'stash' || verb === 'remote'
    ? rest.length === 0 || (rest[0] !== undefined && !writes.test(rest[0]))
    : !rest.some((arg) => arg === undefined || writes.test(arg));
}

/**
 * True if git changes no file that the arguments name. The arguments of `git commit` often contain
 * `$(…)`. The commands in it are checked separately.
 */
function gitNamesOnly(args: Words): boolean {
  const { verb = '', rest } = verbOf(args);
  if (GIT_RECORDS.has(verb)) return true;
  return rest.includes(undefined) && gitOnlyReads([verb, ...rest.filter((arg) => arg !== undefined)]);
}

/** The command of git, and its arguments; options such as `-C FOLDER` may be before it. */
function verbOf(args: Words): { readonly verb: string | undefined; readonly rest: Words } {
  let at = 0;
  while (args[at] === '-C' || args[at] === '--no-pager') at += args[at] === '-C' ? 2 : 1;
  const areKnown = !args.slice(0, at).includes(undefined);
  return { verb: areKnown ? args[at] : undefined, rest: args.slice(at + 1) };
}

/**
 * Matches a script of `sed` that only selects lines by number or pattern, and prints, deletes or
 * counts them or quits. Patterns with a backslash or bracket are excluded, because they may contain
 * the slash that ends other patterns.
 */
const SELECTING =
  /^(?:(?:^|; ?)(?:(?:\d+|\$|\/[^/\\[\n]+\/)(?:,(?:\d+|\$|\/[^/\\[\n]+\/|[+~]\d+))?)?!?[pdq=])+;?$/;

function printsBySed(args: readonly string[]): boolean {
  const scripts: string[] = [];
  const operands: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (!arg.startsWith('-') || arg === '-') operands.push(arg);
    else if (!/^(?:-[nErsuz]*e?|--quiet|--silent)$/.test(arg)) return false;
    else if (arg.endsWith('e')) {
      at += 1;
      scripts.push(args[at] ?? '');
    }
  }
  return (scripts.length > 0 ? scripts : [operands[0] ?? '']).every((script) => SELECTING.test(script));
}

/** True for a redirection that writes no file, such as `< FILE`, `2>&1`, `2>/dev/null` and a here-document. */
function keepsFiles({ operator, target = '', open }: ShellRedirect): boolean {
  // Commands in the text of a here-document are checked separately. A here-document that is not
  // closed may be only the beginning of one.
  if (operator.startsWith('<<')) return operator !== '<<<' && open !== true;
  return operator === '<' || target === '/dev/null' || (operator === '>&' && /^(?:\d+|-)$/.test(target));
}

/** The folders in which git commands work that may change files or references, as the line names them. */
export function gitFolders(commands: readonly ShellCommand[]): readonly string[] {
  return commands.flatMap((command) => {
    const [name, ...args] = command.words;
    if (programOf(name) !== 'git' || gitOnlyReads(args)) return [];
    const start = folderNamed(args);
    const folder = start === undefined ? command.folder : inFolder(command.folder, start);
    return folder ?? [];
  });
}

/** The folder that the options before the verb name. */
function folderNamed(args: ShellCommand['words']): string | undefined {
  const [option, value = ''] = args;
  if (option === '-C') return value;
  if (option === '-c') return folderNamed(args.slice(2));
  const named = /^--(?:work-tree|git-dir)=(.+?)(?:\/\.git\/?)?$/.exec(option ?? '')?.[1];
  return named ?? (option?.startsWith('-') === true ? folderNamed(args.slice(1)) : undefined);
}

const PRUNES = /\b(gc|prune|repack|filter-branch|filter-repo)\b|\breflog\s+(expire|delete)\b/;
const NAMES_GIT = /(^|[\s/'"=])\.git($|[\s/'";&|)])/;

/** Says what a shell line with these commands may destroy. A line that cannot be parsed may destroy anything. */
export function harmOf(line: string, commands: readonly ShellCommand[]): Harm {
  if (commands.length > 0 && commands.every((command) => onlyReads(command, 'may write'))) return 'nothing';
  return PRUNES.test(line) || NAMES_GIT.test(line) ? 'git' : 'files';
}
