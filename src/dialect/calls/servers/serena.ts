import type { Rule, ServerTable } from '../table.ts';

const LOOK: readonly Rule[] = [{ does: 'look', path: 'relative_path' }];
const TOUCH: readonly Rule[] = [{ does: 'touch', path: 'relative_path' }];
const NOTHING: readonly Rule[] = [{ does: 'nothing' }];
/** Tools that change more than the named file, or files that they do not name. */
const UNKNOWN: readonly Rule[] = [{ does: 'look', path: 'relative_path' }, { does: 'unknown' }];
/**
 * Tools that change the base of relative paths. A new base outside the workspace is refused if it is given as a
 * path.
 */
const ELSEWHERE: readonly Rule[] = [
  { does: 'look', path: 'project', orName: true },
  { does: 'look', path: 'worktree', orName: true },
  { does: 'unknown' },
];
const LITERAL = { argument: 'mode', is: ['literal'] } as const;
const LINES = { from: 'start_line', to: 'end_line', firstLine: 0 } as const;

/** Serena: symbols and lines of one project. Only its language server knows what the symbol tools replace. */
export const SERENA: ServerTable = {
  id: 'serena',
  serverNames: ['serena', 'fastmcp-serena'],
  signature: ['find_symbol', 'replace_symbol_body', 'get_symbols_overview'],
  relativeTo: 'root',
  folder: { option: '--project' },
  elsewhere: ['activate_project', 'switch_worktree'],
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
    list_dir: LOOK,
    find_file: LOOK,
    search_for_pattern: LOOK,
    find_symbol: LOOK,
    find_referencing_symbols: LOOK,
    get_symbols_overview: LOOK,
    find_declaration: LOOK,
    find_implementations: LOOK,
    get_diagnostics_for_file: LOOK,
    jet_brains_find_symbol: LOOK,
    jet_brains_find_referencing_symbols: LOOK,
    jet_brains_get_symbols_overview: LOOK,
    jet_brains_type_hierarchy: LOOK,
    replace_content: [
      {
        does: 'edit',
        path: 'relative_path',
        edit: { old: 'needle', new: 'repl', all: 'allow_multiple_occurrences' },
        when: LITERAL,
      },
      { does: 'touch', path: 'relative_path', unless: LITERAL },
    ],
    replace_regex: TOUCH,
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
    replace_symbol_body: TOUCH,
    insert_after_symbol: TOUCH,
    insert_before_symbol: TOUCH,
    safe_delete_symbol: TOUCH,
    rename_symbol: UNKNOWN,
    replace_in_files: UNKNOWN,
    jet_brains_rename: UNKNOWN,
    jet_brains_move: UNKNOWN,
    jet_brains_inline_symbol: UNKNOWN,
    jet_brains_safe_delete: UNKNOWN,
    write_memory: UNKNOWN,
    edit_memory: UNKNOWN,
    rename_memory: UNKNOWN,
    delete_memory: UNKNOWN,
    activate_project: ELSEWHERE,
    switch_worktree: ELSEWHERE,
    remove_project: UNKNOWN,
    execute_shell_command: [{ does: 'run', command: 'command' }],
    list_memories: NOTHING,
    read_memory: NOTHING,
    check_onboarding_performed: NOTHING,
    onboarding: NOTHING,
    initial_instructions: NOTHING,
    prepare_for_new_conversation: NOTHING,
    think_about_collected_information: NOTHING,
    think_about_task_adherence: NOTHING,
    think_about_whether_you_are_done: NOTHING,
    get_current_config: NOTHING,
    switch_modes: NOTHING,
    open_dashboard: NOTHING,
    restart_language_server: NOTHING,
  },
};
