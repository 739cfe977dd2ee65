import { type HostCall, type Interpretation, interpret, mayChange } from '../interpret.ts';
import type { HostTable, Rule } from '../table.ts';
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
    Edit: EDIT_OR_CREATE,
    MultiEdit: EDIT_OR_CREATE,
    NotebookEdit: TOUCH_NOTEBOOK,
    Bash: SHELL,
    Grep: SEARCH,
    Glob: LIST_RULE,
    LS: LIST_RULE,
    BashOutput: NO_RULE,
    KillShell: NO_RULE,
    Task: NO_RULE,
    Agent: NO_RULE,
    TodoWrite: NO_RULE,
    WebFetch: NO_RULE,
    WebSearch: NO_RULE,
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
    Bash: SHELL,
    shell: SHELL,
    local_shell: SHELL,
    shell_command: SHELL,
    exec_command: SHELL,
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
    list_directory: LIST_RULE,
    glob: LIST_RULE,
    search_file_content: SEARCH,
    grep_search: SEARCH,
    save_memory: NO_RULE,
    write_todos: NO_RULE,
    google_web_search: NO_RULE,
    web_fetch: NO_RULE,
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
    edit: EDIT_OR_CREATE,
    multiedit: EDIT_OR_CREATE,
    patch: PATCH,
    apply_patch: PATCH,
    bash: SHELL,
    grep: SEARCH,
    glob: LIST_RULE,
    list: LIST_RULE,
    task: NO_RULE,
    todowrite: NO_RULE,
    todoread: NO_RULE,
    webfetch: NO_RULE,
    skill: NO_RULE,
    invalid: NO_RULE,
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
    Write: WRITE,
    TabWrite: WRITE,
    StrReplace: EDIT_OR_CREATE,
    Edit: EDIT_OR_CREATE,
    MultiEdit: EDIT_OR_CREATE,
    EditNotebook: TOUCH_NOTEBOOK,
    ApplyPatch: PATCH,
    Delete: DELETE,
    Shell: SHELL,
    Grep: SEARCH,
    Glob: LIST_RULE,
    LS: LIST_RULE,
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
    list_dir: LIST_RULE,
    file_search: LIST_RULE,
    semantic_search: NO_RULE,
    get_errors: NO_RULE,
    manage_todo_list: NO_RULE,
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
    str_replace_based_edit_tool: TEXT_EDITOR_RULES,
    str_replace_editor: TEXT_EDITOR_RULES,
    memory: TEXT_EDITOR_RULES,
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
