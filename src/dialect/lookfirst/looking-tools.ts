import { given, READS, type Tool, tool } from '../tool.ts';
import { findText, listText, searchText, statusText } from './looking-text.ts';
import { RECEIPT_STYLE } from './read-receipt.ts';

/** As many entries as a read shows lines; a longer list only fills the context. */
const MAX_ENTRIES = 2000;
const PATH = 'Relative to the workspace root, or absolute inside it.';
const FOLDER = 'Folder to look in; default: the workspace root.';

/** The tools that change nothing. */
export const LOOKING_TOOLS: readonly Tool[] = [
  tool({
    name: 'read_file',
    title: 'Read a file',
    description:
      'Read a text file, whole or in part (2000 lines by default). Lines come as "N<TAB>text"; numbers and tabs are not part of the file. ' +
      'The last line is a receipt; it carries a revision once all of the file has been seen. Images are shown, other binary files described.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: PATH },
        offset: { type: 'integer', description: 'First line to read, counted from 1.' },
        limit: { type: 'integer', description: 'How many lines to read.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    annotations: READS,
    call: (operation) => ({ kind: 'read', operation, style: RECEIPT_STYLE }),
  }),
  tool({
    name: 'list_directory',
    title: 'List a folder',
    description:
      'List what is in a folder, with kinds and sizes. A folder listed in full may be deleted afterwards. Says so if not everything is shown.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: FOLDER },
        depth: { type: 'integer', description: 'How many levels of folders to show; default 1.' },
      },
      additionalProperties: false,
    },
    annotations: READS,
    call: (args) => ({ kind: 'list', operation: { ...args, limit: MAX_ENTRIES }, render: listText }),
  }),
  tool({
    name: 'find_files',
    title: 'Find files by name',
    description:
      'Find files whose path matches a glob, newest first. Files that .gitignore names are left out. A pattern without "/" matches names in any folder.',
    inputSchema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', description: 'Glob, such as "*.ts" or "src/**/*.test.ts".' },
        path: { type: 'string', description: FOLDER },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    annotations: READS,
    call: (operation) => ({
      kind: 'find',
      operation,
      render: (result) => findText(operation.pattern, result),
    }),
  }),
  tool({
    name: 'search_text',
    title: 'Search in files',
    description:
      'Search file contents with a regular expression (ripgrep). Files that .gitignore names and binary files are left out. ' +
      'Finding a line is not reading the file: read it before changing it.',
    inputSchema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', description: 'Regular expression in Rust syntax.' },
        path: { type: 'string', description: 'File or folder to search; default: the workspace root.' },
        glob: { type: 'string', description: 'Search only in files that match this glob, such as "*.ts".' },
        mode: {
          type: 'string',
          enum: ['lines', 'files', 'count'],
          description: 'Show matching lines (default), only the files, or how many matches each file has.',
        },
        context: { type: 'integer', minimum: 0, description: 'Lines to show around each match.' },
        ignore_case: { type: 'boolean', description: 'Match upper and lower case alike.' },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    annotations: READS,
    call: ({ ignore_case: ignoreCase, ...search }) => ({
      kind: 'search',
      operation: { ...search, ...given({ ignoreCase }) },
      render: (result) => searchText(search.pattern, result),
    }),
  }),
  tool({
    name: 'file_status',
    title: 'What was seen of a file',
    description:
      'Tell what this session has seen of a file and whether that is still true; without a path, of every file it has seen.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', description: PATH } },
      additionalProperties: false,
    },
    annotations: READS,
    call: (operation) => ({ kind: 'status', operation, render: statusText }),
  }),
];
