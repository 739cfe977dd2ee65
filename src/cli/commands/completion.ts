import { Argument, Command } from 'commander';
import type { Cli } from '../cli.ts';
import type { CommandEntry } from '../command-entry.ts';

type Shell = 'bash' | 'zsh' | 'fish' | 'pwsh';

/** A command with the long flags it takes. */
interface Completed {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly string[];
}

/** `lookfirst completion`: a script that completes commands and flags; file names are the shell's own. */
export function completionOf(commands: readonly CommandEntry[]): (cli: Cli) => Command {
  return (cli) => defineCompletion(cli, commands);
}

function defineCompletion(cli: Cli, commands: readonly CommandEntry[]): Command {
  return new Command('lookfirst completion')
    .description('Prints a script that completes commands and flags in a shell.')
    .addArgument(new Argument('<shell>', 'of which shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', EXAMPLES)
    .action(async (shell: Shell) => {
      await cli.terminal.print(SCRIPTS[shell](await completed(cli, commands)));
    });
}

const EXAMPLES = `
Examples:
  lookfirst completion bash > ~/.local/share/bash-completion/completions/lookfirst
  lookfirst completion zsh > ~/.zfunc/_lookfirst
  lookfirst completion fish > ~/.config/fish/completions/lookfirst.fish
  lookfirst completion pwsh >> $PROFILE`;

async function completed(cli: Cli, commands: readonly CommandEntry[]): Promise<Completed[]> {
  const found: Completed[] = [];
  for (const { name, summary, load } of commands) {
    const options = load === undefined ? [] : (await load())(cli).options;
    const flags = options.filter((option) => !option.hidden).flatMap(({ long }) => long ?? []);
    found.push({ name, summary, flags: [...new Set([...flags, '--help'])] });
  }
  return found;
}

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Completed[]) => string>> = {
  bash: (commands) => `_lookfirst() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(' ')}"
  else
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, flags }) => `      ${name}) words="${flags.join(' ')}" ;;`).join('\n')}
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
  case "$words[2]" in
${commands.map(({ name, flags }) => `    ${name}) compadd -- ${flags.join(' ')} ;;`).join('\n')}
  esac
  _files
}
compdef _lookfirst lookfirst`,

  fish: (commands) =>
    commands
      .flatMap(({ name, summary, flags }) => [
        `complete -c lookfirst -n __fish_use_subcommand -a ${name} -d '${summary.replace(/'/g, "\\'")}'`,
        ...flags.map(
          (flag) => `complete -c lookfirst -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`,
        ),
      ])
      .join('\n'),

  pwsh: (commands) => `Register-ArgumentCompleter -Native -CommandName lookfirst -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $flags = @{
${commands.map(({ name, flags }) => `    '${name}' = @(${flags.map((flag) => `'${flag}'`).join(', ')})`).join('\n')}
  }
  $words = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })
  $isFirst = $words.Count -lt 2 -or ($words.Count -eq 2 -and $wordToComplete -ne '')
  $found = if ($isFirst) { $flags.Keys | Sort-Object } else { $flags[$words[1]] }
  $found | Where-Object { $_ -like "$wordToComplete*" } |
    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}`,
};

/** Escapes a word for zsh's single quotes, where the text before a colon is the command. */
function quoted(text: string): string {
  return text.replace(/:/g, '\\:').replace(/'/g, "'\\''");
}
