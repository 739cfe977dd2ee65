import type { Edit } from '../model/intent.ts';
import { defined } from '../model/record.ts';
import { objectOf } from '../model/shape.ts';
import { ADDS, DESTROYS, type Dialect, flag, integer, lookingTool, problem, string, tool } from './tool.ts';

const FILE = string('Path of the file.');
const FOLDER = string('Folder to look in (default: the workspace).');
const MAX_RESULTS = integer('How many results to show (default 50).', { minimum: 1, maximum: 1000 });
const DEFAULT_RESULTS = 50;
const DEFAULT_DEPTH = 3;
const MAX_WHOLE_BYTES = 64 * 1024;
const MAX_RANGE_LINES = 2000;

const fileRead = lookingTool({
  name: 'file_read',
  title: 'Read a file',
  description:
    'Read a file with line numbers. Up to 64 KB at once; read larger files in ranges of up to 2000 lines, with startLine and endLine.',
  inputSchema: objectOf(
    {
      path: FILE,
      startLine: integer('First line, counted from 1.', { minimum: 1 }),
      endLine: integer('Last line, included.', { minimum: 1 }),
    },
    ['path'],
  ),
  call: ({ path, startLine, endLine }) => {
    if (startLine === undefined && endLine === undefined)
      return {
        kind: 'read',
        operation: { path, limit: MAX_WHOLE_BYTES, maxBytes: MAX_WHOLE_BYTES },
      };
    const offset = startLine ?? 1;
    if (endLine !== undefined && endLine < offset) return problem('endLine must be >= startLine');
    const limit = Math.min(MAX_RANGE_LINES, (endLine ?? Number.MAX_SAFE_INTEGER) - offset + 1);
    return { kind: 'read', operation: { path, offset, limit } };
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
      content: string('The whole content; may be empty.'),
      createDirs: flag('Create missing folders (default true).', { default: true }),
    },
    ['path', 'content'],
  ),
  annotations: DESTROYS,
  call: ({ path, content, createDirs = true }) => ({
    kind: 'write',
    operation: { path, content, makeParents: createDirs },
  }),
});

const fileInsert = tool({
  name: 'file_insert',
  title: 'Insert lines',
  description: 'Insert content after a line (counted from 1), or append it. The file must have been read.',
  inputSchema: objectOf(
    {
      path: FILE,
      content: string('What to insert.'),
      line: integer('Insert after this line; absent: append.', { minimum: 1 }),
    },
    ['path', 'content'],
  ),
  annotations: ADDS,
  call: ({ path, content, line }) => ({
    kind: 'insert',
    operation: { path, content, ...defined({ afterLine: line }) },
  }),
});

const fileList = lookingTool({
  name: 'file_list',
  title: 'List files',
  description: 'List a folder, with kinds and sizes.',
  inputSchema: objectOf({
    path: FOLDER,
    recursive: flag('List folders below too.', { default: false }),
    maxDepth: integer('How deep, with recursive (default 3).', { minimum: 1, maximum: 10 }),
    after: string('Continue after this name; not with recursive.'),
    maxResults: MAX_RESULTS,
  }),
  call: ({ recursive = false, maxDepth = DEFAULT_DEPTH, maxResults = DEFAULT_RESULTS, ...list }) => {
    const depth = recursive ? maxDepth + 1 : 1;
    return { kind: 'list', operation: { ...list, depth, limit: maxResults } };
  },
});

const fileFind = lookingTool({
  name: 'file_find',
  title: 'Find files by name',
  description: 'Find files by a glob on their name or path, newest first. Leaves out what .gitignore names.',
  inputSchema: objectOf(
    {
      pattern: string('Name to look for, such as "*.ts".'),
      path: FOLDER,
      maxResults: MAX_RESULTS,
    },
    ['pattern'],
  ),
  call: ({ maxResults: limit = DEFAULT_RESULTS, ...find }) => ({
    kind: 'find',
    operation: { ...find, limit },
  }),
});

const ripgrepSearch = lookingTool({
  name: 'ripgrep_search',
  title: 'Search in files',
  description: 'Search file contents for a text, or with literal false for a regular expression.',
  inputSchema: objectOf(
    {
      pattern: string('What to search for.'),
      path: string('File or folder to search (default: the workspace).'),
      caseSensitive: flag('Distinguish upper and lower case.', { default: false }),
      wholeWord: flag('Match whole words only.', { default: false }),
      literal: flag('Take the pattern as text (default) or as a regular expression.', { default: true }),
      includePattern: string('Only files that match this glob.'),
      excludePattern: string('Leave out files that match this glob.'),
      maxResults: MAX_RESULTS,
      contextLines: integer('Lines to show around each match (default 0).', { minimum: 0, maximum: 10 }),
    },
    ['pattern'],
  ),
  call: ({ pattern, path, caseSensitive = false, wholeWord = false, literal = true, ...more }) => ({
    kind: 'search',
    operation: {
      pattern,
      literal,
      wholeWord,
      ignoreCase: !caseSensitive,
      limit: more.maxResults ?? DEFAULT_RESULTS,
      ...defined({
        path,
        glob: more.includePattern,
        exclude: more.excludePattern,
        context: more.contextLines,
      }),
    },
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
        items: objectOf(
          {
            old_text: string('Text to replace; empty only for an empty file.'),
            new_text: string('Text to put there; empty deletes.'),
            occurrences: integer('How often old_text is there (default 1).', { minimum: 1 }),
          },
          ['old_text', 'new_text'],
        ),
      },
      dry_run: flag('Only show what would change.'),
    },
    ['path', 'edits'],
  ),
  annotations: { ...DESTROYS, idempotentHint: false },
  call: ({ path, edits: asked, dry_run: dryRun = false }) => {
    const edits = asked.map(({ old_text, new_text, occurrences = 1 }): Edit => {
      const edit = { oldString: old_text, newString: new_text };
      return occurrences === 1 ? edit : { ...edit, replaceAll: true, occurrences };
    });
    if (!dryRun) return { kind: 'edit', operation: { path, edits } };
    const changes = [{ kind: 'edit', path, edits }] as const;
    return { kind: 'apply', operation: { changes, dryRun } };
  },
});

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
