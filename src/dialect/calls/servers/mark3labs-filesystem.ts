import type { Rule, ServerTable } from '../table.ts';

const LOOK: readonly Rule[] = [{ does: 'look', path: 'path' }];
const REGEX = { argument: 'regex', is: [true] } as const;

/** `mark3labs/mcp-filesystem-server`. It has the same name as the official server; its tools distinguish it. */
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
