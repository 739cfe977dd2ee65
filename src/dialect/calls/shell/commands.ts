import {
  type Command,
  type CommandNode,
  forEachChild,
  type PipelineNode,
  parse,
  type Redirection,
  type SyntaxNode,
  type Word,
} from 'unbash';

/** A simple command of a shell line that certainly runs if all earlier commands succeed. */
export interface SimpleCommand {
  /** Undefined for a word that the shell expands: a variable, a glob, a substitution. */
  readonly words: readonly (string | undefined)[];
  readonly redirects: readonly Redirection[];
  /**
   * The folder of the command, relative to the start folder of the line, after each earlier `cd`. `''` is the start
   * folder; undefined means unknown.
   */
  readonly folder: string | undefined;
  /** The folder that `~` and `$HOME` name, if it is known. */
  readonly home: string | undefined;
}

/** Longer lines are not parsed. */
const MAX_LENGTH = 100_000;
const MAX_DEPTH = 3;
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh$/;
const PREFIXES = new Set(['command', 'exec', 'nohup', 'sudo', 'time', 'builtin']);

/**
 * The simple commands of a line that certainly run: those in lists, pipelines, groups and `sh -c`. Commands in
 * conditions, loops, functions or after `||` are skipped. Undefined if the line cannot be parsed. `home`: the folder
 * that `~` and `$HOME` name; without it, words that begin with them are unknown.
 */
export function certainCommands(line: string, home?: string): readonly SimpleCommand[] | undefined {
  // A line that sets the variable may mean another folder.
  const known = /\bHOME=/.test(line) ? undefined : home;
  return commandsIn(line, '', { depth: 0, home: known })?.commands;
}

interface Scope {
  /** The number of `sh -c` around the line. */
  readonly depth: number;
  readonly home: string | undefined;
}

interface Walked {
  readonly commands: readonly SimpleCommand[];
  /** The folder of the next command. */
  readonly folder: string | undefined;
}

function commandsIn(line: string, folder: string | undefined, scope: Scope): Walked | undefined {
  if (line.length > MAX_LENGTH || scope.depth > MAX_DEPTH) return undefined;
  const script = parse(line);
  if ((script.errors ?? []).length > 0) return undefined;
  const nodes = script.commands.map(({ command }) => command);
  return walkList(nodes, folder, scope);
}

function walkList(nodes: readonly PipelineOrList[], start: string | undefined, scope: Scope): Walked {
  const commands: SimpleCommand[] = [];
  let folder = start;
  for (const node of nodes) {
    const walked = walk(node, folder, scope);
    commands.push(...walked.commands);
    folder = walked.folder;
  }
  return { commands, folder };
}

type PipelineOrList = PipelineNode | Extract<ReturnType<typeof parse>['commands'][number]['command'], object>;

function walk(node: PipelineOrList, folder: string | undefined, scope: Scope): Walked {
  switch (node.type) {
    case 'AndOr': {
      const first = node.operators.indexOf('||');
      return walkList(first === -1 ? node.commands : node.commands.slice(0, first + 1), folder, scope);
    }
    case 'Pipeline':
      // Each part of a pipeline runs in its own shell, so a `cd` in it does not affect later commands.
      return { commands: node.commands.flatMap((part) => walk(part, folder, scope).commands), folder };
    case 'Subshell':
      return { commands: walkBody(node.body.commands, folder, scope).commands, folder };
    case 'BraceGroup':
      return walkBody(node.body.commands, folder, scope);
    case 'Redirected': {
      const body = walk(node.command, folder, scope);
      const own = { words: [], redirects: node.redirects, folder, home: scope.home };
      return { commands: [...body.commands, own], folder: body.folder };
    }
    case 'Command':
      return walkCommand(node, folder, scope);
    default:
      return { commands: [], folder: mayChangeFolder(node) ? undefined : folder };
  }
}

function walkBody(
  statements: readonly { readonly command: PipelineOrList }[],
  folder: string | undefined,
  scope: Scope,
): Walked {
  return walkList(
    statements.map(({ command }) => command),
    folder,
    scope,
  );
}

/** True if a condition or loop may contain a `cd`. */
function mayChangeFolder(node: CommandNode | { readonly type: string }): boolean {
  return !['TestCommand', 'ArithmeticCommand', 'Function'].includes(node.type);
}

function walkCommand(node: Command, folder: string | undefined, scope: Scope): Walked {
  const given = [node.name, ...node.args].flatMap((word) =>
    word?.type === 'Word' ? [literalOf(word, scope.home)] : [],
  );
  const words = withoutPrefixes(given);
  const command = { words, redirects: node.redirects, folder, home: scope.home };
  const [name, first, second] = words;
  if (name === 'cd' || name === 'pushd' || name === 'popd')
    return { commands: [command], folder: name === 'cd' ? entered(folder, words.slice(1)) : undefined };
  const isScript = name !== undefined && SHELL.test(name) && first !== undefined && /^-l?i?c$/.test(first);
  const script =
    isScript && second !== undefined
      ? commandsIn(second, folder, { ...scope, depth: scope.depth + 1 })
      : undefined;
  return { commands: [command, ...(script?.commands ?? [])], folder };
}

function withoutPrefixes(words: readonly (string | undefined)[]): readonly (string | undefined)[] {
  const [name, ...rest] = words;
  if (name === 'env') {
    const at = rest.findIndex((word) => word === undefined || !/^\w+=/.test(word));
    return at === -1 ? words : withoutPrefixes(rest.slice(at));
  }
  const next = rest[0];
  const isPrefix = name !== undefined && PREFIXES.has(name) && next !== undefined && !next.startsWith('-');
  return isPrefix ? withoutPrefixes(rest) : words;
}

function entered(folder: string | undefined, args: readonly (string | undefined)[]): string | undefined {
  const operands = args[0] === '--' ? args.slice(1) : args;
  const [target] = operands;
  if (target === undefined || operands.length > 1 || target === '' || target.startsWith('-'))
    return undefined;
  return inFolder(folder, target);
}

/** A path relative to the start folder of the line; undefined if its base folder is unknown. */
export function inFolder(folder: string | undefined, path: string): string | undefined {
  if (path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path)) return path;
  if (folder === undefined) return undefined;
  return folder === '' ? path : `${folder.replace(/\/+$/, '')}/${path}`;
}

/**
 * The text of a word that the shell does not expand, or expands to a known folder at its beginning: `~` and `$HOME` to
 * `home`, `$PWD` to the folder of the command. Undefined if it expands any other part.
 */
export function literalOf(word: Word, home?: string): string | undefined {
  const [, begin = ''] = KNOWN_FOLDER.exec(word.text) ?? [];
  if (begin === '' && word.text.startsWith('~')) return undefined;
  const leaves = (word.parts ?? []).flatMap((part): readonly { readonly type: string }[] =>
    part.type === 'DoubleQuoted' ? part.parts : [part],
  );
  const rest = begin.startsWith('$') ? leaves.slice(1) : leaves;
  if (!rest.every(({ type }) => LITERAL.has(type))) return undefined;
  if (begin === '') return word.value;
  const folder = begin.includes('PWD') ? '.' : home;
  return folder === undefined ? undefined : `${folder}${word.value.slice(begin.length)}`;
}

/** Matches a tilde or a variable that names a folder, alone or before a slash. */
const KNOWN_FOLDER = /^(?:"?(?=\$)|(?=~))(~|\$(?:HOME|PWD)\b|\$\{(?:HOME|PWD)\})(?=\/|"|$)/;
const LITERAL: ReadonlySet<string> = new Set(['Literal', 'SingleQuoted', 'AnsiCQuoted']);

/** Maximum number of names per command; further ones are ignored. */
const MAX_NAMES = 200;
/** Matches possible paths in a script or quoted text: with a slash or an extension. */
const PATH_LIKE = /[\w@+~.-]*(?:\/[\w@+.-]+)+|[\w@+-]+\.[A-Za-z0-9]{1,8}\b/g;

/**
 * Every path that a command may name, relative to its start folder: words, values of options, targets of
 * redirections, and text that looks like a path in quoted scripts and here-documents. The list is generous, for
 * callers that compare the output with the files; most names belong to no file. Globs and words with variables are
 * skipped.
 */
export function namesOf(command: string, home?: string): readonly string[] {
  const names = new Set<string>();
  const add = (folder: string | undefined, text: string): void => {
    const path = text === '' || text.length > 1000 ? undefined : inFolder(folder, text);
    if (path !== undefined && names.size < MAX_NAMES) names.add(path);
  };
  if (command.length > MAX_LENGTH) return [];
  for (const { words, folder } of certainCommands(command, home) ?? [])
    for (const word of words) for (const text of candidates(word ?? '')) add(folder, text);
  for (const text of textsIn(command, home)) for (const candidate of candidates(text)) add('', candidate);
  return [...names];
}

/** All words and here-documents of a command. */
function textsIn(command: string, home: string | undefined): readonly string[] {
  const texts: string[] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Word') texts.push(literalOf(node, home) ?? '');
    if (node.type === 'HereDocBody') texts.push(node.text);
    forEachChild(node, visit);
  };
  visit(parse(command));
  return texts;
}

/** The word itself, the value in `--file=PATH`, and text that looks like a path in a longer text. */
function candidates(word: string): readonly string[] {
  if (/[\s'"()]/.test(word)) return word.match(PATH_LIKE) ?? [];
  if (word.startsWith('-')) return word.includes('=') ? [word.slice(word.indexOf('=') + 1)] : [];
  const assigned = /^[\w-]+=(.+)$/.exec(word)?.[1];
  return assigned === undefined ? [word] : [word, assigned];
}
