import {
  type AndOr,
  type Command,
  forEachChild,
  type PipelineNode,
  parse,
  type Redirection,
  type Statement,
  type SyntaxNode,
  type Word,
  type WordPart,
} from 'unbash';

/** A simple command of a shell line, and a folder in which it may run. */
export interface SimpleCommand {
  /** The command's words; undefined for a word that the shell expands: a variable, a glob, a substitution. */
  readonly words: readonly (string | undefined)[];
  readonly redirects: readonly Redirection[];
  /**
   * The folder in which the command runs, relative to the start folder of the line. `''` is the
   * start folder; undefined means unknown.
   */
  readonly folder: string | undefined;
  /** The folder that `~` and `$HOME` name, if it is known. */
  readonly home: string | undefined;
}

/** Lines with more characters than this are not parsed. */
export const MAX_LENGTH = 100_000;
const MAX_DEPTH = 3;
const SHELL = /^(?:ba|z|da)?sh$/;

/** A program, such as `env`, that runs the command in its own arguments. */
interface Wrapper {
  /**
   * Matches options without a value. After an unknown option, the wrapped command stays unknown.
   */
  readonly flag?: RegExp;
  /** Matches options whose value is the next word. */
  readonly valued?: RegExp;
  /** The number of words between the options and the command. */
  readonly operands?: number;
}

const ASSIGNMENT = /^\w+=/;
const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map([
  ['builtin', {}],
  ['command', { flag: /^-p$/ }],
  ['env', { flag: /^(?:-i?|-u.+|--ignore-environment|--unset=.*)$/, valued: /^(?:-u|--unset)$/ }],
  ['exec', { flag: /^-[cl]+$/, valued: /^-a$/ }],
  ['nice', { flag: /^(?:-n?-?\d+|--adjustment=.*)$/, valued: /^(?:-n|--adjustment)$/ }],
  ['nohup', {}],
  ['stdbuf', { flag: /^(?:-[ioe].+|--\w+=.*)$/, valued: /^(?:-[ioe]|--\w+)$/ }],
  [
    'sudo',
    {
      flag: /^(?:-[AEHPSbkn]+|--(?:user|group|preserve-env)=.*|--(?:preserve-env|set-home|non-interactive))$/,
      valued: /^(?:-[AEHPSbkn]*[gup]|--(?:user|group|prompt))$/,
    },
  ],
  ['time', { flag: /^-p$/ }],
  [
    'timeout',
    {
      flag: /^(?:-[ks].+|-[fpv]+|--(?:foreground|preserve-status|verbose)|--(?:kill-after|signal)=.*)$/,
      valued: /^(?:-[ks]|--kill-after|--signal)$/,
      operands: 1,
    },
  ],
]);

/**
 * The simple commands that certainly run: those in lists, pipelines, groups, `eval` and `sh -c`. Commands in
 * conditions, loops, functions or after `||` are skipped. A command is returned once for each folder in which it may
 * run, because a `cd` before it may not run (`test -d a && cd a`). Undefined if the line cannot be parsed. Without
 * `home`, words that begin with `~` or `$HOME` are unknown.
 */
export function certainCommands(line: string, home?: string): readonly SimpleCommand[] | undefined {
  // In a line that sets HOME, `~` and `$HOME` may name another folder.
  const known = /\bHOME=/.test(line) ? undefined : home;
  return commandsIn(line, [''], { depth: 0, home: known })?.commands;
}

/**
 * Every simple command of a line, also those that may not run. Redirections of a group or loop are returned as a
 * command without words. Text for `eval` and `sh -c` is not read. Undefined if the line cannot be parsed.
 */
export function allCommands(line: string): readonly Pick<SimpleCommand, 'words' | 'redirects'>[] | undefined {
  if (line.length > MAX_LENGTH) return undefined;
  const script = parse(line);
  if ((script.errors ?? []).length > 0) return undefined;
  const commands: Pick<SimpleCommand, 'words' | 'redirects'>[] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') commands.push({ words: commandWords(node), redirects: node.redirects });
    if (node.type === 'Redirected') commands.push({ words: [], redirects: node.redirects });
    forEachChild(node, visit);
  };
  visit(script);
  return commands;
}

/** The words of a command, without programs such as `env` before it. */
export function commandWords({ name, args }: Command): readonly (string | undefined)[] {
  return withoutPrefixes([name, ...args].flatMap((word) => (word?.type === 'Word' ? [literalOf(word)] : [])));
}

interface Scope {
  /** The number of `sh -c`, `eval` and substitutions (`$(…)`), one inside the other, around the commands. */
  readonly depth: number;
  readonly home: string | undefined;
}

/** The folders in which a command may run. A folder that is not known is undefined. */
type Folders = readonly (string | undefined)[];

/** Maximum number of folders in which a command may run. Further ones are ignored. */
const MAX_FOLDERS = 8;

interface Walked {
  readonly commands: readonly SimpleCommand[];
  /** The folders in which the next command may run. Empty if the shell has ended. */
  readonly folders: Folders;
}

function commandsIn(line: string, folders: Folders, scope: Scope): Walked | undefined {
  if (line.length > MAX_LENGTH || scope.depth > MAX_DEPTH) return undefined;
  const script = parse(line);
  if ((script.errors ?? []).length > 0) return undefined;
  return walkBody(script.commands, folders, scope);
}

type PipelineOrList = PipelineNode | Extract<ReturnType<typeof parse>['commands'][number]['command'], object>;

function walk(node: PipelineOrList, folders: Folders, scope: Scope): Walked {
  switch (node.type) {
    case 'AndOr':
      return walkAndOr(node, folders, scope);
    case 'Pipeline':
      // Each part of a pipeline runs in its own shell, so a `cd` in it does not affect later commands.
      return { commands: node.commands.flatMap((part) => walk(part, folders, scope).commands), folders };
    case 'Subshell':
      return { commands: walkBody(node.body.commands, folders, scope).commands, folders };
    case 'BraceGroup':
      return walkBody(node.body.commands, folders, scope);
    case 'Redirected': {
      const body = walk(node.command, folders, scope);
      const own = { words: [], redirects: node.redirects, home: scope.home };
      return { ...body, commands: [...body.commands, ...folders.map((folder) => ({ ...own, folder }))] };
    }
    case 'Command':
      return walkCommand(node, folders, scope);
    default:
      return { commands: [], folders: mayLeave(node) ? [undefined] : folders };
  }
}

/**
 * Walks a list up to its first `||`. If a command of an `&&` list fails, the rest of the list does
 * not run. So the commands after the list may run in any folder in which the list may have stopped.
 */
function walkAndOr(node: AndOr, start: Folders, scope: Scope): Walked {
  const commands: SimpleCommand[] = [];
  const stops: (string | undefined)[] = [];
  const first = node.operators.indexOf('||');
  let folders = start;
  for (const each of first === -1 ? node.commands : node.commands.slice(0, first + 1)) {
    if (mayFail(each)) stops.push(...folders);
    const walked = walk(each, folders, scope);
    commands.push(...walked.commands);
    folders = walked.folders;
    if (folders.length === 0) break;
  }
  const otherwise = first === -1 ? undefined : node.commands[first + 1];
  // In `A && B || exit`, no later command runs if the `&&` list stops.
  const goesOn = otherwise === undefined || walk(otherwise, start, scope).folders.length > 0;
  return { commands, folders: distinct(goesOn ? [...folders, ...stops] : folders) };
}

function distinct(folders: Folders): Folders {
  return [...new Set(folders)].slice(0, MAX_FOLDERS);
}

/**
 * Commands that are assumed to succeed. `cd` can fail, but a line that begins with `cd` usually
 * names an existing folder.
 */
const SURE = new Set([':', 'cd', 'echo', 'exit', 'export', 'printf', 'set', 'true']);

function mayFail(node: PipelineOrList): boolean {
  if (node.type !== 'Command') return true;
  const [name = '', ...args] = commandWords(node);
  const isSure =
    SURE.has(name) || (name === 'mkdir' && args.some((arg) => /^-\w*p|^--parents$/.test(arg ?? '')));
  return !isSure;
}

function walkBody(statements: readonly Statement[], start: Folders, scope: Scope): Walked {
  const commands: SimpleCommand[] = [];
  let folders = start;
  for (const { command, background } of statements) {
    const walked = walk(command, folders, scope);
    commands.push(...walked.commands);
    // A background command runs in its own shell, so its `cd` or `exit` does not affect later commands.
    if (background === true) continue;
    folders = walked.folders;
    if (folders.length === 0) break;
  }
  return { commands, folders };
}

/** Commands that may change the folder, or after which the rest of the line may not run. */
const LEAVING = new Set(['cd', 'pushd', 'popd', 'eval', 'source', '.', 'exit', 'return', 'exec']);

/**
 * Nodes whose commands run later or in a shell of their own. `Word` covers substitutions, which are parts of words.
 */
const OWN_SHELL: ReadonlySet<string> = new Set(['Function', 'Subshell', 'Word']);

/** True if a condition or loop may change the folder, or may end the shell. */
function mayLeave(node: SyntaxNode): boolean {
  if (OWN_SHELL.has(node.type)) return false;
  if (node.type === 'Command' && node.name !== undefined) {
    const [name] = withoutPrefixes([node.name, ...node.args].map((word) => literalOf(word as Word)));
    if (name === undefined || LEAVING.has(name)) return true;
  }
  let leaves = false;
  forEachChild(node, (child) => {
    leaves ||= mayLeave(child);
  });
  return leaves;
}

function walkCommand(node: Command, folders: Folders, scope: Scope): Walked {
  const given = [node.name, ...node.args].flatMap((word) =>
    word?.type === 'Word' ? [literalOf(word, scope.home)] : [],
  );
  const words = withoutPrefixes(given);
  const own = folders.map((folder) => ({ words, redirects: node.redirects, folder, home: scope.home }));
  const commands = [...substituted(node, folders, scope), ...own];
  const [name] = words;
  if (name === 'pushd' || name === 'popd') return { commands, folders: [undefined] };
  if (name === 'cd')
    return { commands, folders: distinct(folders.map((folder) => entered(folder, words.slice(1)))) };
  const script = scriptOf(words);
  const inner =
    script === undefined ? undefined : commandsIn(script, folders, { ...scope, depth: scope.depth + 1 });
  const all = [...commands, ...(inner?.commands ?? [])];
  // Only `eval` runs its text in this shell, so only its `cd` and `exit` affect later commands.
  if (name === 'eval' && script !== undefined)
    return { commands: all, folders: inner?.folders ?? [undefined] };
  // `exec` with a program ends the shell; without a program, it only redirects.
  const ended = name === 'exit' || (given[0] === 'exec' && words !== given);
  return { commands: all, folders: ended ? [] : folders };
}

/** The commands in `$(…)`, `<(…)` and `>(…)` of a command's words. They run before it, each in a shell of its own. */
function substituted(node: Command, folders: Folders, scope: Scope): readonly SimpleCommand[] {
  if (scope.depth > MAX_DEPTH) return [];
  const targets = node.redirects.map((redirect) =>
    redirect.type === 'Redirect' ? redirect.target : undefined,
  );
  return [node.name, ...node.prefix, ...node.args, ...targets].flatMap((each) => {
    const word = each?.type === 'Assignment' ? each.value : each;
    if (word?.type !== 'Word') return [];
    const parts = (word.parts ?? []).flatMap((part): readonly WordPart[] =>
      part.type === 'DoubleQuoted' ? part.parts : [part],
    );
    return parts.flatMap((part) =>
      part.type === 'CommandExpansion' || part.type === 'ProcessSubstitution'
        ? walkBody(part.script?.commands ?? [], folders, { ...scope, depth: scope.depth + 1 }).commands
        : [],
    );
  });
}

/** The text that `eval` or a shell with `-c` runs; undefined for other commands and for text that the shell expands. */
export function scriptOf([name, ...args]: readonly (string | undefined)[]): string | undefined {
  if (name === undefined) return undefined;
  if (name === 'eval') return args.includes(undefined) ? undefined : args.join(' ');
  return SHELL.test(programOf(name)) ? textOfShell(args) : undefined;
}

function textOfShell(args: readonly (string | undefined)[]): string | undefined {
  const options: string[] = [];
  let at = 0;
  for (let arg = args[at]; arg !== undefined && SHELL_OPTION.test(arg); arg = args[at]) {
    options.push(arg);
    at += TAKES_VALUE.test(arg) ? 2 : 1;
  }
  // A shell with `-n` runs nothing.
  if (!options.some((option) => /^-\w*c/.test(option)) || options.some((option) => /^-\w*n/.test(option)))
    return undefined;
  return args[args[at] === '--' ? at + 1 : at];
}

const SHELL_OPTION = /^(?:[-+][A-Za-z]+|--(?:norc|noprofile|login|posix))$/;
const TAKES_VALUE = /^[-+]\w*[oO]/;

/** The name of a program, without a usual folder such as `/usr/bin`. */
export function programOf(word: string): string {
  return word.replace(/^\/(?:usr\/)?(?:local\/)?s?bin\//, '');
}

function withoutPrefixes(words: readonly (string | undefined)[]): readonly (string | undefined)[] {
  const wrapper = words[0] === undefined ? undefined : WRAPPERS.get(programOf(words[0]));
  if (wrapper === undefined) return words;
  let at = 1;
  for (let word = words[at]; word !== undefined; word = words[at]) {
    if (wrapper.valued?.test(word) === true) at += 2;
    else if (wrapper.flag?.test(word) === true) at += 1;
    else break;
  }
  at += (words[at] === '--' ? 1 : 0) + (wrapper.operands ?? 0);
  while (ASSIGNMENT.test(words[at] ?? '')) at += 1;
  return at >= words.length || words[at]?.startsWith('-') === true ? words : withoutPrefixes(words.slice(at));
}

function entered(folder: string | undefined, args: readonly (string | undefined)[]): string | undefined {
  const end = args.findIndex((arg) => arg === undefined || !/^-[LPe@]+$/.test(arg));
  const options = end === -1 ? args : args.slice(0, end);
  const operands = args.slice(options.length + (args[options.length] === '--' ? 1 : 0));
  const [target] = operands;
  if (target === undefined || operands.length > 1 || target === '' || target.startsWith('-'))
    return undefined;
  const isReal = options.some((option) => option?.includes('P'));
  // `cd -P` enters the folder to which the links in its argument lead. The parent of that folder is
  // unknown. So `..` leads to an unknown folder, both in the argument of `cd -P` and in a later
  // `cd`.
  const climbs = target.split('/').includes('..');
  if ((isReal || `${folder ?? ''}/`.includes(`${REAL}/`)) && climbs) return undefined;
  const path = inFolder(folder, isReal ? `${target}${REAL}` : target);
  return path === undefined || !climbs ? path : withoutClimbs(path);
}

/**
 * Applies each `..` to the text of a path, as `cd` does even behind a link. The kernel, which opens
 * the files of redirections, instead goes to the parent of the folder to which the link leads.
 */
function withoutClimbs(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..' || parts.length === 0 || parts.at(-1) === '..') parts.push(part);
    else parts.pop();
  }
  return `${path.startsWith('/') ? '/' : ''}${parts.join('/')}`;
}

/**
 * Marks the path of a folder that the command entered by `cd -P`, so that a later `cd` with `..` is
 * recognised as unknown. The mark is appended to the path, which still names the same folder.
 */
const REAL = '/./.';

/** A path relative to the start folder of the line; undefined if its base folder is unknown. */
export function inFolder(folder: string | undefined, path: string): string | undefined {
  if (path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path)) return path;
  if (folder === undefined) return undefined;
  return folder === '' ? path : `${folder.replace(/\/+$/, '')}/${path}`;
}

/**
 * The text that a word means to the shell. A `~` or `$HOME` at its beginning is replaced by `home`, a `$PWD` by `.`.
 * Undefined if the shell expands any other part. A glob in brackets, as in `app/[id]/page.tsx`, counts as text: the
 * shell leaves it unchanged unless it matches another file.
 */
export function literalOf(word: Word, home?: string): string | undefined {
  const [, begin = ''] = KNOWN_FOLDER.exec(word.text) ?? [];
  if (begin === '' && word.text.startsWith('~')) return undefined;
  const leaves = (word.parts ?? []).flatMap((part): readonly WordPart[] =>
    part.type === 'DoubleQuoted' ? part.parts : [part],
  );
  const rest = begin.startsWith('$') ? leaves.slice(1) : leaves;
  if (!rest.every(isLiteral)) return undefined;
  if (begin === '') return word.value;
  const folder = begin.includes('PWD') ? '.' : home;
  return folder === undefined ? undefined : `${folder}${word.value.slice(begin.length)}`;
}

/** Matches a tilde or a variable that names a folder, alone or before a slash. */
const KNOWN_FOLDER = /^(?:"?(?=\$)|(?=~))(~|\$(?:HOME|PWD)\b|\$\{(?:HOME|PWD)\})(?=\/|"|$)/;
const LITERAL: ReadonlySet<string> = new Set(['Literal', 'SingleQuoted', 'AnsiCQuoted']);

function isLiteral(part: WordPart): boolean {
  if (part.type === 'Glob') return part.kind === 'bracket' && part.parts.every(isLiteral);
  return LITERAL.has(part.type);
}
