import type { Edit } from '../../model/intent.ts';
import { defined } from '../../model/record.ts';
import type { Notice, ReadResult } from '../../model/results.ts';
import { objectOf } from '../../model/shape.ts';
import { countOf } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { noticeTexts } from '../../report/describe-notice.ts';
import type { ReadStyle, RenderContext } from '../render.ts';
import { ADDS, DESTROYS, type Dialect, READS, tool } from '../tool.ts';
import { laceFindText, laceSearchText, sizeText, treeText } from './texts.ts';

const FILE = { type: 'string', description: 'Path of the file.' } as const;
const HIDDEN = {
  type: 'boolean',
  default: false,
  description: 'Include names that begin with a dot.',
} as const;
const MAX_RESULTS = {
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  description: 'How many results to show (default 50).',
} as const;
const MAX_WHOLE_BYTES = 64 * 1024;
const MAX_RANGE_LINES = 2000;
/**
 * file_list and file_find filter at most this many entries. If there are more, their answers say
 * that entries are missing.
 */
const MAX_ENTRIES = 200_000;

/** Shows lines like `cat -n`, with right-aligned numbers, and says if the file has more lines. */
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

const fileRead = tool({
  name: 'file_read',
  title: 'Read a file',
  description:
    'Read a file with line numbers. Up to 64 KB at once; read larger files in ranges of up to 2000 lines, with startLine and endLine.',
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
    render: ({ sizeBytes, notices }, context) =>
      told(`Successfully wrote ${sizeText(sizeBytes)} to ${pathText(path)}`, { notices, context, path }),
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
    operation: { path, content, ...defined({ afterLine: line }) },
    render: ({ inserted, notices }, context) => {
      const added = inserted === undefined ? 0 : inserted.to - inserted.from + 1;
      const where = line === undefined ? 'Appended to end of file' : `Inserted after line ${line}`;
      const done = `${where} in ${pathText(path)} (+${countOf(added, 'line')})`;
      return told(done, { notices, context, path });
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
    includeHidden: HIDDEN,
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
      ...defined({ pattern }),
    };
    return {
      kind: 'list',
      // If `recursive`, also list levels that are not shown, because the label of a summarised
      // folder counts everything below it.
      operation: { path, as: 'entries', limit: MAX_ENTRIES, depth: recursive ? 32 : 1 },
      render: ({ entries, cut }) => treeText(entries, { ...tree, isCut: cut !== 0 }),
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
      includeHidden: HIDDEN,
      maxResults: MAX_RESULTS,
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
      caseSensitive: { type: 'boolean', default: false, description: 'Distinguish upper and lower case.' },
      wholeWord: { type: 'boolean', default: false, description: 'Match whole words only.' },
      literal: {
        type: 'boolean',
        default: true,
        description: 'Take the pattern as text (default) or as a regular expression.',
      },
      includePattern: { type: 'string', description: 'Only files that match this glob.' },
      excludePattern: { type: 'string', description: 'Leave out files that match this glob.' },
      maxResults: MAX_RESULTS,
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
  call: ({ pattern, path, caseSensitive = false, wholeWord = false, literal = true, ...more }) => ({
    kind: 'search',
    operation: {
      pattern,
      literal,
      wholeWord,
      ignoreCase: !caseSensitive,
      limit: more.maxResults ?? 50,
      ...defined({
        path,
        glob: more.includePattern,
        exclude: more.excludePattern,
        context: more.contextLines,
      }),
    },
    render: (result) => laceSearchText(pattern, result),
  }),
});

/** Several replacements in one file, all or none, each with an exact number of occurrences. */
const fileEdit = tool({
  name: 'file_edit',
  title: 'Edit a file',
  description:
    'Replace exact texts in a file that was read, all or none. Each old_text must be there exactly once, or exactly occurrences times.',
  inputSchema: objectOf(
    {
      path: FILE,
      edits: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          properties: {
            old_text: { type: 'string', description: 'Text to replace; empty only for an empty file.' },
            new_text: { type: 'string', description: 'Text to put there; empty deletes.' },
            occurrences: {
              type: 'integer',
              minimum: 1,
              description: 'How often old_text is there (default 1).',
            },
          },
          required: ['old_text', 'new_text'],
          additionalProperties: false,
        },
      },
      dry_run: { type: 'boolean', description: 'Only show what would change.' },
    },
    ['path', 'edits'],
  ),
  annotations: { ...DESTROYS, idempotentHint: false },
  call: ({ path, edits: asked, dry_run: dryRun = false }) => {
    const edits = asked.map(({ old_text, new_text, occurrences = 1 }): Edit => {
      const edit = { oldString: old_text, newString: new_text };
      return occurrences === 1 ? edit : { ...edit, replaceAll: true, occurrences };
    });
    const count = countOf(edits.length, 'edit');
    if (dryRun)
      return {
        kind: 'apply',
        operation: { changes: [{ kind: 'edit', path, edits }], dryRun },
        render: ({ results }, context) =>
          told(`Dry run completed. Would apply ${count} to ${pathText(path)}`, {
            diff: results[0]?.diff,
            notices: results[0]?.notices ?? [],
            context,
            path,
          }),
      };
    return {
      kind: 'edit',
      operation: { path, edits },
      render: ({ notices }, context) => told(`Successfully applied ${count}`, { notices, context, path }),
    };
  },
});

interface More {
  readonly diff?: string | undefined;
  readonly notices: readonly Notice[];
  readonly context: RenderContext;
  readonly path: string;
}

function told(done: string, { diff, notices, context, path }: More): string {
  return [
    done,
    ...(diff === undefined || diff === '' ? [] : [diff]),
    ...noticeTexts(notices, path, context),
  ].join('\n');
}

/** The file tools of the system that the preset `thread-history` copies. */
export const LACE: Dialect = {
  name: 'lace',
  tools: [fileRead, fileWrite, fileInsert, fileList, fileFind, ripgrepSearch, fileEdit],
  names: {
    read: 'file_read',
    write: 'file_write',
    edit: 'file_edit',
    insert: 'file_insert',
    list: 'file_list',
    find: 'file_find',
    search: 'ripgrep_search',
    arguments: { path: 'path', from: 'startLine', to: 'endLine', oldText: 'old_text' },
  },
  unknownArguments: 'refuse',
  terms: {
    old_string: 'old_text',
    new_string: 'new_text',
    after_line: 'line',
    offset: 'startLine',
    limit: 'endLine',
  },
  instructions:
    'Files here change only after you have looked. Call file_read on a file before file_write, file_insert or file_edit; a new file needs no read. ' +
    'Change parts with file_edit. A refusal says why and what to call next: do that instead of repeating the call.',
};
