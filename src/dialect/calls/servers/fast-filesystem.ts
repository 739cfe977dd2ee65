import type { Rule, ServerTable } from '../table.ts';

const LOOK: readonly Rule[] = [{ does: 'look', path: 'path' }];
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

/** `fast-filesystem-mcp`. Every result is JSON inside a text block. */
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
    // Extends a short old text to its whole line, and replaces that.
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
