import { writesOf } from './effects.ts';
import type { ShellCommand, ShellRedirect } from './shell-command.ts';
import type { ShellStep, WalkedLine } from './walk.ts';
import type { Words } from './words.ts';

/** Programs that change no files, unless they get an option in `WRITING_OPTIONS`. */
const READERS = new Set(
  'cat head tail less more ls ll stat file wc du grep egrep rg ag find jq diff cmp md5sum sha256sum echo printf cd pwd true false test [ read tree cut nl tr'.split(
    ' ',
  ),
);
const READING_GIT = new Set(['add', 'blame', 'commit', 'diff', 'log', 'ls-files', 'show', 'status']);
/**
 * By program: the options with which a program of `READERS`, or git, writes a file or runs a
 * program. Most programs accept a long option in abbreviated form.
 */
const WRITING_OPTIONS: Readonly<Record<string, RegExp>> = {
  ag: /^--pag/,
  find: /^-(?:delete|exec|ok|fprint|fls)/,
  git: /^--out/,
  less: /^-[^-]*o|^--log/i,
  rg: /^--(?:pre|hostname-bin)(?:=|$)/,
  tree: /^-[^-]*o/,
};

/** By program: a test that a call with these arguments, all of them known, changes no file. */
const READS_WITH: Readonly<Record<string, (args: readonly string[]) => boolean>> = {
  git: readsByGit,
  sed: printsBySed,
  sort: (args) => !args.some((arg) => /^-[^-]*o|^--(?:o|co)/.test(arg)),
};

function onlyReads(command: ShellCommand): boolean {
  const { words, redirects } = command;
  const name = nameOf(words);
  const options = Object.hasOwn(WRITING_OPTIONS, name) ? WRITING_OPTIONS[name] : undefined;
  if (words.some((word) => options?.test(word ?? '')) || !redirects.every(isHarmless)) return false;
  if (writesOf(command).length > 0) return false;
  return words.length === 0 || READERS.has(name) || readsWith(name, words.slice(1));
}

/**
 * True if a command only prints something, so that it can be run to learn what it prints. Unlike
 * `onlyReads`, false for commands of git that write into the repository.
 */
export function onlyPrints(command: ShellCommand): boolean {
  const [name, verb] = command.words;
  // A program with a path may be any program.
  if (name === undefined || name.includes('/')) return false;
  if (name === 'git' && !PRINTING_GIT.has(verb ?? '')) return false;
  return command.values.every((value) => value !== undefined) && onlyReads(command);
}

const PRINTING_GIT = new Set(['ls-files', 'status']);

function nameOf([program = '']: Words): string {
  return program.split('/').at(-1) ?? '';
}

function readsWith(name: string, args: Words): boolean {
  // The arguments of `git commit` often contain `$(…)`. The commands in it are checked separately.
  if (name === 'git' && READING_GIT.has(args[0] ?? '')) return true;
  const reads = Object.hasOwn(READS_WITH, name) ? READS_WITH[name] : undefined;
  // A glob in brackets may match a file whose name is an option.
  const known = args.flatMap((arg) => (arg === undefined || arg.includes('[') ? [] : [arg]));
  return known.length === args.length && reads?.(known) === true;
}

function readsByGit(args: readonly string[]): boolean {
  let at = 0;
  for (let arg = args[at]; arg === '-C' || arg === '--no-pager'; arg = args[at]) at += arg === '-C' ? 2 : 1;
  return READING_GIT.has(args[at] ?? '');
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
function isHarmless({ operator, target = '', open }: ShellRedirect): boolean {
  // Commands in the text of a here-document are checked separately. A here-document that is not
  // closed may be only the beginning of one.
  if (operator.startsWith('<<')) return operator !== '<<<' && open !== true;
  return operator === '<' || target === '/dev/null' || (operator === '>&' && /^\d+$/.test(target));
}

/** Programs that are no shell builtins, so that later commands of the line mean the same after them. */
const EXTERNAL = new Set(
  'biome bun bunx cargo cmake deno docker dotnet eslint gh git go gradle jest make mkdir mvn mypy node npm npx pip pip3 pnpm poetry prettier pytest python python3 rm ruby ruff rustc sleep touch tsc tsx uv uvx vitest yarn'.split(
    ' ',
  ),
);

/**
 * The part of a line that may change files: the line without the steps that only read, because what
 * those name is not changed. Undefined for the whole line: a step could get a name from another one.
 */
export function changingPart(
  line: string,
  walked: WalkedLine,
): { text: string; walked: WalkedLine } | undefined {
  const { steps, commands, texts } = walked;
  const isReading = commands.length > 0 && commands.every(onlyReads);
  const effects = steps.map((step, at) =>
    isReading ? 'none' : effectOf(step, commands.filter(within(step, steps[at + 1]))),
  );
  const unknown = effects.indexOf('unknown');
  const known = unknown === -1 ? steps : steps.slice(0, unknown);
  const kept = known.filter((_step, at) => effects[at] !== 'none');
  const rest = steps[unknown];
  const text = [...kept.map((step) => step.text), ...(rest === undefined ? [] : [line.slice(rest.at)])].join(
    '\n',
  );
  // A variable can hold a name from another step (`ls FILE; rm $_`), and a glob can match that name.
  if (!isReading && (text === '' || /[$`*?[{]/.test(text))) return undefined;
  const parts = kept.map((step) => within(step, steps[steps.indexOf(step) + 1]));
  const isKept = (each: { readonly at: number }): boolean =>
    parts.some((part) => part(each)) || (rest !== undefined && each.at >= rest.at);
  return {
    text,
    walked: { ...walked, steps: [], commands: commands.filter(isKept), texts: texts.filter(isKept) },
  };
}

/** Tests whether a command or word belongs to a step. */
function within(step: ShellStep, next: ShellStep | undefined): (each: { readonly at: number }) => boolean {
  const end = next?.at ?? Number.POSITIVE_INFINITY;
  return ({ at }) => at >= step.at && at < end;
}

/**
 * The effect of a step on the steps after it. `none`: it only reads. `own`: it may change files,
 * or the folder in which later steps run. `unknown`: it may also change what later commands mean.
 */
function effectOf(
  { text, isSimple }: ShellStep,
  commands: readonly ShellCommand[],
): 'none' | 'own' | 'unknown' {
  const names = commands.map(({ words }) => nameOf(words));
  if (!isSimple || names.some((name) => name === 'read' || name === 'printf')) return 'unknown';
  if (commands.every(onlyReads)) return names.includes('cd') ? 'own' : 'none';
  // The text of a here-document is not part of the step's own text.
  if (text.includes('<<')) return 'unknown';
  return names.every((name) => EXTERNAL.has(name) || READERS.has(name)) ? 'own' : 'unknown';
}
