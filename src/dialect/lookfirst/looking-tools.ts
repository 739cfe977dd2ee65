import { defined } from '../../model/record.ts';
import { objectOf } from '../../model/shape.ts';
import { flag, integer, lookingTool, problem, string, type Tool } from '../tool.ts';

const ALL_LINES = Number.MAX_SAFE_INTEGER;
/** Maximum total bytes of several files in one answer; a file that no longer fits is refused. */
const MAX_TOGETHER = 256 << 10;
const PATH = 'Relative to the workspace root, or absolute inside it.';
const FOLDER = 'Folder; default: the workspace root.';

/** The tools that change nothing. */
export const LOOKING_TOOLS: readonly Tool[] = [
  lookingTool({
    name: 'read_file',
    title: 'Read a file',
    description:
      'Read a text file, whole or in part (2000 lines by default). Lines come as "N<TAB>text"; numbers and tabs are not part of the file. ' +
      'The last line is a receipt; it carries a revision once all of the file has been seen. Images are shown, other binary files described.',
    inputSchema: objectOf({
      path: string(PATH),
      paths: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        description: 'Several files to read whole, instead of path.',
      },
      offset: integer('First line to read, counted from 1.'),
      limit: integer('How many lines to read.'),
    }),
    call: ({ path, paths, ...lines }) => {
      if (path !== undefined && paths === undefined) return { kind: 'read', operation: { path, ...lines } };
      if (path !== undefined || paths === undefined) return problem('give either path or paths');
      if (Object.keys(lines).length > 0) return problem('offset and limit are for a single path');
      return {
        kind: 'read-many',
        operation: { paths, each: { limit: ALL_LINES }, together: MAX_TOGETHER },
      };
    },
  }),
  lookingTool({
    name: 'list_directory',
    title: 'List a folder',
    description:
      'List what is in a folder, with kinds and sizes. A folder listed in full may be deleted afterwards. The answer says if entries are missing.',
    inputSchema: objectOf({
      path: string(FOLDER),
      depth: integer('How many levels of folders to show; default 1.'),
      after: string('Continue a listing that was cut, after this name; not with depth.'),
    }),
    call: (operation) => ({ kind: 'list', operation }),
  }),
  lookingTool({
    name: 'find_files',
    title: 'Find files by name',
    description:
      'Find files whose path matches a glob, newest first. Files that .gitignore names are left out. A pattern without "/" matches names in any folder.',
    inputSchema: objectOf(
      {
        pattern: string('Glob, such as "*.ts" or "src/**/*.test.ts".'),
        path: string(FOLDER),
      },
      ['pattern'],
    ),
    call: (operation) => ({ kind: 'find', operation }),
  }),
  lookingTool({
    name: 'search_text',
    title: 'Search in files',
    description:
      'Search file contents with a regular expression (ripgrep). Files that .gitignore names and binary files are left out. ' +
      'Finding a line is not reading the file: read it before changing it.',
    inputSchema: objectOf(
      {
        pattern: string('Regular expression in Rust syntax.'),
        path: string('File or folder; default: the workspace root.'),
        glob: string('Only files that match, such as "*.ts".'),
        mode: {
          type: 'string',
          enum: ['lines', 'files', 'count'],
          description: 'Matching lines (default), files, or matches per file.',
        },
        context: integer('Lines around each match.', { minimum: 0 }),
        ignore_case: flag('Ignore case.'),
        literal: flag('The pattern is plain text.'),
      },
      ['pattern'],
    ),
    call: ({ ignore_case: ignoreCase, ...search }) => ({
      kind: 'search',
      operation: { ...search, ...defined({ ignoreCase }) },
    }),
  }),
  lookingTool({
    name: 'file_status',
    title: 'What was seen of a file',
    description:
      'Show what this session has seen of a file and whether it changed since; without a path, of every file.',
    inputSchema: objectOf({ path: { type: 'string' } }),
    call: (operation) => ({ kind: 'status', operation }),
  }),
];
