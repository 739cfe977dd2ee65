import { describe, expect, it } from 'vitest';
import { ALL_SERVERS } from '../../../test/support/server-tables.ts';
import { HOSTS, interpretFor } from './hosts/hosts.ts';
import { interpret, touchesOf } from './interpret.ts';
import type { Rule } from './table.ts';

/** A short description of what a call to a tool of a known server does. */
function does(server: string, tool: string, args: object): unknown[] {
  const table = ALL_SERVERS.find((candidate) => candidate.id === server);
  const rules = table?.tools[tool];
  if (rules === undefined) throw new Error(`${server} has no ${tool}`);
  return touchesOf(rules, { ...args }).map((step) => {
    switch (step.does) {
      case 'look':
      case 'list':
        return [step.does, step.path];
      case 'read':
        return ['read', step.path, ...(step.asked ?? []).map(({ from, to }) => `${from}..${to ?? ''}`)];
      case 'change':
        return step.intent;
      case 'run':
        return ['run', step.command];
      default:
        return [step.does];
    }
  });
}

const edit = (path: string, ...pairs: [string, string, boolean?][]) => ({
  kind: 'edit',
  path,
  edits: pairs.map(([oldString, newString, replaceAll = false]) => ({ oldString, newString, replaceAll })),
});

describe('the official server', () => {
  it.each([
    ['read_text_file', { path: 'a' }, [['read', 'a']]],
    ['read_file', { path: 'a', head: 5 }, [['read', 'a', '1..5']]],
    ['read_text_file', { path: 'a', tail: 5 }, [['read', 'a', '-5..-1']]],
    ['read_text_file', { path: 'a', head: 0 }, [['read', 'a']]],
    [
      'read_multiple_files',
      { paths: ['a', 'b'] },
      [
        ['read', 'a'],
        ['read', 'b'],
      ],
    ],
    ['write_file', { path: 'a', content: 'x' }, [{ kind: 'write', path: 'a', content: 'x' }]],
    ['edit_file', { path: 'a', edits: [{ oldText: 'x', newText: 'y' }] }, [edit('a', ['x', 'y'])]],
    ['edit_file', { path: 'a', edits: [{ oldText: 'x', newText: 'y' }], dryRun: true }, [['read', 'a']]],
    [
      'move_file',
      { source: 'a', destination: 'b' },
      [{ kind: 'move', source: 'a', destination: 'b', overwrite: false }],
    ],
    ['create_directory', { path: 'd' }, [{ kind: 'mkdir', path: 'd' }]],
    ['list_directory', { path: 'd' }, [['list', 'd']]],
    ['search_files', { path: 'd', pattern: '*' }, [['look', 'd']]],
  ])('%s %j', (tool, args, steps) => {
    expect(does('filesystem', tool, args)).toEqual(steps);
  });
});

describe('the other servers', () => {
  it.each([
    ['desktop-commander', 'read_file', { path: 'a' }, [['read', 'a', '1..1000']]],
    ['desktop-commander', 'read_file', { path: 'a', offset: 10, length: 5 }, [['read', 'a', '11..15']]],
    ['desktop-commander', 'read_file', { path: 'a', offset: -20 }, [['read', 'a', '-20..-1']]],
    ['desktop-commander', 'read_file', { path: 'a', offset: -20, length: 5 }, [['read', 'a', '-20..-16']]],
    ['desktop-commander', 'read_file', { path: 'a', offset: -20, length: 50 }, [['read', 'a', '-20..-1']]],
    ['desktop-commander', 'read_file', { path: 'https://x', isUrl: true }, []],
    [
      'desktop-commander',
      'write_file',
      { path: 'a', content: 'x', mode: 'append' },
      [{ kind: 'insert', path: 'a', content: 'x' }],
    ],
    [
      'desktop-commander',
      'edit_block',
      { file_path: 'a', old_string: 'x', new_string: 'y', expected_replacements: 3 },
      [edit('a', ['x', 'y', true])],
    ],
    ['desktop-commander', 'edit_block', { file_path: 'a', range: 'S!A1' }, [{ kind: 'touch', path: 'a' }]],
    ['desktop-commander', 'start_process', { command: 'ls' }, [['run', 'ls']]],
    [
      'desktop-commander',
      'write_pdf',
      { path: 'a.pdf', outputPath: 'b.pdf' },
      [['look', 'a.pdf'], { kind: 'touch', path: 'b.pdf' }],
    ],
    ['desktop-commander', 'write_pdf', { path: 'a.pdf' }, [{ kind: 'touch', path: 'a.pdf' }]],
    ['rust-mcp-filesystem', 'read_file_lines', { path: 'a', offset: 9, limit: 2 }, [['read', 'a', '10..11']]],
    ['rust-mcp-filesystem', 'calculate_directory_size', { root_path: '/d' }, [['look', '/d']]],
    ['rust-mcp-filesystem', 'find_duplicate_files', { root_path: '/d' }, [['look', '/d']]],
    ['rust-mcp-filesystem', 'head_file', { path: 'a', lines: 3 }, [['read', 'a', '1..3']]],
    [
      'rust-mcp-filesystem',
      'unzip_file',
      { zip_file: 'z', target_path: 't' },
      [['look', 'z'], ['look', 't'], ['unknown']],
    ],
    [
      'fast-filesystem',
      'fast_edit_block',
      { path: 'a', old_text: 'x', new_text: 'y', preview_only: true },
      [['look', 'a']],
    ],
    [
      'fast-filesystem',
      'fast_edit_block',
      { path: 'a', old_text: 'x', new_text: 'y', case_sensitive: false },
      [{ kind: 'touch', path: 'a' }],
    ],
    [
      'fast-filesystem',
      'fast_edit_blocks',
      {
        path: 'a',
        edits: [
          { old_text: 'x', new_text: 'y' },
          { old_text: 'z', new_text: 'w', word_boundary: true },
        ],
      },
      [{ kind: 'touch', path: 'a' }],
    ],
    [
      'fast-filesystem',
      'fast_safe_edit',
      { path: 'a', old_text: 'x', new_text: 'y' },
      [{ kind: 'touch', path: 'a' }],
    ],
    [
      'fast-filesystem',
      'fast_batch_file_operations',
      { operations: [{ operation: 'delete', source: 'a' }], dry_run: true },
      [['look', 'a']],
    ],
    [
      'fast-filesystem',
      'fast_batch_file_operations',
      { operations: [{ operation: 'delete', source: 'a', dry_run: true }] },
      [['look', 'a'], { kind: 'delete', path: 'a', recursive: false }],
    ],
    [
      'fast-filesystem',
      'fast_sync_directories',
      { source_dir: 'a', target_dir: 'b', dry_run: true },
      [
        ['look', 'a'],
        ['look', 'b'],
      ],
    ],
    [
      'fast-filesystem',
      'fast_delete_file',
      { path: 'd', recursive: true },
      [{ kind: 'delete', path: 'd', recursive: true }],
    ],
    [
      'fast-filesystem',
      'fast_copy_file',
      { source: 'a', destination: 'b' },
      [['look', 'a'], { kind: 'touch', path: 'b' }],
    ],
    [
      'fast-filesystem',
      'fast_batch_file_operations',
      { operations: [{ operation: 'delete', source: 'a' }] },
      [['look', 'a'], { kind: 'delete', path: 'a', recursive: false }],
    ],
    ['j0hanz-filesystem', 'read', { path: 'a', startLine: 2, endLine: 4 }, [['read', 'a']]],
    [
      'j0hanz-filesystem',
      'read',
      { paths: ['a', 'b'] },
      [
        ['read', 'a'],
        ['read', 'b'],
      ],
    ],
    [
      'j0hanz-filesystem',
      'create',
      {
        files: [
          { path: 'a', content: 'x' },
          { path: 'b', content: 'y', append: true },
        ],
      },
      [
        { kind: 'insert', path: 'b', content: 'y' },
        { kind: 'write', path: 'a', content: 'x' },
      ],
    ],
    [
      'j0hanz-filesystem',
      'edit',
      { files: [{ path: 'a', edits: [{ oldText: 'x', newText: 'y' }] }], dryRun: true },
      [['look', 'a']],
    ],
    [
      'j0hanz-filesystem',
      'create',
      { files: [{ path: 'a', content: 'x' }], append: true },
      [{ kind: 'write', path: 'a', content: 'x' }],
    ],
    [
      'j0hanz-filesystem',
      'edit',
      { files: [{ path: 'a', edits: [{ oldText: 'x', newText: 'y' }], dryRun: true }] },
      [edit('a', ['x', 'y'])],
    ],
    [
      'j0hanz-filesystem',
      'edit',
      { path: 'a', edits: [{ oldText: 'x', newText: 'y' }], ignoreWhitespace: true },
      [{ kind: 'touch', path: 'a' }],
    ],
    [
      'j0hanz-filesystem',
      'diff',
      { a: 'x', b: '/y' },
      [
        ['look', 'x'],
        ['look', '/y'],
      ],
    ],
    [
      'j0hanz-filesystem',
      'delete',
      { paths: ['a'], recursive: true },
      [{ kind: 'delete', path: 'a', recursive: true }],
    ],
    [
      'j0hanz-filesystem',
      'move',
      { moves: [{ source: 'a', destination: 'b' }], copy: true },
      [['look', 'a'], { kind: 'touch', path: 'b' }],
    ],
    ['serena', 'read_file', { relative_path: 'a', start_line: 0, end_line: 9 }, [['read', 'a', '1..10']]],
    [
      'serena',
      'replace_lines',
      { relative_path: 'a', start_line: 4, end_line: 6 },
      [{ kind: 'touch', path: 'a', lines: [{ from: 5, to: 7 }] }],
    ],
    [
      'serena',
      'insert_at_line',
      { relative_path: 'a', line: 4, content: 'x' },
      [{ kind: 'insert', path: 'a', content: 'x', afterLine: 4 }],
    ],
    [
      'serena',
      'replace_content',
      { relative_path: 'a', needle: 'x.*', repl: 'y', mode: 'regex' },
      [{ kind: 'touch', path: 'a' }],
    ],
    [
      'serena',
      'replace_content',
      { relative_path: 'a', needle: 'x', repl: 'y', mode: 'literal' },
      [edit('a', ['x', 'y'])],
    ],
    ['serena', 'activate_project', { project: '/elsewhere' }, [['look', '/elsewhere'], ['unknown']]],
    ['serena', 'write_memory', { memory_name: 'a', content: 'x' }, [['unknown']]],
    [
      'mark3labs-filesystem',
      'modify_file',
      { path: 'a', find: 'x', replace: 'y' },
      [edit('a', ['x', 'y', true])],
    ],
    [
      'mark3labs-filesystem',
      'modify_file',
      { path: 'a', find: 'x', replace: 'y', all_occurrences: false },
      [edit('a', ['x', 'y'])],
    ],
    [
      'mark3labs-filesystem',
      'modify_file',
      { path: 'a', find: 'x', replace: 'y', regex: true },
      [{ kind: 'touch', path: 'a' }],
    ],
    [
      'mcp-text-editor',
      'get_text_file_contents',
      { files: [{ file_path: '/a', ranges: [{ start: 1, end: 3 }, { start: 9 }] }] },
      [['read', '/a']],
    ],
    [
      'mcp-text-editor',
      'patch_text_file_contents',
      { file_path: '/a', patches: [{ start: 2, end: 3, contents: 'x' }] },
      [{ kind: 'touch', path: '/a', lines: [{ from: 2, to: 3 }] }],
    ],
    [
      'mcp-text-editor',
      'patch_text_file_contents',
      { file_path: '/a', patches: [{ start: 2, contents: 'x' }] },
      [{ kind: 'touch', path: '/a' }],
    ],
    [
      'mcp-text-editor',
      'insert_text_file_contents',
      { file_path: '/a', before: 5, contents: 'x' },
      [{ kind: 'insert', path: '/a', content: 'x', afterLine: 4 }],
    ],
  ])('%s: %s %j', (server, tool, args, steps) => {
    expect(does(server, tool, args)).toEqual(steps);
  });
});

it.each([
  ['a list', (list: object[]) => list],
  ['JSON text', (list: object[]) => JSON.stringify(list)],
])('a PDF whose pages Desktop Commander inserts is looked at: %s', (_what, form) => {
  const content = form([
    { type: 'delete', pageIndexes: [0] },
    { type: 'insert', sourcePdfPath: 'b.pdf' },
  ]);
  const args = { path: 'a.pdf', outputPath: 'c.pdf', content };
  expect(does('desktop-commander', 'write_pdf', args)).toContainEqual(['look', 'b.pdf']);
  expect(does('desktop-commander', 'write_pdf', { path: 'a.pdf', content: '# text' })).toEqual([
    { kind: 'touch', path: 'a.pdf' },
  ]);
});

it('arguments of another type match no rule', () => {
  expect(does('filesystem', 'write_file', { path: 5, content: 'x' })).toEqual([]);
  expect(does('filesystem', 'read_multiple_files', { paths: 5 })).toEqual([]);
});

it('a change of lines that are named in an unknown form may change any line', () => {
  const lines = { each: 'ranges', from: 'start', to: 'end' };
  const changed = (ranges: unknown) =>
    touchesOf([{ does: 'touch', path: 'path', lines }], { path: 'a', ranges });
  const intent = { kind: 'touch', path: 'a' };
  expect(changed('[{"start":2,"end":3}]')).toEqual([
    { does: 'change', intent: { ...intent, lines: [{ from: 2, to: 3 }] } },
  ]);
  for (const unclear of ['2-3', undefined]) expect(changed(unclear)).toEqual([{ does: 'change', intent }]);
});

it('a path under each of several names is judged, because a server may use any of them', () => {
  const call = { tool: { name: 'write_file' }, args: { path: 'a', file_path: 'b', content: 'x' } };
  const gemini = HOSTS.find(({ id }) => id === 'gemini');
  expect(interpretFor(gemini, call).touches).toEqual([
    { does: 'change', intent: { kind: 'write', path: 'a', content: 'x' } },
    { does: 'change', intent: { kind: 'touch', path: 'b' } },
  ]);
});

it('a changing tool without a path is unexplained, unless its own rule says that it touches no file', () => {
  const rules: Rule[] = [
    { does: 'nothing', when: { argument: 'isUrl', is: [true] } },
    { does: 'write', path: 'path', content: 'content' },
  ];
  const unexplained = (args: object) =>
    interpret({ tool: { name: 'save' }, args: { ...args } }, rules).unexplained;
  expect(unexplained({ isUrl: true })).toBe(false);
  expect(unexplained({})).toBe(true);
  expect(unexplained({ path: 'a', content: 'x' })).toBe(false);
  expect(interpret({ tool: { name: 'x' }, args: {} }, [{ does: 'look', path: 'path' }]).unexplained).toBe(
    false,
  );
});

it('every known server has names for the tools that read, write and edit, and rules for them', () => {
  for (const { id, words, tools, signature } of ALL_SERVERS) {
    for (const name of [words.read, words.write, words.edit])
      expect(tools, `${id}: ${name}`).toHaveProperty([name]);
    for (const name of signature) expect(tools, `${id}: ${name}`).toHaveProperty([name]);
  }
});
