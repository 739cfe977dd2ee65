import type { ListResult, ReadResult, SearchResult } from '../../model/results.ts';
import { objectOf } from '../../model/shape.ts';
import { relativeTime } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { noticeTexts } from '../../report/describe-notice.ts';
import { wildcardMatcher } from '../../text/glob/segment.ts';
import type { ReadStyle, RenderContext } from '../render.ts';
import { ADDS, DESTROYS, given, READS, type Tool, tool } from '../tool.ts';
import { treeText } from './file-tree.ts';

const FILE = { type: 'string', description: 'Path of the file.' } as const;
const MAX_WHOLE_BYTES = 64 * 1024;
const MAX_RANGE_LINES = 2000;
/** Maximum number of entries that file_list and file_find filter. */
const MAX_ENTRIES = 200_000;

/** Like `cat -n`, with right-aligned numbers; says so if the file has more lines. */
export const READ_STYLE: ReadStyle = {
  lines: 'padded',
  foot: (result) => {
    const { from, to, totalLines } = result;
    if (to === 0 || (from === 1 && to === totalLines)) return '';
    return `\n\n[lines ${from}-${to}${totalLines === undefined ? '' : ` of ${totalLines}`}; use startLine and endLine for others]`;
  },
  other: (result: ReadResult) =>
    `${pathText(result.path)} is not text: ${result.media?.mimeType ?? 'application/octet-stream'}, ${sizeText(result.sizeBytes)}`,
};

interface FindQuery {
  readonly pattern: string;
  /** The requested folder; shown paths are below it. */
  readonly path: string;
  readonly includeHidden: boolean;
  readonly maxResults: number;
}

const fileRead = tool({
  name: 'file_read',
  title: 'Read a file',
  description:
    'Read a file with line numbers. Up to 64 KB at once; of larger files ask for ranges of up to 2000 lines with startLine and endLine.',
  inputSchema: objectOf(
    {
      path: FILE,
      startLine: { type: 'integer', minimum: 1, description: 'First line, counted from 1.' },
      endLine: { type: 'integer', minimum: 1, description: 'Last line, included.' },
    },
    ['path'],
  ),
  annotations: READS,
  call: ({ path, startLine, endLine }) => {
    if (startLine === undefined && endLine === undefined)
      return {
        kind: 'read',
        operation: { path, limit: MAX_WHOLE_BYTES, maxBytes: MAX_WHOLE_BYTES },
        style: READ_STYLE,
      };
    const offset = startLine ?? 1;
    if (endLine !== undefined && endLine < offset)
      return { kind: 'problem', reason: 'endLine must be >= startLine' };
    const limit = Math.min(MAX_RANGE_LINES, (endLine ?? Number.MAX_SAFE_INTEGER) - offset + 1);
    return { kind: 'read', operation: { path, offset, limit }, style: READ_STYLE };
  },
});

const fileWrite = tool({
  name: 'file_write',
  title: 'Write a file',
  description:
    'Create a file or replace all of it; an existing file must have been read. Use file_insert or file_edit to keep content.',
  inputSchema: objectOf(
    {
      path: FILE,
      content: { type: 'string', description: 'The whole content; may be empty.' },
      createDirs: { type: 'boolean', default: true, description: 'Create missing folders (default true).' },
    },
    ['path', 'content'],
  ),
  annotations: DESTROYS,
  call: ({ path, content, createDirs = true }) => ({
    kind: 'write',
    operation: { path, content, makeParents: createDirs },
    render: (result, context) =>
      [
        `Successfully wrote ${sizeText(result.sizeBytes)} to ${pathText(path)}`,
        ...noticeTexts(result.notices, path, context),
      ].join('\n'),
  }),
});

const fileInsert = tool({
  name: 'file_insert',
  title: 'Insert lines',
  description: 'Insert content after a line (counted from 1), or append it. The file must have been read.',
  inputSchema: objectOf(
    {
      path: FILE,
      content: { type: 'string', description: 'What to insert.' },
      line: { type: 'integer', minimum: 1, description: 'Insert after this line; absent: append.' },
    },
    ['path', 'content'],
  ),
  annotations: ADDS,
  call: ({ path, content, line }) => ({
    kind: 'insert',
    operation: { path, content, ...given({ afterLine: line }) },
    render: ({ inserted, notices }, context) => {
      const added = inserted === undefined ? 0 : inserted.to - inserted.from + 1;
      const where = line === undefined ? 'Appended to end of file' : `Inserted after line ${line}`;
      const done = `${where} in ${pathText(path)} (+${added} line${added === 1 ? '' : 's'})`;
      return [done, ...noticeTexts(notices, path, context)].join('\n');
    },
  }),
});

const fileList = tool({
  name: 'file_list',
  title: 'List files',
  description:
    'List a folder as a tree, optionally filtered by name. Very large and generated folders are only counted.',
  inputSchema: objectOf({
    path: { type: 'string', description: 'Folder to list (default: the workspace).' },
    pattern: { type: 'string', description: 'Show only names that match; * and ? as in globs.' },
    includeHidden: { type: 'boolean', default: false, description: 'Include names that begin with a dot.' },
    recursive: { type: 'boolean', default: false, description: 'List folders below too.' },
    maxDepth: {
      type: 'integer',
      minimum: 1,
      maximum: 10,
      description: 'How deep, with recursive (default 3).',
    },
    summaryThreshold: {
      type: 'integer',
      minimum: 1,
      maximum: 200,
      description: 'Folders with more entries are only counted (default 50).',
    },
    maxResults: {
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      description: 'How many entries to show (default 50).',
    },
  }),
  annotations: READS,
  call: ({ path = '.', pattern, includeHidden = false, recursive = false, ...bounds }) => {
    const { maxDepth = 3, summaryThreshold = 50, maxResults = 50 } = bounds;
    const tree = {
      name: path.replace(/\/+$/, '').split('/').at(-1) || path,
      includeHidden,
      depth: recursive ? maxDepth + 1 : 1,
      summaryThreshold,
      maxResults,
      ...given({ pattern }),
    };
    return {
      kind: 'list',
      // Counting the content of a folder needs everything below it.
      operation: { path, as: 'entries', limit: MAX_ENTRIES, depth: recursive ? 32 : 1 },
      render: (result) => treeText(result.entries, tree),
    };
  },
});

const fileFind = tool({
  name: 'file_find',
  title: 'Find files by name',
  description:
    'Find files and folders by name (* and ? as in globs), upper and lower case alike, newest first.',
  inputSchema: objectOf(
    {
      pattern: { type: 'string', description: 'Name to look for, such as "*.ts".' },
      path: { type: 'string', description: 'Folder to search in (default: the workspace).' },
      maxDepth: { type: 'integer', minimum: 1, maximum: 20, description: 'How deep to search (default 10).' },
      includeHidden: { type: 'boolean', default: false, description: 'Include names that begin with a dot.' },
      maxResults: {
        type: 'integer',
        minimum: 1,
        maximum: 1000,
        description: 'How many results to show (default 50).',
      },
    },
    ['pattern'],
  ),
  annotations: READS,
  call: ({ pattern, path = '.', maxDepth = 10, includeHidden = false, maxResults = 50 }) => ({
    kind: 'list',
    operation: { path, as: 'entries', limit: MAX_ENTRIES, depth: maxDepth + 1 },
    render: (result, context) => laceFindText({ pattern, path, includeHidden, maxResults }, result, context),
  }),
});

const ripgrepSearch = tool({
  name: 'ripgrep_search',
  title: 'Search in files',
  description: 'Search file contents for a text, or with literal false for a regular expression.',
  inputSchema: objectOf(
    {
      pattern: { type: 'string', description: 'What to search for.' },
      path: { type: 'string', description: 'File or folder to search (default: the workspace).' },
      caseSensitive: { type: 'boolean', default: false, description: 'Tell upper from lower case.' },
      wholeWord: { type: 'boolean', default: false, description: 'Match whole words only.' },
      literal: {
        type: 'boolean',
        default: true,
        description: 'Take the pattern as text (default) or as a regular expression.',
      },
      includePattern: { type: 'string', description: 'Only files that match this glob.' },
      excludePattern: { type: 'string', description: 'Leave out files that match this glob.' },
      maxResults: {
        type: 'integer',
        minimum: 1,
        maximum: 1000,
        description: 'How many results to show (default 50).',
      },
      contextLines: {
        type: 'integer',
        minimum: 0,
        maximum: 10,
        description: 'Lines to show around each match (default 0).',
      },
    },
    ['pattern'],
  ),
  annotations: READS,
  call: ({ pattern, path, caseSensitive = false, wholeWord = false, literal = true, ...more }) => {
    const expression = literal ? pattern.replace(/[\\^$.*+?()[\]{}|#&\-~]/g, '\\$&') : pattern;
    return {
      kind: 'search',
      operation: {
        pattern: wholeWord ? `\\b(?:${expression})\\b` : expression,
        ignoreCase: !caseSensitive,
        limit: more.maxResults ?? 50,
        ...given({
          path,
          glob: more.includePattern,
          exclude: more.excludePattern,
          context: more.contextLines,
        }),
      },
      render: (result) => laceSearchText(pattern, result),
    };
  },
});

/** All tools except `file_edit`, which is defined in dialect.ts. */
export const LACE_TOOLS: readonly Tool[] = [
  fileRead,
  fileWrite,
  fileInsert,
  fileList,
  fileFind,
  ripgrepSearch,
];

/** Sizes such as `5 bytes`, `1.5 KB`, in the original system's format. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const units = ['KB', 'MB', 'GB'] as const;
  const power = Math.min(Math.floor(Math.log(bytes) / Math.log(1024)), units.length);
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power - 1]}`;
}

/**
 * Entries whose name matches, newest first. Folders come last, because their times are not read.
 */
export function laceFindText(query: FindQuery, result: ListResult, context: RenderContext): string {
  const matches = wildcardMatcher(query.pattern);
  const found = result.entries
    .filter(({ path }) => query.includeHidden || !path.split('/').some((name) => name.startsWith('.')))
    .filter(({ path }) => matches(path.slice(path.lastIndexOf('/') + 1)))
    .toSorted((a, b) => (b.mtimeMs ?? 0) - (a.mtimeMs ?? 0));
  if (found.length === 0) return `No files found matching pattern: ${query.pattern}`;
  const folder = query.path === '.' ? '' : `${query.path.replace(/\/+$/, '')}/`;
  const rows = found.slice(0, query.maxResults).map(({ path, kind, sizeBytes, mtimeMs }) => {
    const name = pathText(`${folder}${path}`);
    if (kind === 'directory') return `${name}/`;
    const when = mtimeMs === undefined ? '' : ` - ${relativeTime(mtimeMs, context.nowMs)}`;
    return sizeBytes === undefined ? name : `${name} (${sizeText(sizeBytes)})${when}`;
  });
  if (found.length > query.maxResults)
    rows.push(`\nResults limited to ${query.maxResults}. Use maxResults parameter to see more.`);
  return rows.join('\n');
}

/** Matches grouped by file, with numbered lines. */
export function laceSearchText(pattern: string, result: SearchResult): string {
  if (result.hits.length === 0)
    return `No matches found for pattern: ${pattern}${result.truncated ? ' in what could be searched' : ''}`;
  const { matches } = result;
  const rows = [`Found ${matches} match${matches === 1 ? '' : 'es'}:\n`];
  if (result.truncated) rows.push('Results limited. Use maxResults parameter to see more.\n');
  for (const [path, hits] of byFile(result)) {
    const width = String(hits.at(-1)?.line ?? 1).length;
    rows.push(
      `${pathText(path)}:`,
      ...hits.map(({ line, text }) => `${String(line).padStart(width)}\t${text}`),
      '',
    );
  }
  return rows.join('\n');
}

function byFile({ hits }: SearchResult): ReadonlyMap<string, SearchResult['hits']> {
  const files = new Map<string, SearchResult['hits'][number][]>();
  for (const hit of hits) {
    const known = files.get(hit.path);
    if (known === undefined) files.set(hit.path, [hit]);
    else known.push(hit);
  }
  return files;
}
