import type { ArgumentName, EditArguments, LineArguments, Rule } from '../table.ts';

/**
 * This file holds the rules of tools that most hosts and servers have, and the usual names of their
 * arguments.
 */

const PATH: ArgumentName = [
  'path',
  'file_path',
  'filePath',
  'absolute_path',
  'target_file',
  'filename',
  'file',
];
const CONTENT: ArgumentName = ['content', 'contents', 'file_text', 'fileText'];
const LINES: LineArguments = {
  range: ['view_range', 'viewRange'],
  head: 'head',
  tail: 'tail',
  from: ['start_line', 'startLine', 'offset'],
  to: ['end_line', 'endLine'],
  count: 'limit',
};
const OLD_NEW: EditArguments = {
  old: ['old_string', 'oldString', 'old_str', 'oldText', 'old_text'],
  new: ['new_string', 'newString', 'new_str', 'newText', 'new_text'],
  all: ['replace_all', 'replaceAll', 'allow_multiple'],
  occurrences: 'expected_replacements',
};
const DRY_RUN = { argument: ['dry_run', 'dryRun'], is: [true] } as const;
const APPEND = { argument: 'append', is: [true] } as const;
const EDITS = { argument: 'edits' } as const;
const COMMAND = (...is: string[]) => ({ argument: 'command', is }) as const;

/**
 * Rules of reads that always number the lines. An answer without line numbers is therefore a
 * message, such as an error, not the content of the file.
 */
export const READ_NUMBERED: readonly Rule[] = [
  { does: 'read', path: PATH, lines: LINES, shown: { as: 'lines', numbers: 'always' } },
];
export const READ: readonly Rule[] = [
  { does: 'read', path: PATH, lines: LINES, shown: { as: 'lines', numbers: 'maybe' } },
];
export const READ_PLAIN: readonly Rule[] = [
  { does: 'read', path: PATH, lines: LINES, shown: { as: 'lines', numbers: 'never' } },
];
const READ_MANY: readonly Rule[] = [{ does: 'read', each: 'paths', path: '.', shown: { as: 'receipts' } }];
export const WRITE: readonly Rule[] = [
  { does: 'insert', path: PATH, content: CONTENT, when: APPEND },
  { does: 'write', path: PATH, content: CONTENT, unless: APPEND },
];
/** Rules of edit tools, with one replacement or a list of several. */
export const EDIT: readonly Rule[] = editRules(OLD_NEW);
/** Like `EDIT`, for tools that create a file if the old text is empty. */
export const EDIT_OR_CREATE: readonly Rule[] = editRules({ ...OLD_NEW, emptyCreates: true });
export const INSERT: readonly Rule[] = [
  {
    does: 'insert',
    path: PATH,
    content: ['insert_text', 'new_str', 'content', 'text'],
    after: { argument: ['insert_line', 'after_line', 'afterLine', 'line'], plus: 0 },
  },
];
export const DELETE: readonly Rule[] = [{ does: 'delete', path: PATH, recursive: 'recursive' }];
export const PATCH: readonly Rule[] = [
  { does: 'patch', patch: ['input', 'patch', 'patchText', 'patch_text', 'command'] },
];
export const SHELL: readonly Rule[] = [
  {
    does: 'run',
    command: ['command', 'cmd', 'action.command'],
    folder: ['workdir', 'cwd', 'dir_path', 'directory'],
    background: ['run_in_background', 'is_background', 'isBackground'],
  },
];
export const SEARCH: readonly Rule[] = [{ does: 'search', path: ['path', 'dir_path'] }];
export const LIST_RULE: readonly Rule[] = [
  { does: 'look', path: ['path', 'dir_path', 'directory', 'target_directory'] },
];
export const NO_RULE: readonly Rule[] = [{ does: 'nothing' }];
/** The scope of a rule for those items of `changes` that have this argument. */
const inChanges = (argument: string, ...is: boolean[]) =>
  ({
    each: 'changes',
    when: { argument, inItem: true, ...(is.length === 0 ? {} : { is }) },
    unless: DRY_RUN,
  }) as const;
/** Rules of Lookfirst's own tool for several changes in one step. */
const BATCH: readonly Rule[] = [
  { does: 'write', path: 'path', content: 'content', ...inChanges('content') },
  { does: 'edit', path: 'path', edit: { ...OLD_NEW, each: 'edits' }, ...inChanges('edits') },
  { does: 'delete', path: 'path', ...inChanges('delete', true) },
  { does: 'move', source: 'path', destination: 'move_to', ...inChanges('move_to') },
];
/** Rules of the text editor tool of the Anthropic API, and of its memory tool, which has the same commands. */
export const TEXT_EDITOR_RULES: readonly Rule[] = [
  {
    does: 'read',
    path: PATH,
    lines: LINES,
    shown: { as: 'lines', numbers: 'always' },
    when: COMMAND('view'),
  },
  { does: 'write', path: PATH, content: CONTENT, when: COMMAND('create') },
  { does: 'edit', path: PATH, edit: OLD_NEW, when: COMMAND('str_replace') },
  {
    does: 'insert',
    path: PATH,
    content: ['insert_text', 'new_str'],
    after: { argument: 'insert_line', plus: 0 },
    when: COMMAND('insert'),
  },
  { does: 'delete', path: PATH, when: COMMAND('delete') },
  { does: 'move', source: 'old_path', destination: 'new_path', when: COMMAND('rename') },
  { does: 'touch', path: PATH, when: COMMAND('undo_edit') },
];

function editRules(edit: EditArguments): readonly Rule[] {
  return [
    { does: 'look', path: PATH, when: DRY_RUN },
    { does: 'edit', path: PATH, edit: { ...edit, each: 'edits' }, when: EDITS, unless: DRY_RUN },
    { does: 'edit', path: PATH, edit, unless: [EDITS, DRY_RUN] },
  ];
}

/** Rules by tool name, in lower case without `_` and `-`. */
const RULES: ReadonlyMap<string, readonly Rule[]> = new Map([
  ...named(READ, 'read readfile fileread view viewfile openfile readfilerange'),
  ...named(READ_PLAIN, 'readtextfile readtext'),
  ...named(READ_MANY, 'readmultiplefiles readfiles'),
  ...named(WRITE, 'write writefile filewrite createfile savefile writetextfile'),
  ...named(EDIT, 'edit editfile fileedit multiedit replace strreplace searchreplace'),
  ...named(INSERT, 'insertlines fileinsert'),
  ...named(BATCH, 'applychanges'),
  ...named(TEXT_EDITOR_RULES, 'strreplacebasededittool strreplaceeditor texteditor memory'),
  ...named(PATCH, 'applypatch'),
  ...named(
    SHELL,
    'bash shell localshell execcommand runshellcommand runcommand executecommand runinterminal shellcommand exec',
  ),
  ...named(SEARCH, 'grep grepsearch searchtext ripgrepsearch searchfilecontent'),
]);

/** Matches the server's name that hosts put before a tool's name: `mcp__files__read_file`, `files.read_file`. */
const PREFIX = /^.*(?:__|[./:])/;

/**
 * The rules for a tool of any host, by its name alone; undefined if the name is not a common one. A
 * tool named `Read` is assumed to number its lines.
 */
export function usualRules(name: string): readonly Rule[] | undefined {
  const bare = name.replace(PREFIX, '');
  return bare === 'Read' ? READ_NUMBERED : (RULES.get(plain(bare)) ?? behindPrefix(bare));
}

/**
 * The rules of a tool whose name begins with an unknown prefix, such as `my_read_file`. After the
 * prefix, the name must have two or more words: `my_read` has no rules.
 */
function behindPrefix(name: string): readonly Rule[] | undefined {
  const words = name.split('_');
  for (let first = 1; first < words.length - 1; first += 1) {
    const rules = RULES.get(plain(words.slice(first).join('')));
    if (rules !== undefined) return rules;
  }
  return undefined;
}

function plain(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}

function named(rules: readonly Rule[], list: string): [string, readonly Rule[]][] {
  return list.split(' ').map((name) => [name, rules]);
}
