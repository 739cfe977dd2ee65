import { phrase } from '../report/bounded.ts';
import { didYouMean, type Flag, type Flags, flagName, UsageError, unknownWord } from './flags.ts';

/** The words that a command accepts. */
export interface CommandShape {
  /** The arguments in their order; the last may take all words that are left. */
  readonly args?: Flags;
  readonly flags: Flags;
  /** True if everything after the first argument belongs to a program that the command starts. */
  readonly startsProgram?: true;
}

/** A command line as values, or the request for the help or the version. */
export type Parsed<V> =
  | { readonly kind: 'values'; readonly values: V }
  | { readonly kind: 'help' | 'version' };

const ABOUT: Readonly<Record<string, 'help' | 'version'>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
  '-v': 'version',
};

/**
 * Parses the words after the name of a command. Throws `UsageError` for a wrong command line. `V`:
 * the values that the table of the command makes.
 */
export function parseFlags<V = Readonly<Record<string, unknown>>>(
  shape: CommandShape,
  args: readonly string[],
): Parsed<V> {
  const values: Record<string, unknown> = {};
  const words: string[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const kind = Object.hasOwn(ABOUT, word) ? ABOUT[word] : undefined;
    if (kind !== undefined) return { kind };
    if (word !== '--' && isFlag(word)) takeFlag(shape.flags, [word, rest], values);
    else words.push(...wordsFrom(word, rest, shape));
  }
  takeArguments(shape.args ?? {}, words, values);
  for (const [key, { fallback }] of Object.entries({ ...shape.args, ...shape.flags }))
    if (fallback !== undefined) values[key] ??= fallback;
  return { kind: 'values', values: values as V };
}

/** The arguments that begin with `word`: one, or all words that are left. */
function wordsFrom(word: string, rest: string[], { startsProgram }: CommandShape): string[] {
  if (word === '--') return rest.splice(0);
  return [word, ...(startsProgram === true ? rest.splice(0) : [])];
}

function isFlag(word: string): boolean {
  return word.startsWith('-') && word !== '-';
}

function takeFlag(
  flags: Flags,
  [word, rest]: readonly [word: string, rest: string[]],
  values: Record<string, unknown>,
): void {
  const equals = word.indexOf('=');
  const name = equals < 0 ? word : word.slice(0, equals);
  const key = Object.keys(flags).find((each) => flagName(each) === name);
  const flag = key === undefined ? undefined : flags[key];
  if (key === undefined || flag === undefined) throw new UsageError(unknownFlag(flags, name));
  if (flag.takes === 'nothing' && equals >= 0) throw new UsageError(`${name} takes no value`);
  const own = equals < 0 ? wordsOf(flag, rest) : [word.slice(equals + 1)];
  for (const text of own) values[key] = readWord(flag, { name, text, earlier: values[key] });
  if (own.length > 0) return;
  values[key] = flag.takes === 'nothing' ? flag.read('') : flag.bare;
  if (values[key] === undefined) throw new UsageError(`${name} needs a value`);
}

function unknownFlag(flags: Flags, name: string): string {
  const shown = Object.keys(flags).filter((key) => flags[key]?.isHidden !== true);
  return unknownWord('option', phrase(name), [...shown.map(flagName), '--help', '--version']);
}

/** Removes the words of a flag from the words after it. */
function wordsOf({ takes, accepts }: Flag<unknown>, rest: string[]): string[] {
  switch (takes) {
    case 'nothing':
      return [];
    case 'one':
      return rest.splice(0, 1);
    case 'maybe':
      return rest.splice(0, rest[0] !== undefined && accepts?.(rest[0]) === true ? 1 : 0);
    case 'many': {
      const end = rest.findIndex(isFlag);
      return rest.splice(0, end < 0 ? rest.length : end);
    }
    default:
      return takes satisfies never;
  }
}

function takeArguments(args: Flags, words: readonly string[], values: Record<string, unknown>): void {
  const rest = [...words];
  for (const [key, flag] of Object.entries(args)) {
    const title = flag.value ?? key;
    const own = rest.splice(0, flag.takes === 'many' ? rest.length : 1);
    const name = flag.choices === undefined ? title : key;
    for (const text of own) values[key] = readWord(flag, { name, text, earlier: values[key] });
    if (own.length === 0 && flag.isRequired === true) throw new UsageError(`${title} is missing`);
  }
  if (rest.length > 0) throw new UsageError(`unexpected argument '${phrase(rest[0] ?? '')}'`);
}

interface Word {
  /** The name of its flag or argument. */
  readonly name: string;
  readonly text: string;
  /** The value of the words before. */
  readonly earlier: unknown;
}

function readWord(flag: Flag<unknown>, { name, text, earlier }: Word): unknown {
  if (text === '' && flag.mayBeEmpty !== true)
    throw new UsageError(isFlag(name) ? `${name} needs a value` : `${name} is empty`);
  const value = flag.read(text, earlier);
  if (value !== undefined) return value;
  const { choices } = flag;
  if (choices === undefined)
    throw new UsageError(`${name} '${phrase(text)}' is invalid. ${flag.hint?.(text) ?? ''}`.trimEnd());
  const meant = didYouMean(text, choices);
  throw new UsageError(`unknown ${name} '${phrase(text)}'.${meant} Choose from ${choices.join(', ')}.`);
}
