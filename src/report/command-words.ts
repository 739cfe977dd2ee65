import type { RunResult } from '../model/results.ts';
import { countOf } from './amounts.ts';
import { pathText, phrase, quotation } from './bounded.ts';
import { describeNotice } from './describe-notice.ts';
import { apartFromGit, GITS_OWN_FILES } from './git-files.ts';
import { readCall, type ToolNames } from './tool-names.ts';

/**
 * The text about a command names at most this many paths and only counts the rest. Diffs of paths
 * that it does not name do not count as seen.
 */
export const MAX_PATHS_IN_TEXT = 20;

/** The text for the agent about a command that ran: how it ended, its output, its changes. */
export function commandText(result: RunResult, tools: ToolNames): string {
  return [
    endWords(result),
    ...outputWords(result, tools),
    ...(result.exitCode === 0 ? [] : renameWords(`${result.output.head}\n${result.output.tail ?? ''}`)),
    ...changeWords(result),
  ].join('\n');
}

/**
 * Explains EXDEV, which the kernel answers when a program renames a folder that the layer has not
 * created. Empty if the output of the failed command does not mention it.
 */
export function renameWords(output: string): string[] {
  if (!/\bEXDEV\b|cross-device link/i.test(output)) return [];
  return [
    'Commands work on a copy-on-write view, in which the kernel refuses to rename an existing folder (EXDEV). `mv` moves it all the same, by copying.',
  ];
}

function endWords({ ended, exitCode }: RunResult): string {
  switch (ended) {
    case undefined:
      return `exit code ${exitCode}`;
    case 'timeout':
      return 'The command was stopped because it took too long. Nothing that it did was committed.';
    case 'cancelled':
      return 'The command was cancelled. Nothing that it did was committed.';
    default:
      return ended satisfies never;
  }
}

function outputWords({ output }: RunResult, tools: ToolNames): string[] {
  const { head, tail, cutBytes, path } = output;
  const shown = (text: string): string[] => (text === '' ? [] : [text.replace(/\n$/, '')]);
  if (tail === undefined) return shown(head);
  const all = path === undefined ? '' : `; ${readCall(tools, path)} shows all of it`;
  return [...shown(head), `[${cutBytes} bytes left out${all}]`, ...shown(tail)];
}

/** Describes a command's changes, for agents and users: one line per path, small changes in full, and remarks. */
export function changeWords(result: RunResult): string[] {
  const { files, cut, committed, change, ended } = result;
  if (ended !== undefined) return [];
  const total = files.length + cut;
  const { shown, gits } = apartFromGit(files, ({ path }) => path);
  const named = shown.slice(0, MAX_PATHS_IN_TEXT);
  const rest = total - gits.length - named.length;
  const head = committed
    ? `changed ${countOf(total, 'path')}`
    : `nothing was committed; ${countOf(total, 'path')} would have changed`;
  return [
    ...(total === 0 ? ['changed no file'] : [`${head}:`, ...named.flatMap(fileWords)]),
    ...(gits.length === 0 ? [] : [`- ${GITS_OWN_FILES}`]),
    ...(rest === 0 ? [] : [`- and ${rest} more`]),
    ...noteWords(result),
    ...endedWords(result),
    ...result.notices.map((notice) => describeNotice(notice)),
    ...(change === undefined ? [] : [`[change ${change}, which can be undone]`]),
  ];
}

function fileWords(file: RunResult['files'][number]): string[] {
  const { path, did, kind, added, removed, diff } = file;
  const thing = kind === 'directory' ? 'folder ' : kind === 'link' ? 'link ' : '';
  const what = did === 'permissions' ? 'changed the permissions of' : did;
  const counts = added === undefined || did === 'permissions' ? '' : ` (+${added} -${removed ?? 0})`;
  const row = `- ${what} ${thing}${pathText(path)}${counts}`;
  return diff === undefined || did === 'deleted' ? [row] : [row, quotation(diff)];
}

/** Names the processes that a command left running, and says that they were ended. */
export function endedWords({ endedProcesses }: Pick<RunResult, 'endedProcesses'>): string[] {
  if (endedProcesses.length === 0) return [];
  const named = endedProcesses.slice(0, MAX_PATHS_IN_TEXT).map((line) => `\`${phrase(line)}\``);
  const rest = endedProcesses.length - named.length;
  const more = rest === 0 ? '' : ` and ${rest} more`;
  return [`The command left processes running. They were ended: ${named.join(', ')}${more}.`];
}

function noteWords({ merged, leftOut, droppedBits, scratch }: RunResult): string[] {
  const notes: [string, readonly string[]][] = [
    ['Merged with changes that another program made meanwhile', merged],
    ['Not committed, because they are not files (FIFOs, sockets)', leftOut],
    ['Committed without their setuid or setgid bit', droppedBits],
    ['Commands change these folders directly; changes there are not recorded and cannot be undone', scratch],
  ];
  return notes
    .filter(([, paths]) => paths.length > 0)
    .map(([what, paths]) => {
      const named = paths.slice(0, MAX_PATHS_IN_TEXT).map(pathText).join(', ');
      const more = paths.length > MAX_PATHS_IN_TEXT ? ` and ${paths.length - MAX_PATHS_IN_TEXT} more` : '';
      return `${what}: ${named}${more}.`;
    });
}
