import type { Rule, ServerTable, ShownForm } from '../table.ts';

const READ: readonly Rule[] = [
  { does: 'read', path: 'path', lines: { head: 'head', tail: 'tail' }, shown: { as: 'verbatim' } },
];
/** `PATH:` and the text, or `PATH: Error - reason`; one result for all files. */
export const SECTIONS: ShownForm = {
  as: 'sections',
  open: 'PATH:\n',
  failed: 'PATH: Error - ',
  close: '\n',
  between: '\n---\n',
};
const LOOK: readonly Rule[] = [{ does: 'look', path: 'path' }];

/** `@modelcontextprotocol/server-filesystem`. */
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
