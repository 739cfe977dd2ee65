import { type Flag, type Flags, flagName } from '../config/flags.ts';
import { type CliCommand, COMMAND_GROUPS, type CommandEntry } from './cli.ts';
import { acceptedFlags, GLOBAL_FLAGS } from './flags.ts';

/** The width of help that goes to a file or another program. */
const WIDTH = 100;
/** Meanings beside very long terms keep at least this width. */
const LEAST_WIDTH = 40;

/** One line of a list: a flag or an argument, and its meaning. */
type Row = readonly [term: string, meaning: string];

/** The end of the general help, and of the manual page. */
export const GENERAL_NOTES = `Environment: LOOKFIRST_HOME (state folder), LOOKFIRST_SESSION, LOOKFIRST_STORE, LOOKFIRST_TOKEN,
LOOKFIRST_PAGER (otherwise PAGER or less; empty or cat: no pager).
Flags win over the environment, the environment over the policy file.
Exit codes: 0 done, 1 failure, 2 refused, 64 wrong usage.`;

/** The text of `lookfirst --help`. */
export function generalHelp(entries: readonly CommandEntry[], width: number = WIDTH): string {
  const widest = Math.max(...entries.map(({ usage }) => usage.length));
  return [
    'Usage: lookfirst COMMAND [options]',
    '',
    "Your AI agent can't overwrite, edit or delete a file it hasn't read, or clobber a change it hasn't",
    'seen, and you can undo what it did.',
    '',
    ...COMMAND_GROUPS.flatMap((group) => [
      `${group.charAt(0).toUpperCase()}${group.slice(1)}:`,
      ...entries
        .filter((entry) => entry.group === group)
        .map(({ usage, summary }) => `  ${usage.padEnd(widest)}  ${summary}`),
      '',
    ]),
    'Global options:',
    ...globalOptions(width),
    '',
    'lookfirst COMMAND --help shows the options of a command and examples.',
    '',
    GENERAL_NOTES,
  ].join('\n');
}

/** The text of `lookfirst COMMAND --help`. */
export function helpText(entry: CommandEntry, command: CliCommand, width: number = WIDTH): string {
  const { name, usage } = entry;
  const [own = '', program] = usage.slice(name.length).split(' -- ');
  const line = [`Usage: lookfirst ${name}${own}`, '[options]', program === undefined ? '' : `-- ${program}`];
  const args = rowsOf(command.args ?? {}, (key, { value }) => value ?? key.toUpperCase());
  const options: Row[] = [...ownOptions(command), ['-h, --help', 'show this help']];
  const term = Math.max(...[...args, ...options].map(([each]) => each.length));
  const list = (title: string, rows: readonly Row[]): string[] =>
    rows.length === 0 ? [] : ['', `${title}:`, ...rows.flatMap((row) => wrappedRow(row, { term, width }))];
  return [
    line.filter((part) => part !== '').join(' '),
    '',
    ...wrapped(command.about, width),
    ...list('Arguments', args),
    ...list('Options', options),
    ...globalLines(command, width),
    ...(command.notes === undefined ? [] : [command.notes]),
  ].join('\n');
}

/** The flags that only this command explains. */
export function ownOptions({ flags }: CliCommand): Row[] {
  const own = Object.entries(flags).filter(
    ([key, flag]) => GLOBAL_FLAGS[key] !== flag && flag.isHidden !== true,
  );
  return rowsOf(Object.fromEntries(own), optionTerm);
}

/** The flags that mean the same in every command. */
function globalOptions(width: number): string[] {
  const rows = [...rowsOf(GLOBAL_FLAGS, optionTerm), ['-h, --help', 'show the help of a command'] as const];
  const term = Math.max(...rows.map(([each]) => each.length));
  return rows.flatMap((row) => wrappedRow(row, { term, width }));
}

export function rowsOf(flags: Flags, termOf: (key: string, flag: Flag<unknown>) => string): Row[] {
  return Object.entries(flags).flatMap(([key, flag]): Row[] =>
    flag.about === '' ? [] : [[termOf(key, flag), meaningOf(flag)]],
  );
}

export function optionTerm(key: string, { value, takes }: Flag<unknown>): string {
  const name = flagName(key);
  if (value === undefined) return name;
  return `${name} ${takes === 'one' ? value : `[${value}${takes === 'many' ? '...' : ''}]`}`;
}

/** The description of a flag, followed by its choices and its default. */
function meaningOf({ about, choices, fallback }: Flag<unknown>): string {
  // Split off a note in brackets from the end of the description, to put it after the choices.
  const [, what = '', note = ''] = /^(.*?)( \([^()]*\))?$/s.exec(about) ?? [];
  const listed = choices?.map((each) => (each === fallback ? `${each} (default)` : each)).join(', ');
  const isShown = fallback !== undefined && choices?.includes(String(fallback)) !== true;
  return `${what}${listed === undefined ? '' : `: ${listed}`}${note}${isShown ? ` (default: ${String(fallback)})` : ''}`;
}

/** The names of the global flags that a command accepts; empty if there are none. */
function globalLines(command: CliCommand, width: number): string[] {
  const accepted = acceptedFlags(command);
  const shared = Object.keys(GLOBAL_FLAGS).filter((key) => accepted[key] === GLOBAL_FLAGS[key]);
  if (shared.length === 0) return [];
  const names = shared.map(flagName).join(', ');
  return ['', ...wrapped(`Global options, explained by lookfirst --help: ${names}`, width)];
}

function wrappedRow(
  [term, meaning]: Row,
  { term: widest, width }: { readonly term: number; readonly width: number },
): string[] {
  const indent = widest + 4;
  const [first = '', ...rest] = wrapped(meaning, Math.max(LEAST_WIDTH, width - indent));
  return [`  ${term.padEnd(widest)}  ${first}`, ...rest.map((line) => ' '.repeat(indent) + line)];
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
