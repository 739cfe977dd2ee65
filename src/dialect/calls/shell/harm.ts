import type { Harm } from '../../../model/session.ts';
import { onlyReads } from './reading.ts';
import type { ShellCommand } from './shell-command.ts';

const PRUNES = /\b(gc|prune|repack|filter-branch|filter-repo)\b|\breflog\s+(expire|delete)\b/;
const NAMES_GIT = /(^|[\s/'"=])\.git($|[\s/'";&|)])/;

/** Says what a shell line with these commands may destroy. A line that cannot be parsed may destroy anything. */
export function harmOf(line: string, commands: readonly ShellCommand[]): Harm {
  if (commands.length > 0 && commands.every((command) => onlyReads(command, 'may write'))) return 'nothing';
  return PRUNES.test(line) || NAMES_GIT.test(line) ? 'git' : 'files';
}
