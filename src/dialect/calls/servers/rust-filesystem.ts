import type { Rule, ServerTable } from '../table.ts';
import { OFFICIAL_FILESYSTEM } from './official-filesystem.ts';

const LOOK: readonly Rule[] = [{ does: 'look', path: 'path' }];
const LOOK_BELOW: readonly Rule[] = [{ does: 'look', path: 'root_path' }];
const NUMBERED = { argument: 'with_line_numbers', is: [true] } as const;
const { tools } = OFFICIAL_FILESYSTEM;

/** `rust-mcp-filesystem`: the official tools, and additional ones. */
export const RUST_FILESYSTEM: ServerTable = {
  id: 'rust-mcp-filesystem',
  serverNames: ['rust-mcp-filesystem'],
  signature: ['read_text_file', 'head_file', 'tail_file', 'read_file_lines'],
  relativeTo: 'cwd',
  expandsHome: true,
  words: {
    read: 'read_text_file',
    write: 'write_file',
    edit: 'edit_file',
    list: 'list_directory',
    arguments: { path: 'path' },
  },
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
