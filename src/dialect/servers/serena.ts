import type { Rule, ServerTable } from './server-table.ts';

const LOOK: readonly Rule[] = [{ does: 'look', path: 'relative_path' }];
const TOUCH: readonly Rule[] = [{ does: 'touch', path: 'relative_path' }];
const LITERAL = { argument: 'mode', is: ['literal'] } as const;
const LINES = { from: 'start_line', to: 'end_line', firstLine: 0 } as const;

/** Serena: symbols and lines of one project. What its symbol tools replace is known to its language server only. */
export const SERENA: ServerTable = {
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
    list_dir: LOOK,
    find_file: LOOK,
    search_for_pattern: LOOK,
    find_symbol: LOOK,
    find_referencing_symbols: LOOK,
    get_symbols_overview: LOOK,
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
    rename_symbol: [{ does: 'look', path: 'relative_path' }, { does: 'unknown' }],
    execute_shell_command: [{ does: 'run', command: 'command' }],
  },
};
