import { objectOf } from '../model/shape.ts';
import { commandText } from '../report/command-words.ts';
import { editTool, writeTool } from './claude-tools.ts';
import { commandTool } from './command-tool.ts';
import { linesIn, VIEW_RANGE } from './text-editor.ts';
import { type Dialect, flag, lookingTool, problem, string, type Tool } from './tool.ts';

const FILE = string('Relative to the workspace root, or absolute inside it.');
const FOLDER = string('Folder to look in (default: the workspace).');

const FILE_TOOLS: readonly Tool[] = [
  lookingTool({
    name: 'read',
    title: 'Read a file',
    description:
      'Show a file with line numbers, "N<TAB>text". Images are shown, other binary files described.',
    inputSchema: objectOf({ file_path: FILE, view_range: VIEW_RANGE }, ['file_path']),
    call: ({ file_path: path, view_range: range }) => {
      const lines = linesIn(range);
      return 'kind' in lines ? lines : { kind: 'read', operation: { path, ...lines } };
    },
  }),
  writeTool({
    name: 'write',
    title: 'Write a file',
    description:
      'Create a file or replace all of it. An existing file must have been shown in full by `read`. Creates missing folders.',
    path: FILE.description,
    content: 'The whole content.',
  }),
  editTool({
    name: 'edit',
    title: 'Edit a file',
    description:
      'Replace a text in a file that `read` has shown. It must be there exactly once, or set replace_all.',
    path: FILE.description,
    old: 'Text to replace, exactly as in the file.',
    all: 'Replace every occurrence.',
  }),
  lookingTool({
    name: 'glob',
    title: 'Find files by name',
    description: 'Find files by a glob on their path, newest first. Leaves out what .gitignore names.',
    inputSchema: objectOf({ pattern: string('Glob, such as "src/**/*.ts".'), path: FOLDER }, ['pattern']),
    call: (operation) => ({ kind: 'find', operation }),
  }),
  lookingTool({
    name: 'grep',
    title: 'Search in files',
    description: 'Search file contents with a regular expression. Leaves out what .gitignore names.',
    inputSchema: objectOf(
      {
        pattern: string('Regular expression in Rust syntax.'),
        path: string('File or folder to search (default: the workspace).'),
      },
      ['pattern'],
    ),
    call: (operation) => ({ kind: 'search', operation }),
  }),
];

const SHELL = commandTool('bash', 'timeout_ms');

/** Every command runs in a new shell, so the argument `restart` does nothing. */
const BASH: Tool = {
  ...SHELL,
  inputSchema: {
    ...SHELL.inputSchema,
    properties: {
      ...SHELL.inputSchema.properties,
      restart: flag('Has no effect: every command runs in a shell of its own.'),
    },
    required: [],
  },
  call: ({ restart, ...args }) => {
    if (args['command'] !== undefined) return SHELL.call(args);
    if (restart !== true) return problem('bash needs a command');
    return {
      kind: 'run',
      operation: { command: 'true' },
      render: (result, { tools }) =>
        result.exitCode === 0 ? 'Every command runs in a shell of its own.' : commandText(result, tools),
    };
  },
};

/** The six tools of Anthropic's agent toolset. */
export const ANTHROPIC: Dialect = {
  name: 'anthropic',
  tools: [...FILE_TOOLS, BASH],
  names: {
    read: 'read',
    write: 'write',
    edit: 'edit',
    find: 'glob',
    search: 'grep',
    arguments: { path: 'file_path', range: 'view_range', replaceAll: 'replace_all' },
  },
  unknownArguments: 'refuse',
  terms: { path: 'file_path', offset: 'view_range', limit: 'view_range' },
  instructions:
    'Files here change only after you have looked. Call `read` on a file before `edit`, and on all of it before `write`; a new file needs no `read`. ' +
    'Change parts with `edit`. A refusal says what changed and what to call next: do that instead of repeating the call. Paths are relative to the workspace.',
};
