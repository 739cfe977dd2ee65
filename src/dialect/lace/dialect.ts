import type { Dialect } from '../tool.ts';
import { FILE_EDIT } from './edit-tool.ts';
import { LACE_TOOLS } from './tools.ts';

/** The file tools of the system behind the preset `thread-history`. */
export const LACE: Dialect = {
  name: 'lace',
  tools: [...LACE_TOOLS, FILE_EDIT],
  names: {
    read: 'file_read',
    write: 'file_write',
    edit: 'file_edit',
    insert: 'file_insert',
    list: 'file_list',
    find: 'file_find',
    search: 'ripgrep_search',
    arguments: { path: 'path', from: 'startLine', to: 'endLine' },
  },
  unknownArguments: 'refuse',
  terms: {
    old_string: 'old_text',
    new_string: 'new_text',
    after_line: 'line',
    offset: 'startLine',
    limit: 'endLine',
  },
  instructions:
    'Files here change only after you have looked. file_read a file before file_write, file_insert or file_edit; a new file needs no read. ' +
    'Change parts with file_edit. A refusal says why and what to call next: do that instead of repeating the call.',
};
