import { gitOnlyReads } from './reading.ts';
import type { ShellCommand } from './shell-command.ts';
import { inFolder, programOf } from './words.ts';

/** The folders in which git commands work that may change files or references, as the line names them. */
export function gitFolders(commands: readonly ShellCommand[]): readonly string[] {
  return commands.flatMap((command) => {
    const [name, ...args] = command.words;
    if (programOf(name) !== 'git' || gitOnlyReads(args)) return [];
    const start = folderNamed(args);
    const folder = start === undefined ? command.folder : inFolder(command.folder, start);
    return folder ?? [];
  });
}

/** The folder that the options before the verb name. */
function folderNamed(args: ShellCommand['words']): string | undefined {
  const [option, value = ''] = args;
  if (option === '-C') return value;
  if (option === '-c') return folderNamed(args.slice(2));
  const named = /^--(?:work-tree|git-dir)=(.+?)(?:\/\.git\/?)?$/.exec(option ?? '')?.[1];
  return named ?? (option?.startsWith('-') === true ? folderNamed(args.slice(1)) : undefined);
}
