import {
  type AndOr,
  type Assignment,
  type Case,
  type Command,
  type For,
  forEachChild,
  type If,
  type Pipeline,
  parse,
  type Statement,
  type SyntaxNode,
} from 'unbash';
import { writesLike } from './effects.ts';
import { assignmentsOf, breaksOff, isSimple, mayFail, mayLeave, redirectOf, startsProcess } from './nodes.ts';
import { onlyReads } from './reading.ts';
import { type ShellCommand, type ShellFeed, STDIN } from './shell-command.ts';
import { bracesIn, elementOf, isHere, literalOf, textOfValue, type Value, wordValues } from './values.ts';
import {
  entered,
  givenValues,
  programOf,
  runsInput,
  scriptOf,
  type Words,
  withoutPrefixes,
} from './words.ts';

/** A command or pipeline of a shell line that is not inside another one. */
export interface ShellStep {
  readonly text: string;
  /** The position of the text in the line. */
  readonly at: number;
  /**
   * True for a command with a name, or a pipeline of such commands. False for conditions, loops,
   * groups, functions and assignments.
   */
  readonly isSimple: boolean;
}

/** A word or here-document anywhere in a line. Empty if the shell expands it. */
interface ShellText {
  readonly text: string;
  readonly at: number;
}

/** All that a parsed line holds. */
export interface WalkedLine {
  readonly commands: readonly ShellCommand[];
  readonly steps: readonly ShellStep[];
  readonly texts: readonly ShellText[];
  /** True if processes may still run when the line has ended. */
  readonly leavesProcesses: boolean;
}

/** Lines with more characters than this are not parsed. */
const MAX_LENGTH = 100_000;
/** Maximum number of `sh -c` and `eval`, one inside the other, that are followed. */
const MAX_DEPTH = 3;
/** Maximum number of rounds of all loops together that are walked one by one. */
const MAX_ROUNDS = 50;
/** Number of parameters of a function whose values are known. */
const MAX_PARAMETERS = 9;
/** Maximum number of folders in which a command may run. Further ones are ignored. */
const MAX_FOLDERS = 8;

/** Parses a line and walks through it, once. A line that cannot be parsed has only texts. */
export function walkLine(line: string, folder: string, home: string | undefined): WalkedLine {
  if (line.length > MAX_LENGTH) return NO_COMMANDS;
  const script = parse(line);
  // In a line that sets HOME, `~` and `$HOME` may name another folder.
  const isKnown = home !== undefined && !/\bHOME=/.test(line);
  const walk = new Walk(isKnown ? new Map([['HOME', home]]) : new Map());
  walk.body(script.commands, [folder], { certain: true, plain: true, depth: 0, source: line });
  const { commands, texts, leaves } = walk;
  if (!isWhole(script)) return { ...NO_COMMANDS, texts };
  const steps = script.commands
    .flatMap(({ command }) => (command.type === 'AndOr' ? command.commands : [command]))
    .map((node) => ({ text: line.slice(node.pos, node.end), at: node.pos, isSimple: isSimple(node) }));
  return { commands, texts, steps, leavesProcesses: leaves };
}

export const NO_COMMANDS: WalkedLine = { commands: [], steps: [], texts: [], leavesProcesses: false };

function isWhole({ errors = [] }: ReturnType<typeof parse>): boolean {
  return errors.length === 0;
}

/** The folders in which the next command may run. Empty if the shell has ended. */
type Folders = readonly (string | undefined)[];

/** The walk's knowledge about the place of a node. */
interface Around {
  readonly certain: boolean;
  readonly plain: boolean;
  readonly depth: number;
  /** The text to which the positions of nodes belong. */
  readonly source: string;
  readonly fed?: ShellFeed | undefined;
  /** The position in the line of the command around a node; undefined for a node that is in no command. */
  readonly at?: number;
}

/** Commands after which a background process of the same line counts as ended or awaited. */
const ENDING = /^(?:wait|kill|pkill|killall)$/;
/** Matches text with a command that enters another folder. */
const MOVES = /\b(?:cd|pushd|popd)\b/;

/** One pass over the syntax tree of a line. Collects its commands in the order in which they run. */
class Walk {
  readonly commands: ShellCommand[] = [];
  readonly texts: ShellText[] = [];
  leaves = false;
  /** The variables whose values are known at the present place. */
  #variables: ReadonlyMap<string, Value>;
  /** The functions that the line has certainly defined before the present place. */
  readonly #functions = new Map<string, SyntaxNode>();
  #rounds = 0;
  /** The folders that `pushd` left and to which `popd` returns. */
  #left: Folders[] = [];

  constructor(variables: ReadonlyMap<string, Value>) {
    this.#variables = variables;
  }

  /** Walks through statements. Those after the end of the shell are walked as commands that may not run. */
  body(statements: readonly Statement[], start: Folders, around: Around): Folders {
    const outer = this.leaves;
    let left = false;
    let folders = start;
    let last = start;
    for (const { command, background } of statements) {
      const first = this.commands.length;
      this.leaves = false;
      const within = {
        ...around,
        certain: around.certain && folders.length > 0,
        plain: around.plain && background !== true,
      };
      const next =
        background === true
          ? this.#apart(() => this.#node(command, last, within))
          : this.#node(command, last, within);
      const isAwaited = this.commands.slice(first).some(({ words }) => ENDING.test(programOf(words[0])));
      left = (left && !isAwaited) || background === true || this.leaves;
      // A background command runs in its own shell, so its `cd` or `exit` does not affect later commands.
      if (background === true || folders.length === 0) continue;
      folders = next;
      if (folders.length > 0) last = folders;
    }
    this.leaves = outer || left;
    return folders;
  }

  #node(node: SyntaxNode, folders: Folders, around: Around): Folders {
    switch (node.type) {
      case 'Script':
        return this.body(node.commands, folders, { ...around, source: node.source ?? around.source });
      case 'CompoundList':
        return this.body(node.commands, folders, around);
      case 'AndOr':
        return node.commands.some(mayFail)
          ? this.#maybe(() => this.#andOr(node, folders, around))
          : this.#andOr(node, folders, around);
      case 'BraceGroup':
        return this.#node(node.body, folders, around);
      case 'Subshell':
        this.#apart(() => this.#node(node.body, folders, around));
        return folders;
      case 'CommandExpansion':
      case 'ProcessSubstitution':
        this.#apart(() => this.#other(node, folders, around));
        return folders;
      case 'Pipeline':
        this.#pipeline(node, folders, { ...around, plain: false });
        return folders;
      case 'Redirected': {
        const after = this.#node(node.command, folders, around);
        const at = around.at ?? node.pos;
        for (const redirect of node.redirects) this.#node(redirect, folders, { ...around, at });
        this.#add({ words: [], values: [], redirects: node.redirects }, folders, { ...around, at });
        return after;
      }
      case 'Command':
        return this.#command(node, folders, { ...around, at: around.at ?? node.pos });
      case 'For':
        return this.#for(node, folders, around);
      case 'If':
        return this.#if(node, folders, around);
      case 'Case':
        return this.#case(node, folders, around);
      case 'Function':
        this.#apart(() => this.#node(node.body, folders, { ...around, certain: false }));
        if (around.certain) this.#functions.set(node.name.text, node.body);
        else this.#functions.delete(node.name.text);
        return folders;
      default:
        return this.#other(node, folders, around);
    }
  }

  /** Walks through what runs in a shell of its own, whose variables are lost when it ends. */
  #apart<T>(walk: () => T): T {
    const [before, left] = [this.#variables, [...this.#left]];
    const result = walk();
    this.#variables = before;
    this.#left = left;
    return result;
  }

  /** Walks through what may not run. Afterwards, the variables that it may have changed are unknown. */
  #maybe<T>(walk: () => T): T {
    const before = this.#variables;
    const result = walk();
    const after = this.#variables;
    this.#variables = new Map([...before].filter(([name, value]) => after.get(name) === value));
    return result;
  }

  /** Walks through a loop, once for each word if its list is known. */
  #for(node: For, folders: Folders, around: Around): Folders {
    const name = node.name.text;
    const values =
      node.wordlist?.flatMap((word) =>
        wordValues(word, this.#variables).flatMap((value) => bracesIn(value, MAX_ROUNDS)),
      ) ?? [];
    for (const word of node.wordlist ?? []) this.#node(word, folders, around);
    this.#rounds += values.length;
    if (values.length === 0 || values.includes(undefined) || this.#rounds > MAX_ROUNDS) {
      this.#set(name, undefined);
      this.#maybe(() => this.#node(node.body, folders, { ...around, certain: false }));
      return mayLeave(node.body) ? [undefined] : folders;
    }
    const certain = around.certain && !breaksOff(node.body);
    let now = folders;
    for (const value of values) {
      this.#set(name, value);
      const next = this.#node(node.body, now.length > 0 ? now : folders, {
        ...around,
        certain: certain && now.length > 0,
      });
      if (now.length > 0) now = next;
    }
    return now;
  }

  #if(node: If, folders: Folders, around: Around): Folders {
    const maybe = { ...around, certain: false };
    this.#node(node.clause, folders, around);
    const bodies = [
      node.then,
      ...node.elif.map((each) => each.then),
      ...(node.else === undefined ? [] : [node.else]),
    ];
    for (const { clause } of node.elif) this.#maybe(() => this.#node(clause, folders, maybe));
    this.#branches(bodies, folders, { ...around, certain: around.certain && node.else !== undefined });
    return mayLeave(node) ? [undefined] : folders;
  }

  #case(node: Case, folders: Folders, around: Around): Folders {
    this.#node(node.word, folders, around);
    const isTotal = node.items.some(({ pattern }) => pattern.some(({ text }) => text === '*'));
    for (const { pattern } of node.items)
      for (const word of pattern) this.#node(word, folders, { ...around, certain: false });
    const bodies = node.items.map(({ body }) => body);
    this.#branches(bodies, folders, { ...around, certain: around.certain && isTotal });
    return mayLeave(node) ? [undefined] : folders;
  }

  /** Walks through alternatives, of which one runs. A command of one stays certain if all of them write the same files. */
  #branches(bodies: readonly SyntaxNode[], folders: Folders, around: Around): void {
    const parts = bodies.map((body) => {
      const first = this.commands.length;
      this.#maybe(() => this.#node(body, folders, around));
      return { first, commands: this.commands.slice(first) };
    });
    for (const { first, commands } of parts)
      for (const [at, command] of commands.entries()) {
        const isShared = parts.every((part) =>
          part.commands.some((other) => other.certain && writesLike(other, command)),
        );
        this.commands[first + at] = { ...command, certain: command.certain && isShared };
      }
  }

  #set(name: string, value: Value): void {
    this.#variables = new Map([...this.#variables, [name, value]]);
  }

  /** Sets the parameters, or an array. Its length is unknown if an element may be several words. */
  #setList(list: string, values: readonly Value[]): void {
    for (const [at, value] of values.entries()) this.#set(elementOf(list, at), value);
    this.#set(list, values.every((value) => typeof value === 'string') ? `${values.length}` : undefined);
  }

  /** Each part of a pipeline runs in its own shell, so a `cd` in it does not affect later commands. */
  #pipeline({ pos, commands }: Pipeline, folders: Folders, around: Around): void {
    const first = this.commands.length;
    let end = pos;
    for (const part of commands) {
      const text = around.source.slice(pos, end);
      const fed = text === '' ? undefined : { text, commands: this.commands.slice(first) };
      this.#apart(() => this.#node(part, folders, { ...around, fed }));
      end = part.end;
    }
  }

  #other(node: SyntaxNode, folders: Folders, around: Around): Folders {
    const at = around.at ?? node.pos;
    if (node.type === 'Word') this.texts.push({ text: literalOf(node, this.#variables) ?? '', at });
    if (node.type === 'HereDocBody') this.texts.push({ text: node.text, at });
    // Commands in conditions, loops and functions may not run.
    const within = PARTS_OF_WORDS.has(node.type) ? around : { ...around, certain: false };
    this.#maybe(() => forEachChild(node, (child) => void this.#node(child, folders, within)));
    return mayLeave(node) ? [undefined] : folders;
  }

  /**
   * Walks through a list. Commands after its first `||` may not run. If a command of an `&&` list
   * fails, the rest of the list does not run. So the commands after the list may run in any folder
   * in which the list may have stopped.
   */
  #andOr({ commands, operators }: AndOr, start: Folders, around: Around): Folders {
    const first = operators.indexOf('||');
    const sure = first === -1 ? commands : commands.slice(0, first + 1);
    const stops: (string | undefined)[] = [];
    let folders = start;
    const doubtful = sure.findIndex((_each, at) => sure.slice(0, at).some(mayFail));
    let begun = Number.POSITIVE_INFINITY;
    for (const [at, each] of sure.entries()) {
      const within = { ...around, plain: false, certain: around.certain && folders.length > 0 };
      if (at === doubtful) begun = this.commands.length;
      if (folders.length > 0 && mayFail(each)) stops.push(...folders);
      const next = this.#node(each, folders.length > 0 ? folders : start, within);
      if (folders.length > 0) folders = next;
    }
    const ended = this.commands.length;
    const maybe = { ...around, plain: false, certain: false };
    const [otherwise] = commands.slice(sure.length).map((each) => this.#node(each, start, maybe));
    this.#doubt(begun, ended);
    // In `A && B || exit`, no later command runs if the `&&` list stops.
    return distinct(otherwise?.length === 0 ? folders : [...folders, ...stops]);
  }

  /**
   * Judges B in `A && B || C`, where A can fail: B is certain only if C changes no file, or the same
   * files. `begun`, `ended`: the commands of B. Those of C follow.
   */
  #doubt(begun: number, ended: number): void {
    const others = this.commands.slice(ended).filter((other) => !changesNothing(other));
    if (others.length === 0) return;
    for (const [at, command] of this.commands.entries())
      if (at >= begun && at < ended && !others.some((other) => writesLike(other, command)))
        this.commands[at] = { ...command, certain: false };
  }

  #command(node: Command, folders: Folders, around: Around): Folders {
    const { fed, ...within } = around;
    // The shell runs the substitutions in the words before the command, each in a shell of its own.
    forEachChild(node, (part) => void this.#node(part, folders, { ...within, plain: false }));
    const values = givenValues(node, this.#variables);
    const given = values.map(textOfValue);
    const words = withoutPrefixes(given);
    const plain = around.plain && words === given && node.prefix.length === 0;
    const own = values.slice(given.length - words.length);
    this.#add({ words, values: own, redirects: node.redirects, fed }, folders, { ...within, plain });
    this.#assign(node, around.source);
    if (isParameters(words)) this.#setList('@', own.slice(2));
    const [name, ...args] = words;
    const body = words === given ? this.#functions.get(name ?? '') : undefined;
    if (body !== undefined) return this.#call(body, own, folders, within);
    if (name === 'cd' || name === 'pushd' || name === 'popd')
      return this.#moved({ name, args }, folders, around);
    const script = this.#scriptOf(node, words, fed);
    const inner = script === undefined ? undefined : this.#script(script, folders, within);
    this.leaves ||= script === undefined && startsProcess(words);
    // Only `eval` runs its text in this shell, so only its `cd` and `exit` affect later commands.
    if (name === 'eval' && script !== undefined) return inner ?? [undefined];
    // `exec` with a program ends the shell; without a program, it only redirects.
    return name === 'exit' || (given[0] === 'exec' && words !== given) ? [] : folders;
  }

  /** The text that a command runs as a script, if the line shows it. */
  #scriptOf(node: Command, words: Words, fed: ShellFeed | undefined): string | undefined {
    return runsInput(words) ? inputOf(node, this.#variables, fed) : scriptOf(words);
  }

  /** The folders after `cd`, `pushd` or `popd`. */
  #moved(
    { name, args }: { readonly name: 'cd' | 'pushd' | 'popd'; readonly args: Words },
    folders: Folders,
    { certain }: Around,
  ): Folders {
    if (name === 'popd') return (certain ? this.#left.pop() : undefined) ?? [undefined];
    if (name === 'pushd') this.#left.push(certain ? folders : [undefined]);
    // `pushd +1` enters a folder that an earlier line may have left.
    if (name === 'pushd' && args[0]?.startsWith('+') === true) return [undefined];
    const target = name === 'cd' && args.length === 0 ? [textOfValue(this.#variables.get('HOME'))] : args;
    return distinct(folders.map((folder) => entered(folder, target)));
  }

  #assign(node: Command, source: string): void {
    const rest = source.slice(node.end);
    const assignments = assignmentsOf(node);
    if (assignments === 'all') this.#variables = new Map([['HOME', this.#variables.get('HOME')]]);
    else for (const each of assignments) if (each.type === 'Assignment') this.#assignOne(each, rest);
  }

  /** `rest`: the line after the assignment. */
  #assignOne({ name, value, append, index }: Assignment, rest: string): void {
    const isArray = value.type === 'ArrayValue';
    const words = isArray ? value.elements : [value];
    // A value that begins with `$PWD` names another path in another folder.
    const isMoved = MOVES.test(rest) && words.some(isHere);
    const isKnown = append !== true && index === undefined && !isMoved;
    const values = isKnown ? words.flatMap((word) => wordValues(word, this.#variables)) : [undefined];
    this.#set(name, isArray || values.length !== 1 ? undefined : values[0]);
    this.#setList(`${name}[@]`, isArray ? values : [undefined]);
  }

  /** Walks through the body of a function that is called. Its own variables end with it. */
  #call(body: SyntaxNode, [, ...args]: readonly Value[], folders: Folders, around: Around): Folders {
    const depth = around.depth + 1;
    const isKnown = depth <= MAX_DEPTH && !breaksOff(body);
    this.#maybe(() => {
      for (let at = args.length; at < MAX_PARAMETERS; at += 1) this.#set(`${at + 1}`, undefined);
      this.#setList('@', args);
      if (depth <= MAX_DEPTH)
        this.#node(body, folders, { ...around, depth, certain: around.certain && isKnown });
    });
    return mayLeave(body) ? [undefined] : folders;
  }

  #script(text: string, folders: Folders, around: Around): Folders | undefined {
    const depth = around.depth + 1;
    if (depth > MAX_DEPTH || text.length > MAX_LENGTH) return undefined;
    const script = parse(text);
    const walk = (): Folders => this.#node(script, folders, { ...around, depth, source: text });
    return isWhole(script) ? this.#maybe(walk) : undefined;
  }

  #add(
    { redirects, ...own }: Pick<ShellCommand, 'words' | 'values' | 'fed'> & Pick<Command, 'redirects'>,
    folders: Folders,
    { certain, plain, at = 0 }: Around,
  ): void {
    const opened = redirects.map((redirect) => redirectOf(redirect, this.#variables));
    for (const folder of folders)
      this.commands.push({ ...own, redirects: opened, folder, certain, plain, at });
  }
}

/** True for `set --`, which sets the parameters. */
function isParameters([name, option]: Words): boolean {
  return name === 'set' && option === '--';
}

/** The text that a shell reads from a here-document, a here-string or `echo`, if the line shows it. */
function inputOf(
  { redirects }: Pick<Command, 'redirects'>,
  variables: ReadonlyMap<string, Value>,
  fed: ShellFeed | undefined,
): string | undefined {
  const [input, second] = redirects
    .map((redirect) => redirectOf(redirect, variables))
    .filter(({ descriptor }) => descriptor === STDIN);
  if (second !== undefined) return undefined;
  if (input !== undefined) return input.operator === '<<<' ? input.target : input.text;
  const [echo, other] = fed?.commands ?? [];
  const [name, ...words] = echo?.words ?? [];
  const isPlain = other === undefined && echo?.redirects.length === 0 && name === 'echo';
  if (!isPlain || words.includes(undefined) || words[0]?.startsWith('-') === true) return undefined;
  return words.join(' ');
}

/** True for a command that changes no file, or that only ends the line or a part of it. */
function changesNothing(command: ShellCommand): boolean {
  return /^(?:break|continue|exit|return)$/.test(command.words[0] ?? '') || onlyReads(command, 'may write');
}

/** Nodes in words and redirections. Substitutions in them run before the command. */
const PARTS_OF_WORDS: ReadonlySet<string> = new Set([
  ...['Word', 'DoubleQuoted', 'Assignment', 'Redirect', 'HereString', 'HereDoc', 'HereDocBody'],
  ...['CommandExpansion', 'ProcessSubstitution'],
]);

function distinct(folders: Folders): Folders {
  return [...new Set(folders)].slice(0, MAX_FOLDERS);
}
