import type { Dialect } from '../tool.ts';
import { FILESYSTEM_CHANGES } from './changing-tools.ts';
import { LISTING_TOOLS } from './listing-tools.ts';
import { READING_TOOLS } from './reading-tools.ts';

/** The tools of the official MCP filesystem server, as a drop-in replacement. */
export const FILESYSTEM: Dialect = {
  name: 'filesystem',
  tools: [...READING_TOOLS, ...FILESYSTEM_CHANGES, ...LISTING_TOOLS],
  names: {
    read: 'read_text_file',
    write: 'write_file',
    edit: 'edit_file',
    list: 'list_directory',
    mkdir: 'create_directory',
    find: 'search_files',
    arguments: { path: 'path' },
  },
  unknownArguments: 'ignore',
  expandsHome: true,
  terms: { old_string: 'oldText', new_string: 'newText', limit: 'head' },
  instructions:
    'Files here change only after you have looked. read_text_file a file in full before write_file replaces it, and at all before edit_file; ' +
    'a new file needs no read. Change parts with edit_file. A refusal says what changed and what to call next: do that instead of repeating the call.',
};
