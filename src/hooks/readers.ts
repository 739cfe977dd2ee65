import { allCommands, type SimpleCommand } from '../dialect/calls/shell/commands.ts';
import { type ShellStep, stepsOf } from '../dialect/calls/shell/steps.ts';
import { writesOf } from '../dialect/calls/shell/writes.ts';

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

type Words = SimpleCommand['words'];

/** By program: a test that a call with these arguments, all of them known, changes no file. */
const READS_WITH: Readonly<Record<string, (args: readonly string[]) => boolean>> = {
  git: readsByGit,
  sed: printsBySed,
  sort: (args) => !args.some((arg) => /^-[^-]*o|^--(?:o|co)/.test(arg)),
};

/** True if a shell command certainly changes no file. */
function onlyReads(command: string): boolean {
  const commands = allCommands(command);
  if (commands === undefined || writesOf(command).length > 0) return false;
  return commands.every(({ words, redirects }) => {
    const name = nameOf(words);
    const writes = Object.hasOwn(WRITING_OPTIONS, name) ? WRITING_OPTIONS[name] : undefined;
    if (words.some((word) => writes?.test(word ?? '')) || !redirects.every(isHarmless)) return false;
    return words.length === 0 || READERS.has(name) || readsWith(name, words.slice(1));
  });
}

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
function isHarmless(redirect: SimpleCommand['redirects'][number]): boolean {
  // Commands in the text of a here-document are checked separately. A here-document that is not
  // closed may be only the beginning of one.
  if (redirect.type === 'HereDoc') return redirect.closing !== undefined;
  if (redirect.type !== 'Redirect') return false;
  const { operator, target } = redirect;
  const text = target?.value ?? '';
  return operator === '<' || text === '/dev/null' || (operator === '>&' && /^\d+$/.test(text));
}

/** Programs that are no shell builtins, so that later commands of the line mean the same after them. */
const EXTERNAL = new Set(
  'biome bun bunx cargo cmake deno docker dotnet eslint gh git go gradle jest make mkdir mvn mypy node npm npx pip pip3 pnpm poetry prettier pytest python python3 rm ruby ruff rustc sleep touch tsc tsx uv uvx vitest yarn'.split(
    ' ',
  ),
);

/**
 * A line without the steps that only read: what they name is not changed. The whole line if a step
 * could get a name from another step.
 */
export function withoutReads(line: string): string {
  if (onlyReads(line)) return '';
  const kept: string[] = [];
  for (const step of stepsOf(line) ?? []) {
    const effect = effectOf(step);
    if (effect === 'unknown') {
      kept.push(line.slice(step.at));
      break;
    }
    if (effect !== 'none') kept.push(step.text);
  }
  const rest = kept.join('\n');
  // A variable can hold a name from another step (`ls FILE; rm $_`), and a glob can match that name.
  return rest === '' || /[$`*?[{]/.test(rest) ? line : rest;
}

/**
 * The effect of a step on the steps after it. `none`: it only reads. `own`: it may change files,
 * or the folder in which later steps run. `unknown`: it may also change what later commands mean.
 */
function effectOf({ text, isSimple }: ShellStep): 'none' | 'own' | 'unknown' {
  const commands = allCommands(text) ?? [];
  const names = commands.map(({ words }) => nameOf(words));
  if (!isSimple || names.some((name) => name === 'read' || name === 'printf')) return 'unknown';
  if (onlyReads(text)) return names.includes('cd') ? 'own' : 'none';
  // The text of a here-document is not part of the step's own text.
  if (text.includes('<<')) return 'unknown';
  return names.every((name) => EXTERNAL.has(name) || READERS.has(name)) ? 'own' : 'unknown';
}
