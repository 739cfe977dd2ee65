import { choice, flagName, required } from '../../config/flags.ts';
import { type CliCommand, type CommandEntry, defineCommand, EXIT } from '../cli.ts';
import { acceptedFlags } from '../flags.ts';

const SHELLS = ['bash', 'zsh', 'fish', 'pwsh'] as const;
type Shell = (typeof SHELLS)[number];

/** A command and the words that may follow it. */
interface Completed {
  readonly name: string;
  readonly summary: string;
  /** The choices of the command's first argument, then the command's long flags. */
  readonly words: readonly string[];
  /** The command's flags that have choices, with these choices. */
  readonly values: readonly (readonly [flag: string, choices: readonly string[]])[];
}

/**
 * `lookfirst completion`: prints a script that completes commands, flags and their choices. The
 * script does not start the program: that would take about 0.2 s at every Tab, as it does with
 * completion libraries for Node.
 */
export function completionOf(commands: readonly CommandEntry[]): CliCommand {
  return defineCommand({
    about: 'Prints a script that completes commands and flags in a shell.',
    args: { shell: required(choice('SHELL', 'the shell', SHELLS)) },
    flags: {},
    notes: `
Examples:
  lookfirst completion bash > ~/.local/share/bash-completion/completions/lookfirst
  lookfirst completion zsh > ~/.zfunc/_lookfirst
  lookfirst completion fish > ~/.config/fish/completions/lookfirst.fish
  lookfirst completion pwsh >> $PROFILE`,
    run: async (cli, { shell }) => {
      await cli.terminal.print(SCRIPTS[shell](await completed(commands)));
      return EXIT.done;
    },
  });
}

async function completed(commands: readonly CommandEntry[]): Promise<Completed[]> {
  const found: Completed[] = [];
  for (const { name, summary, load } of commands) {
    const command = await load();
    const { args = {} } = command;
    const shown = Object.entries(acceptedFlags(command)).filter(([, { isHidden }]) => isHidden !== true);
    found.push({
      name,
      summary,
      words: [...(Object.values(args)[0]?.choices ?? []), ...shown.map(([key]) => flagName(key)), '--help'],
      values: shown.flatMap(([key, { choices }]) =>
        choices === undefined ? [] : [[flagName(key), choices] as const],
      ),
    });
  }
  return found;
}

/** All flags that have choices. A flag has the same choices in every command. */
function sharedValues(commands: readonly Completed[]): (readonly [string, readonly string[]])[] {
  return [...new Map(commands.flatMap(({ values }) => values))];
}

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Completed[]) => string>> = {
  bash: (commands) => `_lookfirst() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(' ')}"
  else
    case "\${COMP_WORDS[COMP_CWORD-1]}" in
${sharedValues(commands)
  .map(([flag, choices]) => `      ${flag}) words="${choices.join(' ')}" ;;`)
  .join('\n')}
    esac
  fi
  if [ "$COMP_CWORD" -gt 1 ] && [ -z "$words" ]; then
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, words }) => `      ${name}) words="${words.join(' ')}" ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _lookfirst lookfirst`,

  zsh: (commands) => `#compdef lookfirst
_lookfirst() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    '${name}:${quoted(summary)}'`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case "$words[CURRENT-1]" in
${sharedValues(commands)
  .map(([flag, choices]) => `    ${flag}) compadd -- ${choices.join(' ')}; return ;;`)
  .join('\n')}
  esac
  case "$words[2]" in
${commands.map(({ name, words }) => `    ${name}) compadd -- ${words.join(' ')} ;;`).join('\n')}
  esac
  _files
}
# zsh runs this file itself at the first Tab if it is in $fpath. Otherwise the user sources it.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _lookfirst "$@"
else
  compdef _lookfirst lookfirst
fi`,

  fish: (commands) =>
    commands
      .flatMap(({ name, summary, words, values }) => [
        `complete -c lookfirst -n __fish_use_subcommand -a ${name} -d '${summary.replace(/'/g, "\\'")}'`,
        ...words.map((word) => {
          const choices = new Map(values).get(word);
          const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`;
          const value = choices === undefined ? '' : ` -x -a '${choices.join(' ')}'`;
          return `complete -c lookfirst -n '__fish_seen_subcommand_from ${name}' ${what}${value}`;
        }),
      ])
      .join('\n'),

  pwsh: (commands) => `Register-ArgumentCompleter -Native -CommandName lookfirst -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $commands = @{
${commands.map(({ name, words }) => `    '${name}' = ${listed(words)}`).join('\n')}
  }
  $values = @{
${sharedValues(commands)
  .map(([flag, choices]) => `    '${flag}' = ${listed(choices)}`)
  .join('\n')}
  }
  $words = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })
  $isFirst = $words.Count -lt 2 -or ($words.Count -eq 2 -and $wordToComplete -ne '')
  $before = if ($wordToComplete -eq '') { $words[-1] } else { $words[-2] }
  $found = if ($isFirst) { $commands.Keys | Sort-Object }
    elseif ($values.ContainsKey($before)) { $values[$before] } else { $commands[$words[1]] }
  $found | Where-Object { $_ -like "$wordToComplete*" } |
    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}`,
};

function listed(words: readonly string[]): string {
  return `@(${words.map((word) => `'${word}'`).join(', ')})`;
}

/**
 * Escapes a text for single quotes in zsh. Also escapes colons, because zsh splits
 * `NAME:DESCRIPTION` at the first colon.
 */
function quoted(text: string): string {
  return text.replace(/:/g, '\\:').replace(/'/g, "'\\''");
}
