import type { EditArguments, Rule, ServerTable } from '../table.ts';

const LOOK: readonly Rule[] = [
  { does: 'look', path: 'path' },
  { does: 'look', each: 'paths', path: '.' },
];
const LINES = { head: 'head', tail: 'tail', from: 'startLine', to: 'endLine' } as const;
const FOOTERS = ['// truncated: ', '// sha256: '] as const;
const DRY_RUN = { argument: 'dryRun', is: [true] } as const;
const APPEND = { argument: 'append', inItem: true, is: [true] } as const;
const COPY = { argument: 'copy', is: [true] } as const;
const EDITS: EditArguments = {
  each: 'edits',
  old: 'oldText',
  new: 'newText',
  loosely: [{ argument: 'ignoreWhitespace', is: [true] }],
};

/** `@j0hanz/filesystem-mcp`. */
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
      { does: 'insert', each: 'files', path: 'path', content: 'content', when: APPEND },
      { does: 'write', each: 'files', path: 'path', content: 'content', unless: APPEND },
    ],
    edit: [
      { does: 'look', path: 'path', when: DRY_RUN },
      { does: 'look', each: 'files', path: 'path', when: DRY_RUN },
      { does: 'edit', path: 'path', edit: EDITS, unless: DRY_RUN },
      { does: 'edit', each: 'files', path: 'path', edit: EDITS, unless: DRY_RUN },
    ],
    patch: [
      { does: 'look', path: 'path', when: DRY_RUN },
      { does: 'touch', path: 'path', unless: DRY_RUN },
    ],
    replace_text: [
      { does: 'look', path: 'path' },
      { does: 'unknown', unless: DRY_RUN },
    ],
    move: [
      { does: 'copy', each: 'moves', source: 'source', destination: 'destination', when: COPY },
      { does: 'move', each: 'moves', source: 'source', destination: 'destination', unless: COPY },
    ],
    delete: [{ does: 'delete', each: 'paths', path: '.', recursive: 'recursive' }],
    list: LOOK,
    stat: LOOK,
    diff: [
      { does: 'look', path: 'a' },
      { does: 'look', path: 'b' },
    ],
    find_files: LOOK,
    search_text: LOOK,
    list_roots: [{ does: 'nothing' }],
  },
};
