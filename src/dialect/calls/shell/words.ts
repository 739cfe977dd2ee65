import type { Command } from 'unbash';
import { textOfValue, type Value, type Variables, wordValues } from './values.ts';

/** The words of a command. Undefined for a word that the shell expands: a variable, a glob, a substitution. */
export type Words = readonly (string | undefined)[];

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
  ['flock', { flag: /^(?:-[enosuxF]+|--\w+(?:-\w+)*)$/, valued: /^-[wE]$/, operands: 1 }],
  ['ionice', { flag: /^(?:-[cn]\d|-t)$/, valued: /^-[cn]$/ }],
  ['nice', { flag: /^(?:-n?-?\d+|--adjustment=.*)$/, valued: /^(?:-n|--adjustment)$/ }],
  ['nohup', {}],
  // With `-f`, the command outlives the line.
  ['setsid', { flag: /^-[cw]+$/ }],
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

/** The words of a command as they are in the line, with programs such as `env` before it. */
export function givenValues(
  { name, args }: Pick<Command, 'name' | 'args'>,
  variables: Variables,
): readonly Value[] {
  return [name, ...args].flatMap((word) => (word?.type === 'Word' ? wordValues(word, variables) : []));
}

/** The words of a command without programs such as `env`, as far as they do not depend on variables. */
export function wordsOf(command: Pick<Command, 'name' | 'args'>): Words {
  return withoutPrefixes(givenValues(command, new Map()).map(textOfValue));
}

/** The words of the command that programs such as `env` run; the same words if there is no such program. */
export function withoutPrefixes(words: Words): Words {
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

/** The name of a program, without a usual folder such as `/usr/bin`. */
export function programOf(word: string | undefined): string {
  return word?.replace(/^\/(?:usr\/)?(?:local\/)?s?bin\//, '') ?? '';
}

const SHELL = /^(?:ba|z|da)?sh$/;
const SHELL_OPTION = /^(?:[-+][A-Za-z]+|--(?:norc|noprofile|login|posix))$/;
const TAKES_VALUE = /^[-+]\w*[oO]/;

/** The text that `eval` or a shell with `-c` runs; undefined for other commands and for text that the shell expands. */
export function scriptOf([name, ...args]: Words): string | undefined {
  if (name === 'eval') return args.includes(undefined) ? undefined : args.join(' ');
  return SHELL.test(programOf(name)) ? textOfShell(args) : undefined;
}

function textOfShell(args: Words): string | undefined {
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

/** True for a shell that runs the text of its standard input. */
export function runsInput([name, ...args]: Words): boolean {
  const isShell = SHELL.test(programOf(name)) && textOfShell(args) === undefined;
  return (
    isShell && args.every((arg) => /^(?:-[eilsuvx]*|--(?:norc|noprofile|login|posix))$/.test(arg ?? '?'))
  );
}

/** The folder that `cd` with these arguments enters from a folder; undefined if it is unknown. */
export function entered(folder: string | undefined, args: Words): string | undefined {
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

/** A path relative to a folder. Undefined if the folder is unknown and the path is relative. */
export function inFolder(folder: string | undefined, path: string): string | undefined {
  if (path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path)) return path;
  if (folder === undefined) return undefined;
  return folder === '' ? path : `${folder.replace(/\/+$/, '')}/${path}`;
}

/**
 * Separates options from operands. Words that the shell expands count as operands. `valued` matches
 * options whose value is the next argument. `values` has one entry per option: the value, or the
 * option itself if the next argument is not its value.
 */
export function split<T extends Value>(
  args: readonly T[],
  valued: RegExp,
): {
  readonly options: readonly string[];
  readonly values: readonly (T | undefined)[];
  readonly operands: readonly (T | undefined)[];
} {
  const options: string[] = [];
  const values: (T | undefined)[] = [];
  const operands: (T | undefined)[] = [];
  let isPlain = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at];
    if (isPlain || typeof arg !== 'string' || arg === '-' || !arg.startsWith('-')) operands.push(arg);
    else if (arg === '--') isPlain = true;
    else {
      options.push(arg);
      if (valued.test(arg)) at += 1;
      values.push(args[at]);
    }
  }
  return { options, values, operands };
}
