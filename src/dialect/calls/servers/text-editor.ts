import type { LineArguments, Rule, ServerTable } from '../table.ts';

const RANGES: LineArguments = { each: 'ranges', from: 'start', to: 'end' };
const PATCHES: LineArguments = { each: 'patches', from: 'start', to: 'end' };
const PATCH: readonly Rule[] = [
  { does: 'touch', each: 'files', path: 'path', lines: PATCHES },
  { does: 'touch', path: 'file_path', lines: PATCHES },
];

/** `tumf/mcp-text-editor`: line ranges with its own hashes, and no workspace. */
export const TEXT_EDITOR_SERVER: ServerTable = {
  id: 'mcp-text-editor',
  serverNames: ['mcp-text-editor'],
  signature: ['get_text_file_contents'],
  relativeTo: 'cwd',
  expandsHome: false,
  words: {
    read: 'get_text_file_contents',
    write: 'create_text_file',
    edit: 'patch_text_file_contents',
    arguments: { path: 'file_path' },
  },
  tools: {
    get_text_file_contents: [
      { does: 'read', each: 'files', path: 'file_path', lines: RANGES, shown: { as: 'described' } },
    ],
    edit_text_file_contents: PATCH,
    patch_text_file_contents: PATCH,
    create_text_file: [{ does: 'write', path: 'file_path', content: 'contents' }],
    append_text_file_contents: [{ does: 'insert', path: 'file_path', content: 'contents' }],
    insert_text_file_contents: [
      {
        does: 'insert',
        path: 'file_path',
        content: 'contents',
        after: { argument: 'before', plus: -1 },
        when: { argument: 'before' },
      },
      {
        does: 'insert',
        path: 'file_path',
        content: 'contents',
        after: { argument: 'after', plus: 0 },
        unless: { argument: 'before' },
      },
    ],
    delete_text_file_contents: [{ does: 'touch', path: 'file_path', lines: RANGES }],
  },
};
