import type {
  FileStatus,
  FindResult,
  ListedEntry,
  ListResult,
  SearchResult,
  StatusResult,
} from '../../model/results.ts';
import { byteSize, countOf, lineWords } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { timeAgo } from '../../report/times.ts';
import { callOf, type ToolNames } from '../../report/tool-names.ts';
import { type RenderContext, UNREADABLE } from '../render.ts';

/** The answer to a listing: entries with kind and size, then their number and whether the listing is complete. */
export function listAnswer(result: ListResult, { tools }: RenderContext, depth = 1): string {
  const rows = result.entries.map(entryRow);
  const listed = `listed ${pathText(result.path)}: ${countOf(rows.length, 'entry')}`;
  return [...rows, `[${listed}${cutWords(result)}]`, ...nextPage(result, tools, depth)].join('\n');
}

function entryRow(entry: ListedEntry): string {
  const name = pathText(entry.path);
  switch (entry.kind) {
    case 'directory':
      return `directory ${name}/`;
    case 'link':
      return `link ${name} -> ${pathText(entry.target ?? '?')}`;
    case 'file':
      return entry.sizeBytes === undefined ? `file ${name}` : `file ${name} (${byteSize(entry.sizeBytes)})`;
    default:
      return `${entry.kind} ${name}`;
  }
}

function cutWords({ cut }: ListResult): string {
  if (cut === 0) return '';
  if (cut === undefined) return ', and some folders could not be listed';
  return `, and ${cut} more that are not shown: list a folder below, or find files by name`;
}

/** The call that shows the next entries; only listings of a single folder have pages. */
function nextPage({ path, entries, cut }: ListResult, tools: ToolNames, depth: number): string[] {
  const last = entries.at(-1);
  if (!cut || last === undefined || depth !== 1 || tools.list === undefined) return [];
  return [
    `Next: ${callOf(tools, 'list', { [tools.arguments.path]: path, after: last.path })} shows the next entries.`,
  ];
}

/** The note for an incomplete search. Without it, the model would assume that nothing matches. */
function unfinished({ truncated, unreadable }: Pick<FindResult, 'truncated' | 'unreadable'>): string {
  if (!truncated) return '';
  return ` in the part that was searched; ${unreadable === true ? UNREADABLE : 'the rest was not searched: name a folder'}`;
}

function moreText({ unreadable }: Pick<FindResult, 'unreadable'>, cure: string): string {
  return unreadable === true ? `; ${UNREADABLE}` : `; there are more: ${cure}`;
}

/** The answer to a search for file names: paths, newest first. */
export function findAnswer(pattern: string, result: FindResult): string {
  const { paths, truncated } = result;
  if (paths.length === 0) return `[no file matches ${pathText(pattern)}${unfinished(result)}]`;
  const more = truncated ? moreText(result, 'narrow the pattern or name a folder') : '';
  return [...paths.map(pathText), `[${countOf(paths.length, 'file')}${more}]`].join('\n');
}

/** Formats a search result like grep: `path:line:text` for matches, `path-line-text` for lines around them. */
export function searchAnswer(pattern: string, result: SearchResult): string {
  if (result.hits.length === 0) return `[nothing matches ${pathText(pattern)}${unfinished(result)}]`;
  const more = result.truncated ? moreText(result, 'narrow the pattern, or name a folder or glob') : '';
  return [...hitRows(result), `[${hitCount(result)}${more}]`].join('\n');
}

/** The rows of a search result, one per hit. */
function hitRows({ hits, mode }: SearchResult): string[] {
  return hits.map((hit) => {
    const path = pathText(hit.path);
    if (mode === 'files') return path;
    if (mode === 'count') return `${path}:${hit.count ?? 0}`;
    const mark = hit.context === true ? '-' : ':';
    return `${path}${mark}${hit.line}${mark}${hit.text}`;
  });
}

function hitCount({ hits, mode, matches }: SearchResult): string {
  const found = new Set(hits.map((hit) => hit.path)).size;
  if (mode === 'files') return countOf(found, 'file');
  return `${countOf(matches, 'match')} in ${countOf(found, 'file')}`;
}

/**
 * The answer to a status call: what the session has seen of each file, and whether the file has
 * changed since.
 */
export function statusText(result: StatusResult, context: RenderContext): string {
  if (result.files.length === 0) return 'This session has not read any file yet.';
  return result.files.map((file) => fileRow(file, context)).join('\n');
}

function fileRow(file: FileStatus, context: RenderContext): string {
  const last =
    file.lastChange === undefined
      ? ''
      : `; last change ${file.lastChange.change} by session ${pathText(file.lastChange.session)} ${timeAgo(file.lastChange.atMs, context.nowMs)}`;
  return `${pathText(file.path)}: ${standing(file, context)}${last}`;
}

function standing(file: FileStatus, context: RenderContext): string {
  switch (file.freshness) {
    case 'unseen':
      return 'has not been read by this session';
    case 'fresh': {
      const revision = file.revision === undefined ? '' : `; revision ${file.revision}`;
      return `fresh: ${seen(file, context)}, unchanged since${revision}`;
    }
    case 'stale':
      return `stale: ${seen(file, context)}, changed since; read it again`;
    case 'deleted':
      return `deleted since it was read (${seen(file, context)})`;
    case 'missing':
      return 'there is nothing at that path, and it has not been read';
    case 'unverifiable':
      return `${seen(file, context)}; whether that is still true could not be checked`;
    default:
      return file.freshness satisfies never;
  }
}

const BUT = { cut: ', very long lines only in part', redacted: ', some values masked' } as const;

function seen(file: FileStatus, context: RenderContext): string {
  const when = file.seenAtMs === undefined ? '' : ` ${timeAgo(file.seenAtMs, context.nowMs)}`;
  if (file.seen === 'nothing') return 'seen before, but no longer in the context';
  if (file.seen === 'whole') return `seen whole${when}`;
  if (file.but === 'described') return `described, not shown${when}`;
  const total = file.totalLines === undefined ? '' : ` of ${file.totalLines}`;
  const but = file.but === undefined ? '' : BUT[file.but];
  return `seen ${lineWords(file.ranges ?? [])}${total}${when}${but}`;
}
