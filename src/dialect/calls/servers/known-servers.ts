import { type Rule, type ServerTable, type ShownForm, toolsWith } from '../table.ts';

const READ: readonly Rule[] = [
  { does: 'read', path: 'path', lines: { head: 'head', tail: 'tail' }, shown: { as: 'verbatim' } },
];
/**
 * The form of an answer with several files in one text. The section of each file begins with
 * `PATH:`, or with `PATH: Error - reason` if the file could not be read.
 */
const SECTIONS: ShownForm = {
  as: 'sections',
  open: 'PATH:\n',
  failed: 'PATH: Error - ',
  close: '\n',
  between: '\n---\n',
};
const LOOK_AT: readonly Rule[] = [{ does: 'look', path: 'path' }];

/** The official server, `@modelcontextprotocol/server-filesystem`. */
export const OFFICIAL_FILESYSTEM: ServerTable = {
  id: 'filesystem',
  serverNames: ['secure-filesystem-server'],
  signature: ['read_text_file', 'list_directory_with_sizes', 'directory_tree', 'list_allowed_directories'],
  relativeTo: 'root',
  equalNames: true,
  expandsHome: true,
  words: {
    read: 'read_text_file',
    write: 'write_file',
    edit: 'edit_file',
    list: 'list_directory',
    arguments: { path: 'path' },
  },
  sentences: {
    OUTSIDE_WORKSPACE: 'Access denied - path outside allowed directories: PATH not in ROOT',
    NO_MATCH: 'Could not find exact match for edit:\nTEXT',
  },
  tools: {
    ...toolsWith(READ, 'read_file read_text_file'),
    read_media_file: [{ does: 'read', path: 'path', shown: { as: 'found' } }],
    read_multiple_files: [{ does: 'read', each: 'paths', path: '.', shown: SECTIONS }],
    write_file: [{ does: 'write', path: 'path', content: 'content' }],
    edit_file: [
      { does: 'read', path: 'path', shown: { as: 'diff' }, when: { argument: 'dryRun', is: [true] } },
      {
        does: 'edit',
        path: 'path',
        edit: { each: 'edits', old: 'oldText', new: 'newText' },
        unless: { argument: 'dryRun', is: [true] },
      },
    ],
    create_directory: [{ does: 'mkdir', path: 'path' }],
    list_directory: [{ does: 'list', path: 'path' }],
    list_directory_with_sizes: [{ does: 'list', path: 'path' }],
    ...toolsWith(LOOK_AT, 'directory_tree search_files get_file_info'),
    move_file: [
      {
        does: 'move',
        source: 'source',
        destination: 'destination',
        taken: 'Destination already exists: PATH',
      },
    ],
    list_allowed_directories: [{ does: 'nothing' }],
  },
};

const NOTHING: readonly Rule[] = [{ does: 'nothing' }];
const UNKNOWN: readonly Rule[] = [{ does: 'unknown' }];
const REMOTE = { argument: 'isUrl', is: [true] } as const;
const APPEND = { argument: 'mode', is: ['append'] } as const;
/** Rules of tools that compose documents: the file changes, but its new text is unknown. */
const COMPOSE: readonly Rule[] = [
  { does: 'look', path: 'path', when: { argument: 'outputPath' } },
  { does: 'touch', path: 'outputPath' },
  { does: 'touch', path: 'path', unless: { argument: 'outputPath' } },
  // The tool may copy pages of another PDF into the document. It does not change that PDF.
  {
    does: 'look',
    each: 'content',
    path: 'sourcePdfPath',
    when: { argument: 'sourcePdfPath', inItem: true },
  },
];

/**
 * The server Desktop Commander. Its shell tools can change any file, so the policy for unknown
 * tools applies to them.
 */
const DESKTOP_COMMANDER: ServerTable = {
  id: 'desktop-commander',
  serverNames: ['desktop-commander'],
  signature: ['edit_block', 'start_process', 'read_file'],
  relativeTo: 'cwd',
  expandsHome: true,
  words: {
    read: 'read_file',
    write: 'write_file',
    edit: 'edit_block',
    list: 'list_directory',
    arguments: { path: 'path' },
  },
  tools: {
    read_file: [
      { does: 'nothing', when: REMOTE },
      {
        does: 'read',
        path: 'path',
        lines: { from: 'offset', count: 'length', firstLine: 0, defaultCount: 1000 },
        shown: { as: 'verbatim', header: '[Reading ' },
        unless: REMOTE,
      },
    ],
    read_multiple_files: [
      {
        does: 'read',
        each: 'paths',
        path: '.',
        shown: { as: 'found' },
      },
    ],
    write_file: [
      { does: 'insert', path: 'path', content: 'content', when: APPEND },
      { does: 'write', path: 'path', content: 'content', unless: APPEND },
    ],
    edit_block: [
      {
        does: 'edit',
        path: 'file_path',
        edit: { old: 'old_string', new: 'new_string', occurrences: 'expected_replacements' },
      },
    ],
    ...toolsWith(COMPOSE, 'write_pdf write_docx'),
    create_directory: [{ does: 'mkdir', path: 'path' }],
    list_directory: [{ does: 'look', path: 'path' }],
    move_file: [{ does: 'move', source: 'source', destination: 'destination' }],
    get_file_info: [{ does: 'look', path: 'path' }],
    start_search: [{ does: 'look', path: 'path' }],
    start_process: [{ does: 'run', command: 'command' }],
    interact_with_process: [{ does: 'run', command: 'input' }],
    set_config_value: UNKNOWN,
    ...toolsWith(
      NOTHING,
      'get_more_search_results stop_search list_searches read_process_output force_terminate',
      'kill_process list_processes list_sessions get_config get_usage_stats get_recent_tool_calls',
      'get_prompts give_feedback_to_desktop_commander',
    ),
  },
};

const LOOK: readonly Rule[] = [{ does: 'look', path: 'relative_path' }];
const TOUCH: readonly Rule[] = [{ does: 'touch', path: 'relative_path' }];
/** Rules of tools that may change files which the call does not name. */
const UNKNOWN_BESIDE: readonly Rule[] = [{ does: 'look', path: 'relative_path' }, { does: 'unknown' }];
/**
 * Rules of tools that change the base of relative paths. The new base may be a path or a name that
 * only the server knows. Lookfirst can check only a path.
 */
const ELSEWHERE: readonly Rule[] = [
  { does: 'look', path: 'project', orName: true },
  { does: 'look', path: 'worktree', orName: true },
  { does: 'unknown' },
];
const LITERAL = { argument: 'mode', is: ['literal'] } as const;
const LINES = { from: 'start_line', to: 'end_line', firstLine: 0 } as const;

/**
 * The server Serena, which edits symbols and lines of one project. Only its language server knows what the symbol
 * tools replace.
 */
const SERENA: ServerTable = {
  id: 'serena',
  serverNames: ['serena', 'fastmcp-serena'],
  signature: ['find_symbol', 'replace_symbol_body', 'get_symbols_overview'],
  relativeTo: 'root',
  expandsHome: false,
  words: {
    read: 'read_file',
    write: 'create_text_file',
    edit: 'replace_content',
    list: 'list_dir',
    arguments: { path: 'relative_path' },
  },
  tools: {
    read_file: [{ does: 'read', path: 'relative_path', lines: LINES, shown: { as: 'verbatim' } }],
    create_text_file: [{ does: 'write', path: 'relative_path', content: 'content' }],
    ...toolsWith(
      LOOK,
      'list_dir find_file search_for_pattern find_symbol find_referencing_symbols get_symbols_overview',
      'find_declaration find_implementations get_diagnostics_for_file jet_brains_find_symbol',
      'jet_brains_find_referencing_symbols jet_brains_get_symbols_overview jet_brains_type_hierarchy',
    ),
    replace_content: [
      {
        does: 'edit',
        path: 'relative_path',
        edit: { old: 'needle', new: 'repl', all: 'allow_multiple_occurrences' },
        when: LITERAL,
      },
      { does: 'touch', path: 'relative_path', unless: LITERAL },
    ],
    ...toolsWith(
      TOUCH,
      'replace_regex replace_symbol_body insert_after_symbol insert_before_symbol safe_delete_symbol',
    ),
    delete_lines: [{ does: 'touch', path: 'relative_path', lines: LINES }],
    replace_lines: [{ does: 'touch', path: 'relative_path', lines: LINES }],
    insert_at_line: [
      {
        does: 'insert',
        path: 'relative_path',
        content: 'content',
        after: { argument: 'line', plus: 0 },
      },
    ],
    ...toolsWith(
      UNKNOWN_BESIDE,
      'rename_symbol replace_in_files jet_brains_rename jet_brains_move jet_brains_inline_symbol',
      'jet_brains_safe_delete write_memory edit_memory rename_memory delete_memory remove_project',
    ),
    ...toolsWith(ELSEWHERE, 'activate_project switch_worktree'),
    execute_shell_command: [{ does: 'run', command: 'command' }],
    ...toolsWith(
      NOTHING,
      'list_memories read_memory check_onboarding_performed onboarding initial_instructions',
      'prepare_for_new_conversation think_about_collected_information think_about_task_adherence',
      'think_about_whether_you_are_done get_current_config switch_modes open_dashboard',
      'restart_language_server',
    ),
  },
};

/** Servers whose tools are known. `examples/servers/` has tables for others. */
export const KNOWN_SERVERS: readonly ServerTable[] = [OFFICIAL_FILESYSTEM, DESKTOP_COMMANDER, SERENA];

/** The facts known about a server so far. */
interface ServerTraits {
  readonly name?: string;
  readonly tools?: readonly string[];
}

/**
 * The tables that match a server, best first: by name and tools, then by tools, then by name.
 * Several may match, because servers share names. The rules of a tool come from the first of these
 * tables that has the tool.
 */
export function recognise(traits: ServerTraits, tables: readonly ServerTable[]): ServerTable[] {
  const fits = tables
    .map((table) => ({ table, fit: fitOf(table, traits) }))
    .filter((candidate) => candidate.fit > 0);
  return fits.sort((a, b) => b.fit - a.fit).map((candidate) => candidate.table);
}

function fitOf(table: ServerTable, traits: ServerTraits): number {
  const name = traits.name?.toLowerCase();
  const named = name !== undefined && table.serverNames.some((known) => known.toLowerCase() === name);
  if (traits.tools === undefined || table.signature.length === 0) return named ? 1 : 0;
  const present = new Set(traits.tools);
  const signed = table.signature.every((tool) => present.has(tool));
  if (signed) return named ? 3 : 2;
  return named ? 1 : 0;
}
