import {
  type AndOr,
  type Command,
  forEachChild,
  type Pipeline,
  type PipelineNode,
  parse,
  type Redirection,
  type Statement,
  type SyntaxNode,
} from 'unbash';
import { literalOf, textOfValue, type Value, type Variables } from './values.ts';
import { entered, givenValues, programOf, scriptOf, type Words, withoutPrefixes, wordsOf } from './words.ts';

/** A simple command of a shell line, and a folder in which it may run. */
export interface ShellCommand {
  /** The words, without programs such as `env` before the command. Empty for the redirections of a group or loop. */
  readonly words: Words;
  /** The same words, with globs. */
  readonly values: readonly Value[];
  /** The part of the pipeline whose output the command reads. */
  readonly fed?: ShellFeed | undefined;
  readonly redirects: readonly ShellRedirect[];
  /**
   * The folder in which the command runs, relative to the folder where relative paths of the line
   * start. Undefined means unknown.
   */
  readonly folder: string | undefined;
  /** True if the command runs whatever other commands of the line do, as long as those of its `&&` list succeed. */
  readonly certain: boolean;
  /**
   * True if the command stands alone: it is in no list, pipeline or substitution, it runs in the
   * foreground, and neither an assignment nor a program such as `env` is before it.
   */
  readonly plain: boolean;
  /** The position in the line of the command or of the command around it. */
  readonly at: number;
}

/** The commands of a pipeline before one of them, and their text. */
export interface ShellFeed {
  readonly text: string;
  readonly commands: readonly ShellCommand[];
}

/** A redirection of a command. */
export interface ShellRedirect {
  readonly operator: string;
  /** The descriptor that it sets; undefined if the shell chooses the number (`{fd}>`). */
  readonly descriptor: number | undefined;
  /** The file or descriptor that it names; undefined if the shell expands it, and for a here-document. */
  readonly target?: string | undefined;
  /** The text of a here-document; undefined if the shell expands it. */
  readonly text?: string | undefined;
  /** True for a here-document without its closing line. */
  readonly open?: true;
}

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
export interface ShellText {
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

/** The descriptors of the standard input and output. */
export const STDIN = 0;
export const STDOUT = 1;

/** Lines with more characters than this are not parsed. */
const MAX_LENGTH = 100_000;
/** Maximum number of `sh -c` and `eval`, one inside the other, that are followed. */
const MAX_DEPTH = 3;
/** Maximum number of folders in which a command may run. Further ones are ignored. */
const MAX_FOLDERS = 8;

/** Parses a line and walks through it, once. A line that cannot be parsed has only texts. */
export function walkLine(line: string, folder: string, home: string | undefined): WalkedLine {
  if (line.length > MAX_LENGTH) return NOTHING;
  const script = parse(line);
  // In a line that sets HOME, `~` and `$HOME` may name another folder.
  const isKnown = home !== undefined && !/\bHOME=/.test(line);
  const walk = new Walk(isKnown ? new Map([['HOME', home]]) : new Map());
  walk.body(script.commands, [folder], { certain: true, plain: true, depth: 0, source: line });
  const { commands, texts, leaves } = walk;
  if (!isWhole(script)) return { ...NOTHING, texts };
  const steps = script.commands
    .flatMap(({ command }) => (command.type === 'AndOr' ? command.commands : [command]))
    .map((node) => ({ text: line.slice(node.pos, node.end), at: node.pos, isSimple: isSimple(node) }));
  return { commands, texts, steps, leavesProcesses: leaves };
}

const NOTHING: WalkedLine = { commands: [], steps: [], texts: [], leavesProcesses: false };

function isWhole({ errors = [] }: ReturnType<typeof parse>): boolean {
  return errors.length === 0;
}

function isSimple(node: PipelineNode): boolean {
  if (node.type === 'Pipeline') return node.commands.every(isSimple);
  if (node.type !== 'Command' || node.name === undefined) return false;
  return node.prefix.every(({ type }) => type !== 'Assignment');
}

/** The folders in which the next command may run. Empty if the shell has ended. */
type Folders = readonly (string | undefined)[];

/** What the walk knows about the place of a node. */
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
/** Programs that start a process which outlives them. */
const STARTERS = /^(?:daemonize|start-stop-daemon|tmux|screen|pm2)$/;
const DETACHING = /^--(?:daemon|daemonize|detach|fork)$/;
const SETSID_FORKS = '-f';

/** One pass over the syntax tree of a line. Collects its commands in the order in which they run. */
class Walk {
  readonly commands: ShellCommand[] = [];
  readonly texts: ShellText[] = [];
  leaves = false;
  readonly #variables: Variables;

  constructor(variables: Variables) {
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
      const next = this.#node(command, last, within);
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
        return this.#andOr(node, folders, around);
      case 'BraceGroup':
        return this.#node(node.body, folders, around);
      case 'Subshell':
        this.#node(node.body, folders, around);
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
      default:
        return this.#other(node, folders, around);
    }
  }

  /** Each part of a pipeline runs in its own shell, so a `cd` in it does not affect later commands. */
  #pipeline({ pos, commands }: Pipeline, folders: Folders, around: Around): void {
    const first = this.commands.length;
    let end = pos;
    for (const part of commands) {
      const text = around.source.slice(pos, end);
      const fed = text === '' ? undefined : { text, commands: this.commands.slice(first) };
      this.#node(part, folders, { ...around, fed });
      end = part.end;
    }
  }

  #other(node: SyntaxNode, folders: Folders, around: Around): Folders {
    const at = around.at ?? node.pos;
    if (node.type === 'Word') this.texts.push({ text: literalOf(node, this.#variables) ?? '', at });
    if (node.type === 'HereDocBody') this.texts.push({ text: node.text, at });
    // Commands in conditions, loops and functions may not run.
    const within = PARTS_OF_WORDS.has(node.type) ? around : { ...around, certain: false };
    forEachChild(node, (child) => void this.#node(child, folders, within));
    return mayLeave(node) ? [undefined] : folders;
  }

  /**
   * Walks through a list. What follows its first `||` may not run. If a command of an `&&` list
   * fails, the rest of the list does not run. So the commands after the list may run in any folder
   * in which the list may have stopped.
   */
  #andOr({ commands, operators }: AndOr, start: Folders, around: Around): Folders {
    const first = operators.indexOf('||');
    const sure = first === -1 ? commands : commands.slice(0, first + 1);
    const stops: (string | undefined)[] = [];
    let folders = start;
    for (const each of sure) {
      const within = { ...around, plain: false, certain: around.certain && folders.length > 0 };
      if (folders.length > 0 && mayFail(each)) stops.push(...folders);
      const next = this.#node(each, folders.length > 0 ? folders : start, within);
      if (folders.length > 0) folders = next;
    }
    const maybe = { ...around, plain: false, certain: false };
    const [otherwise] = commands.slice(sure.length).map((each) => this.#node(each, start, maybe));
    // In `A && B || exit`, no later command runs if the `&&` list stops.
    return distinct(otherwise?.length === 0 ? folders : [...folders, ...stops]);
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
    const [name, ...args] = words;
    if (name === 'pushd' || name === 'popd') return [undefined];
    if (name === 'cd') return distinct(folders.map((folder) => entered(folder, args)));
    const script = scriptOf(words);
    const inner = script === undefined ? undefined : this.#script(script, folders, within);
    this.leaves ||= script === undefined && startsProcess(words);
    // Only `eval` runs its text in this shell, so only its `cd` and `exit` affect later commands.
    if (name === 'eval' && script !== undefined) return inner ?? [undefined];
    // `exec` with a program ends the shell; without a program, it only redirects.
    return name === 'exit' || (given[0] === 'exec' && words !== given) ? [] : folders;
  }

  #script(text: string, folders: Folders, around: Around): Folders | undefined {
    const depth = around.depth + 1;
    if (depth > MAX_DEPTH || text.length > MAX_LENGTH) return undefined;
    const script = parse(text);
    return isWhole(script) ? this.#node(script, folders, { ...around, depth, source: text }) : undefined;
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

/** Nodes in words and redirections. Substitutions in them run before the command. */
const PARTS_OF_WORDS: ReadonlySet<string> = new Set([
  ...['Word', 'DoubleQuoted', 'Assignment', 'Redirect', 'HereString', 'HereDoc', 'HereDocBody'],
  ...['CommandExpansion', 'ProcessSubstitution'],
]);

function redirectOf(redirect: Redirection, variables: Variables): ShellRedirect {
  const { operator } = redirect;
  const descriptor = descriptorOf(redirect);
  if (redirect.type !== 'HereDoc')
    return { operator, descriptor, target: redirect.target && literalOf(redirect.target, variables) };
  const { body, delimiter, closing } = redirect;
  const isExpanded = delimiter?.quoted !== true && /[$`\\]/.test(body.text);
  const text = operator === '<<-' ? body.text.replace(/^\t+/gm, '') : body.text;
  // Shells differ about the final newline of a here-document that is not closed.
  return { operator, descriptor, text: isExpanded ? undefined : text, ...(closing ? {} : { open: true }) };
}

function descriptorOf({ descriptor, operator }: Redirection): number | undefined {
  if (descriptor === undefined) return operator.startsWith('<') ? STDIN : STDOUT;
  return descriptor.type === 'FileDescriptor' ? descriptor.value : undefined;
}

function startsProcess([name, ...args]: Words): boolean {
  const program = programOf(name);
  if (STARTERS.test(program) || (program === 'setsid' && args.includes(SETSID_FORKS))) return true;
  return args.some((arg) => DETACHING.test(arg ?? ''));
}

function distinct(folders: Folders): Folders {
  return [...new Set(folders)].slice(0, MAX_FOLDERS);
}

/**
 * Commands that are assumed to succeed. `cd` can fail, but a line that begins with `cd` usually
 * names an existing folder.
 */
const SURE = new Set([':', 'cd', 'echo', 'exit', 'export', 'printf', 'set', 'true']);

function mayFail(node: PipelineNode): boolean {
  if (node.type !== 'Command') return true;
  const [name = '', ...args] = wordsOf(node);
  const isSure =
    SURE.has(name) || (name === 'mkdir' && args.some((arg) => /^-\w*p|^--parents$/.test(arg ?? '')));
  return !isSure;
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
    const [name] = wordsOf(node);
    if (name === undefined || LEAVING.has(name)) return true;
  }
  let leaves = false;
  forEachChild(node, (child) => {
    leaves ||= mayLeave(child);
  });
  return leaves;
}
