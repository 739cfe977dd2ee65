import type { LineRange } from '../model/coverage.ts';
import type { Refusal } from '../model/verdict.ts';
import { jsonText, shellPath } from './bounded.ts';

/**
 * The names of an agent's tools and of their arguments, for sentences that suggest the next call.
 * For a name that is absent, the sentences suggest another way.
 */
export interface ToolNames {
  readonly read: string;
  /** The tool that reads files that are not text. Absent if `read` shows them too. */
  readonly media?: string;
  readonly write: string;
  readonly edit: string;
  readonly insert?: string;
  readonly delete?: string;
  readonly list?: string;
  /** The tool that creates folders. Absent if the other tools create parent folders. */
  readonly mkdir?: string;
  readonly find?: string;
  readonly search?: string;
  readonly status?: string;
  readonly undo?: string;
  /**
   * The notation of `read`. Default: a tool call with JSON arguments. `shell`: a command, for hosts whose model reads
   * files with a shell.
   */
  readonly spelling?: 'shell';
  /**
   * Set if all tools above are commands of one tool: the name of that tool, and the argument that
   * selects the command.
   */
  readonly command?: { readonly tool: string; readonly argument: string };
  readonly arguments: {
    readonly path: string;
    /** Name of the argument for the first line of a range. */
    readonly from?: string;
    /** Like `from`, for a tool that counts lines from 0; used with `count`. */
    readonly fromZero?: string;
    /**
     * Name of the argument for the number of lines. A set of tools has either this or `to`, the
     * argument for the last line.
     */
    readonly count?: string;
    readonly to?: string;
    /** Name of the argument that takes the first and the last line as a pair. */
    readonly range?: string;
    readonly recursive?: string;
    /** Name of the argument for the number of levels that a listing shows. */
    readonly depth?: string;
    readonly revision?: string;
    readonly replaceAll?: string;
    /** Name of the argument for the text that an edit replaces; default `old_string`. */
    readonly oldText?: string;
  };
}

/** The names of Lookfirst's own tools, which are the default. */
export const LOOKFIRST_TOOLS: ToolNames = {
  read: 'read_file',
  write: 'write_file',
  edit: 'edit_file',
  insert: 'insert_lines',
  delete: 'delete_path',
  list: 'list_directory',
  find: 'find_files',
  search: 'search_text',
  status: 'file_status',
  undo: 'undo_change',
  arguments: {
    path: 'path',
    from: 'offset',
    count: 'limit',
    recursive: 'recursive',
    depth: 'depth',
    revision: 'expected_revision',
    replaceAll: 'replace_all',
  },
};

/**
 * Formats a read of a file, or of some lines if the tool can do that: `read_file
 * {"path":"a","offset":51,"limit":50}`.
 */
export function readCall(tools: ToolNames, path: string, range?: LineRange): string {
  if (tools.spelling === 'shell') return shellRead(path, range);
  return callOf(tools, 'read', { [tools.arguments.path]: path, ...linesOf(tools, range) });
}

function linesOf(tools: ToolNames, range: LineRange | undefined): Readonly<Record<string, unknown>> {
  const { from, fromZero, count, to, range: pair } = tools.arguments;
  if (range === undefined) return {};
  if (fromZero !== undefined && count !== undefined)
    return { [fromZero]: range.from - 1, [count]: range.to - range.from + 1 };
  if (pair !== undefined) return { [pair]: [range.from, range.to] };
  if (from === undefined) return {};
  if (count !== undefined) return { [from]: range.from, [count]: range.to - range.from + 1 };
  return to === undefined ? { [from]: range.from } : { [from]: range.from, [to]: range.to };
}

/** Formats a read as a shell command: `cat a.ts`, or `sed -n '51,100p' a.ts` for some lines. */
function shellRead(path: string, range: LineRange | undefined): string {
  const word = shellPath(path);
  return range === undefined ? `cat ${word}` : `sed -n '${range.from},${range.to}p' ${word}`;
}

/** Formats any call as the model would write it. */
export function callOf(
  tools: ToolNames,
  use: 'read' | 'media' | 'list' | 'mkdir' | 'delete',
  args: Readonly<Record<string, unknown>>,
): string {
  const { command, [use]: name } = tools;
  if (command === undefined) return `${name} ${jsonText(args)}`;
  return `${command.tool} ${jsonText({ [command.argument]: name, ...args })}`;
}

/**
 * Renames arguments in the reason of a refusal. `terms` maps the names that Lookfirst's own tools
 * use to those of the called tool.
 */
export function inTermsOf(terms: Readonly<Record<string, string>>, refusal: Refusal): Refusal {
  const { reason } = refusal.detail ?? {};
  if (refusal.code !== 'INVALID_ARGUMENT' || reason === undefined) return refusal;
  const named = reason.replace(/\b[a-z]+(?:_[a-z]+)?\b/g, (word) =>
    Object.hasOwn(terms, word) ? (terms[word] ?? word) : word,
  );
  return { ...refusal, detail: { ...refusal.detail, reason: named } };
}
