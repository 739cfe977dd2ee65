import { type HostCall, type Interpretation, interpret, mayChange } from '../interpret.ts';
import { type HostTable, type Rule, toolsWith } from '../table.ts';
import {
  DELETE,
  EDIT,
  EDIT_OR_CREATE,
  INSERT,
  LIST_RULE,
  NO_RULE,
  PATCH,
  READ,
  READ_NUMBERED,
  READ_PLAIN,
  SEARCH,
  SHELL,
  TEXT_EDITOR_RULES,
  usualRules,
  WRITE,
} from './usual.ts';

const TOUCH_NOTEBOOK: readonly Rule[] = [{ does: 'touch', path: ['notebook_path', 'filePath', 'path'] }];
const SHOW_IMAGE: readonly Rule[] = [{ does: 'look', path: ['path', 'file_path', 'filePath'] }];

/**
 * The tools of Claude Code. `Read` numbers its lines, and the host also records the lines without
 * numbers.
 */
const CLAUDE_CODE: HostTable = {
  id: 'claude-code',
  words: {
    read: 'Read',
    write: 'Write',
    edit: 'Edit',
    arguments: { path: 'file_path', from: 'offset', count: 'limit', replaceAll: 'replace_all' },
  },
  tools: {
    Read: READ_NUMBERED,
    Write: WRITE,
    ...toolsWith(EDIT_OR_CREATE, 'Edit MultiEdit'),
    NotebookEdit: TOUCH_NOTEBOOK,
    Bash: SHELL,
    Grep: SEARCH,
    ...toolsWith(LIST_RULE, 'Glob LS'),
    ...toolsWith(NO_RULE, 'BashOutput KillShell Task Agent TodoWrite WebFetch WebSearch'),
  },
};

/** The tools of Codex. It has no read tool: it reads files with shell commands. */
const CODEX: HostTable = {
  id: 'codex',
  words: {
    read: 'cat',
    write: 'apply_patch',
    edit: 'apply_patch',
    spelling: 'shell',
    arguments: { path: 'command' },
  },
  tools: {
    apply_patch: PATCH,
    ...toolsWith(SHELL, 'Bash shell local_shell shell_command exec_command'),
    // Sends input to a running process, which may do anything with it.
    write_stdin: [{ does: 'run', command: 'chars', optional: true }],
    view_image: SHOW_IMAGE,
    update_plan: NO_RULE,
  },
};

const GEMINI: HostTable = {
  id: 'gemini',
  words: {
    read: 'read_file',
    write: 'write_file',
    edit: 'replace',
    list: 'list_directory',
    arguments: { path: 'file_path', from: 'start_line', to: 'end_line', replaceAll: 'allow_multiple' },
  },
  tools: {
    read_file: READ_PLAIN,
    // The tool accepts globs and joins the files with marks that a file's content can forge, so its
    // answer never counts as reading a file.
    read_many_files: [
      { does: 'look', each: 'include', path: '.' },
      { does: 'look', each: 'paths', path: '.' },
    ],
    write_file: WRITE,
    replace: EDIT_OR_CREATE,
    run_shell_command: SHELL,
    ...toolsWith(LIST_RULE, 'list_directory glob'),
    ...toolsWith(SEARCH, 'search_file_content grep_search'),
    ...toolsWith(NO_RULE, 'save_memory write_todos google_web_search web_fetch'),
  },
};

const OPENCODE: HostTable = {
  id: 'opencode',
  words: {
    read: 'read',
    write: 'write',
    edit: 'edit',
    arguments: {
      ...{ path: 'filePath', from: 'offset', count: 'limit', replaceAll: 'replaceAll' },
      oldText: 'oldString',
    },
  },
  tools: {
    read: READ_NUMBERED,
    write: WRITE,
    ...toolsWith(EDIT_OR_CREATE, 'edit multiedit'),
    ...toolsWith(PATCH, 'patch apply_patch'),
    bash: SHELL,
    grep: SEARCH,
    ...toolsWith(LIST_RULE, 'glob list'),
    ...toolsWith(NO_RULE, 'task todowrite todoread webfetch skill invalid'),
  },
};

/** The tools of Cursor, according to its documentation. */
const CURSOR: HostTable = {
  id: 'cursor',
  words: {
    read: 'Read',
    write: 'Write',
    edit: 'StrReplace',
    delete: 'Delete',
    list: 'LS',
    arguments: { path: 'path', from: 'offset', count: 'limit', replaceAll: 'replace_all' },
  },
  tools: {
    Read: READ,
    ...toolsWith(WRITE, 'Write TabWrite'),
    ...toolsWith(EDIT_OR_CREATE, 'StrReplace Edit MultiEdit'),
    EditNotebook: TOUCH_NOTEBOOK,
    ApplyPatch: PATCH,
    Delete: DELETE,
    Shell: SHELL,
    Grep: SEARCH,
    ...toolsWith(LIST_RULE, 'Glob LS'),
  },
};

/** The tools of VS Code's agent mode, according to its documentation. */
const VSCODE: HostTable = {
  id: 'vscode',
  words: {
    read: 'read_file',
    write: 'create_file',
    edit: 'replace_string_in_file',
    list: 'list_dir',
    arguments: { path: 'filePath', from: 'startLine', to: 'endLine', oldText: 'oldString' },
  },
  tools: {
    read_file: READ,
    create_file: WRITE,
    replace_string_in_file: EDIT,
    multi_replace_string_in_file: [
      {
        does: 'edit',
        each: 'replacements',
        path: ['filePath', 'path'],
        edit: { old: ['oldString', 'old_string'], new: ['newString', 'new_string'] },
      },
    ],
    insert_edit_into_file: [{ does: 'touch', path: ['filePath', 'path'] }],
    edit_notebook_file: TOUCH_NOTEBOOK,
    apply_patch: PATCH,
    create_directory: [{ does: 'mkdir', path: ['dirPath', 'path'] }],
    run_in_terminal: SHELL,
    grep_search: SEARCH,
    ...toolsWith(LIST_RULE, 'list_dir file_search'),
    ...toolsWith(NO_RULE, 'semantic_search get_errors manage_todo_list'),
  },
};

/** The text editor, bash and memory tools of the Anthropic API. */
const ANTHROPIC: HostTable = {
  id: 'anthropic',
  words: {
    read: 'view',
    write: 'create',
    edit: 'str_replace',
    insert: 'insert',
    arguments: { path: 'path' },
  },
  tools: {
    ...toolsWith(TEXT_EDITOR_RULES, 'str_replace_based_edit_tool str_replace_editor memory'),
    bash: SHELL,
    read: READ,
    write: WRITE,
    edit: EDIT,
    insert: INSERT,
  },
};

/** Common tools, each named after its action. Used for programs without a table of their own. */
const GENERIC: HostTable = {
  id: 'generic',
  words: {
    read: 'read',
    write: 'write',
    edit: 'edit',
    insert: 'insert',
    delete: 'delete',
    arguments: { path: 'path', from: 'offset', count: 'limit', replaceAll: 'replace_all' },
  },
  tools: {
    read: READ,
    write: WRITE,
    edit: EDIT,
    insert: INSERT,
    delete: DELETE,
    move: [{ does: 'move', source: 'source', destination: 'destination' }],
    patch: PATCH,
    run: SHELL,
    search: SEARCH,
  },
};

/** Hosts whose built-in tools are known. */
export const HOSTS: readonly HostTable[] = [
  CLAUDE_CODE,
  CODEX,
  GEMINI,
  OPENCODE,
  CURSOR,
  VSCODE,
  ANTHROPIC,
  GENERIC,
];

/**
 * Interprets a call of a tool by the host's table. A tool that is not in the table, such as the MCP
 * tool `mcp__files__write_file`, is interpreted by its name or arguments. That result is marked as
 * guessed.
 */
export function interpretFor(host: HostTable | undefined, call: HostCall): Interpretation {
  const { name } = call.tool;
  if (host !== undefined && Object.hasOwn(host.tools, name)) return interpret(call, host.tools[name]);
  const usual = usualRules(name);
  return usual === undefined ? interpret(call, undefined) : { ...interpret(call, usual), guessed: true };
}

/** True if a host has a tool that reads files. Others read them with shell commands. */
export function hasReadTool(host: string): boolean {
  const tools = HOSTS.find(({ id }) => id === host)?.tools ?? {};
  return Object.values(tools).some((rules) => rules.some(({ does }) => does === 'read'));
}

/** True if a host's own tool changes files or runs commands. False for tools that are not in its table. */
export function changesFiles(host: string, tool: string): boolean {
  const tools = HOSTS.find(({ id }) => id === host)?.tools ?? {};
  return Object.hasOwn(tools, tool) && tools[tool]?.some(mayChange) === true;
}
