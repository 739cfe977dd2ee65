import type { Rule, ServerTable } from '../table.ts';

const NOTHING: readonly Rule[] = [{ does: 'nothing' }];
const UNKNOWN: readonly Rule[] = [{ does: 'unknown' }];
const REMOTE = { argument: 'isUrl', is: [true] } as const;
const APPEND = { argument: 'mode', is: ['append'] } as const;
/** Documents that the server composes: the file changes, but its new text is unknown. */
const COMPOSE: readonly Rule[] = [
  { does: 'look', path: 'path', when: { argument: 'outputPath' } },
  { does: 'touch', path: 'outputPath' },
  { does: 'touch', path: 'path', unless: { argument: 'outputPath' } },
];

/**
 * Desktop Commander. Its shell tools are not confined, so the rule for unknown tools applies to them.
 */
export const DESKTOP_COMMANDER: ServerTable = {
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
        lines: { defaultCount: 1000 },
        shown: { as: 'blocks', open: '\n--- PATH contents: ---\n', header: '[Reading ' },
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
    write_pdf: COMPOSE,
    write_docx: COMPOSE,
    create_directory: [{ does: 'mkdir', path: 'path' }],
    list_directory: [{ does: 'look', path: 'path' }],
    move_file: [{ does: 'move', source: 'source', destination: 'destination' }],
    get_file_info: [{ does: 'look', path: 'path' }],
    start_search: [{ does: 'look', path: 'path' }],
    start_process: [{ does: 'run', command: 'command' }],
    interact_with_process: [{ does: 'run', command: 'input' }],
    set_config_value: UNKNOWN,
    get_more_search_results: NOTHING,
    stop_search: NOTHING,
    list_searches: NOTHING,
    read_process_output: NOTHING,
    force_terminate: NOTHING,
    kill_process: NOTHING,
    list_processes: NOTHING,
    list_sessions: NOTHING,
    get_config: NOTHING,
    get_usage_stats: NOTHING,
    get_recent_tool_calls: NOTHING,
    get_prompts: NOTHING,
    give_feedback_to_desktop_commander: NOTHING,
  },
};
