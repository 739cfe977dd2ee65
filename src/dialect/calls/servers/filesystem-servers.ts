import type { EditArguments, Rule, ServerTable, ShownForm } from '../table.ts';

const READ: readonly Rule[] = [
  { does: 'read', path: 'path', lines: { head: 'head', tail: 'tail' }, shown: { as: 'verbatim' } },
];
/**
 * The form of an answer with several files in one text. The section of each file begins with
 * `PATH:`, or with `PATH: Error - reason` if the file could not be read.
 */
export const SECTIONS: ShownForm = {
  as: 'sections',
  open: 'PATH:\n',
  failed: 'PATH: Error - ',
  close: '\n',
  between: '\n---\n',
};
const LOOK: readonly Rule[] = [{ does: 'look', path: 'path' }];

/** The official server, `@modelcontextprotocol/server-filesystem`. */
export const OFFICIAL_FILESYSTEM: ServerTable = {
  id: 'filesystem',
  serverNames: ['secure-filesystem-server'],
  signature: ['read_text_file', 'list_directory_with_sizes', 'directory_tree', 'list_allowed_directories'],
  relativeTo: 'root',
  folder: { after: 'server-filesystem' },
  followsRoots: true,
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
    read_file: READ,
    read_text_file: READ,
    read_media_file: [{ does: 'read', path: 'path', shown: { as: 'described' } }],
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
    directory_tree: LOOK,
    move_file: [
      {
        does: 'move',
        source: 'source',
        destination: 'destination',
        taken: 'Destination already exists: PATH',
      },
    ],
    search_files: LOOK,
    get_file_info: LOOK,
    list_allowed_directories: [{ does: 'nothing' }],
  },
};

const LOOK_BELOW: readonly Rule[] = [{ does: 'look', path: 'root_path' }];
const NUMBERED = { argument: 'with_line_numbers', is: [true] } as const;
const { tools, words } = OFFICIAL_FILESYSTEM;

/** The server `rust-mcp-filesystem`: the official tools, and additional ones. */
export const RUST_FILESYSTEM: ServerTable = {
  id: 'rust-mcp-filesystem',
  serverNames: ['rust-mcp-filesystem'],
  signature: ['read_text_file', 'head_file', 'tail_file', 'read_file_lines'],
  relativeTo: 'cwd',
  expandsHome: true,
  words,
  tools: {
    ...tools,
    read_text_file: [
      { does: 'read', path: 'path', shown: { as: 'described' }, when: NUMBERED },
      { does: 'read', path: 'path', shown: { as: 'verbatim' }, unless: NUMBERED },
    ],
    head_file: [{ does: 'read', path: 'path', lines: { head: 'lines' }, shown: { as: 'verbatim' } }],
    tail_file: [{ does: 'read', path: 'path', lines: { tail: 'lines' }, shown: { as: 'verbatim' } }],
    read_file_lines: [
      {
        does: 'read',
        path: 'path',
        lines: { from: 'offset', count: 'limit', firstLine: 0 },
        shown: { as: 'verbatim' },
      },
    ],
    read_multiple_text_files: tools['read_multiple_files'] ?? [],
    read_multiple_media_files: [{ does: 'look', each: 'paths', path: '.' }],
    search_files_content: LOOK,
    calculate_directory_size: LOOK_BELOW,
    find_empty_directories: LOOK,
    find_duplicate_files: LOOK_BELOW,
    diff_files: [
      { does: 'look', path: 'path1' },
      { does: 'look', path: 'path2' },
    ],
    zip_files: [
      { does: 'look', each: 'input_files', path: '.' },
      { does: 'touch', path: 'target_zip_file' },
    ],
    zip_directory: [
      { does: 'look', path: 'input_directory' },
      { does: 'touch', path: 'target_zip_file' },
    ],
    unzip_file: [
      { does: 'look', path: 'zip_file' },
      { does: 'look', path: 'target_path' },
      { does: 'unknown' },
    ],
  },
};

const REGEX = { argument: 'regex', is: [true] } as const;

/**
 * The server `mark3labs/mcp-filesystem-server`. It reports the same name as the official server, but has other
 * tools.
 */
export const MARK3LABS_FILESYSTEM: ServerTable = {
  id: 'mark3labs-filesystem',
  serverNames: ['secure-filesystem-server'],
  signature: ['copy_file', 'tree', 'list_allowed_directories'],
  relativeTo: 'cwd',
  expandsHome: false,
  words: {
    read: 'read_file',
    write: 'write_file',
    edit: 'modify_file',
    delete: 'delete_file',
    list: 'list_directory',
    arguments: { path: 'path', recursive: 'recursive', replaceAll: 'all_occurrences' },
  },
  tools: {
    read_file: [{ does: 'read', path: 'path', shown: { as: 'verbatim' } }],
    read_multiple_files: [
      {
        does: 'read',
        each: 'paths',
        path: '.',
        shown: { as: 'blocks', open: '--- File: PATH ---' },
      },
    ],
    write_file: [{ does: 'write', path: 'path', content: 'content' }],
    modify_file: [
      { does: 'touch', path: 'path', when: REGEX },
      {
        does: 'edit',
        path: 'path',
        edit: { old: 'find', new: 'replace', all: 'all_occurrences', allByDefault: true },
        unless: REGEX,
      },
    ],
    copy_file: [{ does: 'copy', source: 'source', destination: 'destination' }],
    move_file: [{ does: 'move', source: 'source', destination: 'destination' }],
    delete_file: [{ does: 'delete', path: 'path', recursive: 'recursive' }],
    create_directory: [{ does: 'mkdir', path: 'path' }],
    list_directory: [{ does: 'list', path: 'path' }],
    tree: LOOK,
    search_files: LOOK,
    search_within_files: LOOK,
    get_file_info: LOOK,
    list_allowed_directories: [{ does: 'nothing' }],
  },
};

const APPEND = { argument: 'append', is: [true] } as const;
const PREVIEW = { argument: 'preview_only', is: [true] } as const;
const DRY_RUN = { argument: 'dry_run', is: [true] } as const;
const WRITE: readonly Rule[] = [
  { does: 'insert', path: 'path', content: 'content', when: APPEND },
  { does: 'write', path: 'path', content: 'content', unless: APPEND },
];
const OLD_NEW = {
  old: 'old_text',
  new: 'new_text',
  occurrences: 'expected_replacements',
  loosely: [
    { argument: 'case_sensitive', is: [false] },
    { argument: 'word_boundary', is: [true] },
  ],
} as const;
const BATCH = (...names: string[]) => ({ argument: 'operation', inItem: true, is: names }) as const;

/** The server `fast-filesystem-mcp`. Every result is JSON inside a text block. */
export const FAST_FILESYSTEM: ServerTable = {
  id: 'fast-filesystem',
  serverNames: ['fast-filesystem', 'fast-filesystem-mcp'],
  signature: ['fast_read_file', 'fast_write_file'],
  relativeTo: 'cwd',
  expandsHome: false,
  words: {
    read: 'fast_read_file',
    write: 'fast_write_file',
    edit: 'fast_edit_block',
    delete: 'fast_delete_file',
    list: 'fast_list_directory',
    arguments: { path: 'path', recursive: 'recursive' },
  },
  tools: {
    fast_list_allowed_directories: [{ does: 'nothing' }],
    fast_read_file: [
      {
        does: 'read',
        path: 'path',
        shown: {
          as: 'json',
          content: 'content',
          from: 'start_line',
          firstLine: 0,
          more: ['has_more', 'truncated', 'chunking.has_more'],
          zero: 'start_offset',
        },
      },
    ],
    fast_read_multiple_files: [
      {
        does: 'read',
        each: 'paths',
        path: '.',
        shown: {
          as: 'json',
          items: 'files',
          path: 'path',
          content: 'content',
          more: 'has_more',
          zero: 'start_offset',
        },
      },
    ],
    fast_write_file: WRITE,
    fast_large_write_file: WRITE,
    fast_list_directory: LOOK,
    fast_get_file_info: LOOK,
    fast_search_files: LOOK,
    fast_search_code: LOOK,
    fast_get_directory_tree: LOOK,
    fast_get_disk_usage: LOOK,
    fast_find_large_files: LOOK,
    fast_extract_lines: LOOK,
    fast_create_directory: [{ does: 'mkdir', path: 'path' }],
    fast_edit_file: [
      { does: 'look', path: 'path', when: DRY_RUN },
      { does: 'edit', path: 'path', edit: { ...OLD_NEW, each: 'edits' }, unless: DRY_RUN },
    ],
    fast_edit_block: [
      { does: 'look', path: 'path', when: PREVIEW },
      { does: 'edit', path: 'path', edit: OLD_NEW, unless: PREVIEW },
    ],
    // The tool extends a short old text to its whole line, so the text that it replaces is unknown.
    fast_safe_edit: [{ does: 'touch', path: 'path' }],
    fast_edit_blocks: [{ does: 'edit', path: 'path', edit: { ...OLD_NEW, each: 'edits' } }],
    fast_edit_multiple_blocks: [{ does: 'touch', path: 'path' }],
    fast_copy_file: [{ does: 'copy', source: 'source', destination: 'destination' }],
    fast_move_file: [{ does: 'move', source: 'source', destination: 'destination' }],
    fast_delete_file: [{ does: 'delete', path: 'path', recursive: 'recursive' }],
    fast_batch_file_operations: [
      { does: 'look', each: 'operations', path: 'source' },
      { does: 'look', each: 'operations', path: 'destination' },
      {
        does: 'copy',
        each: 'operations',
        source: 'source',
        destination: 'destination',
        when: BATCH('copy'),
        unless: DRY_RUN,
      },
      {
        does: 'move',
        each: 'operations',
        source: 'source',
        destination: 'destination',
        when: BATCH('move', 'rename'),
        unless: DRY_RUN,
      },
      { does: 'delete', each: 'operations', path: 'source', when: BATCH('delete'), unless: DRY_RUN },
    ],
    fast_compress_files: [
      { does: 'look', each: 'paths', path: '.' },
      { does: 'touch', path: 'output_path' },
    ],
    fast_extract_archive: [
      { does: 'look', path: 'archive_path' },
      { does: 'look', path: 'extract_to' },
      { does: 'unknown' },
    ],
    fast_sync_directories: [
      { does: 'look', path: 'source_dir' },
      { does: 'look', path: 'target_dir' },
      { does: 'unknown', unless: DRY_RUN },
    ],
  },
};

const LOOK_AT_ALL: readonly Rule[] = [
  { does: 'look', path: 'path' },
  { does: 'look', each: 'paths', path: '.' },
];
const LINES = { head: 'head', tail: 'tail', from: 'startLine', to: 'endLine' } as const;
const FOOTERS = ['// truncated: ', '// sha256: '] as const;
const DRY_RUN_ASKED = { argument: 'dryRun', is: [true] } as const;
const APPEND_ITEM = { argument: 'append', inItem: true, is: [true] } as const;
const COPY = { argument: 'copy', is: [true] } as const;
const EDITS: EditArguments = {
  each: 'edits',
  old: 'oldText',
  new: 'newText',
  loosely: [{ argument: 'ignoreWhitespace', is: [true] }],
};

/** The server `@j0hanz/filesystem-mcp`. */
export const J0HANZ_FILESYSTEM: ServerTable = {
  id: 'j0hanz-filesystem',
  serverNames: ['filesystem-mcp'],
  signature: ['read', 'create', 'edit', 'patch', 'replace_text'],
  relativeTo: 'root',
  followsRoots: true,
  expandsHome: true,
  words: {
    read: 'read',
    write: 'create',
    edit: 'edit',
    delete: 'delete',
    list: 'list',
    arguments: { path: 'path', from: 'startLine', to: 'endLine', recursive: 'recursive' },
  },
  tools: {
    read: [
      { does: 'read', path: 'path', lines: LINES, shown: { as: 'verbatim', footers: FOOTERS } },
      {
        does: 'read',
        each: 'paths',
        path: '.',
        lines: LINES,
        shown: {
          as: 'sections',
          open: '// PATH\n',
          failed: '// PATH\n// Error: ',
          close: '',
          between: '\n\n',
          aloneVerbatim: true,
          footers: FOOTERS,
        },
      },
    ],
    create: [
      { does: 'insert', each: 'files', path: 'path', content: 'content', when: APPEND_ITEM },
      { does: 'write', each: 'files', path: 'path', content: 'content', unless: APPEND_ITEM },
    ],
    edit: [
      { does: 'look', path: 'path', when: DRY_RUN_ASKED },
      { does: 'look', each: 'files', path: 'path', when: DRY_RUN_ASKED },
      { does: 'edit', path: 'path', edit: EDITS, unless: DRY_RUN_ASKED },
      { does: 'edit', each: 'files', path: 'path', edit: EDITS, unless: DRY_RUN_ASKED },
    ],
    patch: [
      { does: 'look', path: 'path', when: DRY_RUN_ASKED },
      { does: 'touch', path: 'path', unless: DRY_RUN_ASKED },
    ],
    replace_text: [
      { does: 'look', path: 'path' },
      { does: 'unknown', unless: DRY_RUN_ASKED },
    ],
    move: [
      { does: 'copy', each: 'moves', source: 'source', destination: 'destination', when: COPY },
      { does: 'move', each: 'moves', source: 'source', destination: 'destination', unless: COPY },
    ],
    delete: [{ does: 'delete', each: 'paths', path: '.', recursive: 'recursive' }],
    list: LOOK_AT_ALL,
    stat: LOOK_AT_ALL,
    diff: [
      { does: 'look', path: 'a' },
      { does: 'look', path: 'b' },
    ],
    find_files: LOOK_AT_ALL,
    search_text: LOOK_AT_ALL,
    list_roots: [{ does: 'nothing' }],
  },
};
