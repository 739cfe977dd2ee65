import type { DialectName } from '../dialect/dialect-name.ts';
import { LOOKFIRST_TOOLS, type ToolNames } from '../report/tool-names.ts';

/** What refusals call the tools of each dialect. */
export const TOOL_NAMES: Readonly<Record<DialectName, ToolNames>> = {
  lookfirst: LOOKFIRST_TOOLS,
  sandbox: {
    read: 'Read',
    write: 'Write',
    edit: 'Edit',
    find: 'Glob',
    search: 'Grep',
    arguments: { path: 'file_path', from: 'offset', count: 'limit', replaceAll: 'replace_all' },
  },
  lace: {
    read: 'file_read',
    write: 'file_write',
    edit: 'file_edit',
    insert: 'file_insert',
    list: 'file_list',
    find: 'file_find',
    search: 'ripgrep_search',
    arguments: { path: 'path', from: 'startLine', to: 'endLine' },
  },
  filesystem: {
    read: 'read_text_file',
    write: 'write_file',
    edit: 'edit_file',
    list: 'list_directory',
    mkdir: 'create_directory',
    find: 'search_files',
    arguments: { path: 'path' },
  },
};
