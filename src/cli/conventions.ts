import { type Argument, type Command, Option } from 'commander';
import { harmless } from '../report/bounded.ts';
import { type CommandEntry, version } from './cli.ts';
import type { Terminal } from './terminal.ts';
import { usageText } from './words.ts';

/** The options that every help shows last, in this order, after the command's own options. */
const SHARED = ['--json', '--color', '--date', '--store', '--policy', '--help'];
/**
 * The width of help that goes to a file or another program. Help texts in the documents have the
 * same width.
 */
const WIDTH = 100;

/** Gives a command the help, the shared flags and the error style that every command has. */
export function conventional(command: Command, entry: CommandEntry, terminal: Terminal): Command {
  if (entry.runsElsewhere !== true) addMissing(command, colourOption(), dateOption().hideHelp());
  return command
    .version(version(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .usage(usageOf(entry))
    .configureHelp({
      visibleOptions: (shown) => sharedLast(shown),
      optionTerm: ({ flags }) => upperNames(flags),
      optionDescription: (option) => described(option, option.argChoices, option.defaultValue),
      visibleArguments: (shown) => shown.registeredArguments.filter(({ description }) => description !== ''),
      argumentTerm: (argument) => argument.name().toUpperCase(),
      argumentDescription: (argument: Argument) =>
        described(argument, argument.argChoices, argument.defaultValue),
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.tell(harmless(usageText(withExtra(text.trimEnd(), command)))),
      getOutHelpWidth: () => terminal.width ?? WIDTH,
      getErrHelpWidth: () => terminal.width ?? WIDTH,
    })
    .showHelpAfterError(`(${command.name()} --help lists the options)`);
}

/** Rewrites the error about too many arguments, so that it names the first extra argument. */
function withExtra(text: string, { args, registeredArguments }: Command): string {
  return text.replace(
    /^error: too many arguments.*$/m,
    () => `error: unexpected argument '${args[registeredArguments.length] ?? ''}'`,
  );
}

/** The usage line, such as `init CLIENT [options]`. A part after `--` follows the options. */
function usageOf({ name, usage }: CommandEntry): string {
  const [own = '', command] = usage.slice(name.length).split(' -- ');
  return [own.trim(), '[options]', command === undefined ? '' : `-- ${command}`].join(' ').trim();
}

/** The option `--color`. Its value is read before the arguments are parsed, so that parse errors obey it. */
export function colourOption(): Option {
  return new Option('--color <when>', 'when to colour the answer')
    .choices(['auto', 'always', 'never'])
    .default('auto');
}

/** The option `--date`. Its value is read before the arguments are parsed, together with that of `--color`. */
export function dateOption(): Option {
  return new Option('--date <form>', 'show times as an age or in full')
    .choices(['relative', 'iso'])
    .default('relative');
}

function addMissing(command: Command, ...options: readonly Option[]): void {
  for (const option of options)
    if (!command.options.some(({ long }) => long === option.long)) command.addOption(option);
}

function sharedLast(command: Command): Option[] {
  const help = new Option('-h, --help', 'show this help');
  const shown = command.options.filter(({ hidden, long }) => !hidden && long !== '--version');
  const rank = ({ long = '' }: Option): number => SHARED.indexOf(long);
  return [...shown, help].sort((one, other) => rank(one) - rank(other));
}

/** Rewrites `--root <dir>` as `--root DIR`. */
function upperNames(flags: string): string {
  return flags
    .replace(/<([^>]+)>/g, (_all, name: string) => name.toUpperCase())
    .replace(/\[[^\]]+\]/g, upper);
}

function upper(text: string): string {
  return text.toUpperCase();
}

/** The description of an option or argument in the help, followed by its choices and its default. */
function described(
  { description }: { readonly description: string },
  choices: readonly string[] | undefined,
  value: unknown,
): string {
  // Split off a note in brackets from the end of the description, to put it after the choices.
  const [, what = '', note = ''] = /^(.*?)( \([^()]*\))?$/s.exec(description) ?? [];
  const listed = choices?.map((choice) => (choice === value ? `${choice} (default)` : choice)).join(', ');
  const isListed = choices?.includes(String(value)) ?? false;
  const other = value === undefined || isListed ? '' : ` (default: ${String(value)})`;
  return `${what}${listed === undefined ? '' : `: ${listed}`}${note}${other}`;
}
