import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REFUSAL_CODES } from '../../src/model/verdict.ts';
import { type Answer, Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

/**
 * The server's default tools as the contract lists them: arguments with their types, `?` for
 * optional ones.
 */
const TOOLS: Readonly<Record<string, string>> = {
  read_file: 'path?:string paths?:array offset?:integer limit?:integer',
  write_file: 'path:string content:string expected_revision?:string',
  edit_file: 'path:string old_string:string new_string:string replace_all?:boolean expected_revision?:string',
  insert_lines: 'path:string after_line?:integer content:string expected_revision?:string',
  apply_changes: 'changes:array dry_run?:boolean',
  delete_path: 'path:string recursive?:boolean',
  move_path: 'source:string destination:string',
  list_directory: 'path?:string depth?:integer after?:string',
  find_files: 'pattern:string path?:string',
  search_text:
    'pattern:string path?:string glob?:string mode?:string context?:integer ignore_case?:boolean literal?:boolean',
  file_status: 'path?:string',
  undo_change: 'change?:string path?:string merge?:boolean',
};
const ONLY_LOOKING = ['read_file', 'list_directory', 'find_files', 'search_text', 'file_status'];

interface Listed {
  readonly name: string;
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, { readonly type: string; readonly enum?: unknown }>>;
    readonly required?: readonly string[];
    readonly additionalProperties: unknown;
  };
  readonly outputSchema?: unknown;
  readonly annotations: Readonly<Record<string, unknown>>;
}

function signatureOf({ inputSchema: { properties, required = [] } }: Listed): string[] {
  return Object.entries(properties)
    .map(([name, { type }]) => `${name}${required.includes(name) ? '' : '?'}:${type}`)
    .sort();
}

it('the default dialect offers exactly the tools of the contract, with their arguments and all four hints', async () => {
  const served = await Served.here(scratch());
  const tools = (await served.tools()) as unknown as Listed[];
  expect(tools.map(({ name }) => name).sort()).toEqual(Object.keys(TOOLS).sort());
  for (const tool of tools) {
    expect(signatureOf(tool), tool.name).toEqual((TOOLS[tool.name] ?? '').split(' ').sort());
    expect(tool.inputSchema.additionalProperties, tool.name).toBe(false);
    expect(tool.outputSchema, tool.name).toBeUndefined();
    expect(tool.annotations, tool.name).toEqual({
      readOnlyHint: ONLY_LOOKING.includes(tool.name),
      destructiveHint: expect.any(Boolean),
      idempotentHint: expect.any(Boolean),
      openWorldHint: false,
    });
  }
  const search = tools.find(({ name }) => name === 'search_text');
  expect(search?.inputSchema.properties['mode']?.enum).toEqual(['lines', 'files', 'count']);
});

it('the refusal codes are those of the contract', () => {
  expect([...REFUSAL_CODES].sort()).toEqual(
    [
      ...['OUTSIDE_WORKSPACE', 'PROTECTED', 'READ_ONLY', 'NOT_FOUND', 'NOT_A_FILE', 'NOT_READ'],
      ...['PARTIALLY_READ', 'READ_EXPIRED', 'STALE', 'DELETED', 'ALREADY_EXISTS', 'REVISION_MISMATCH'],
      ...['NO_MATCH', 'AMBIGUOUS_MATCH', 'NOT_TEXT', 'TOO_LARGE', 'PLACEHOLDER_CONTENT', 'REDACTED_READ'],
      ...['UNVERIFIABLE', 'BUSY', 'INVALID_ARGUMENT', 'NO_SANDBOX', 'COMMAND_CONFLICT'],
      'WOULD_DESTROY',
    ].sort(),
  );
});

/** A call, its expected text (with `R` for a revision and `C` for a change), and fields that its outcome must have. */
type Row = readonly [tool: string, args: object, text: RegExp, outcome: readonly string[]];

const MEMBERS = [
  'ok',
  'path',
  'revision',
  'complete',
  'created',
  'changed',
  'change',
  'notice',
  'more',
  'files',
  'tier',
];
const SEEN = ['ok', 'path', 'revision', 'complete'];
const CHANGED = ['ok', 'path', 'revision', 'created', 'changed', 'change'];

const SUCCESSES: readonly Row[] = [
  [
    'read_file',
    { path: 'a.txt', offset: 2, limit: 1 },
    /^2\ttwo\n\[read a\.txt lines 2-2 of 3\]$/,
    ['ok', 'path', 'complete'],
  ],
  [
    'read_file',
    { path: 'a.txt' },
    /^1\tone\n2\ttwo\n3\tthree\n\[read a\.txt lines 1-3 of 3 revision R\]$/,
    SEEN,
  ],
  ['read_file', { path: 'ROOT/a.txt' }, /\[read ROOT\/a\.txt lines 1-3 of 3 revision R\]$/, SEEN],
  [
    'write_file',
    { path: 'd/new.txt', content: 'zwölf\n' },
    /^wrote 7 bytes to d\/new\.txt\b.*created/,
    CHANGED,
  ],
  [
    'write_file',
    { path: 'd/new.txt', content: 'x\n' },
    /^wrote 2 bytes to d\/new\.txt\b.*overwritten/,
    CHANGED,
  ],
  [
    'write_file',
    { path: 'd/new.txt', content: 'x\n' },
    /^wrote 2 bytes to d\/new\.txt/,
    ['ok', 'path', 'revision', 'created', 'changed'],
  ],
  [
    'edit_file',
    { path: 'a.txt', old_string: 'two', new_string: 'TWO' },
    /^replaced 1 occurrence\(s\) in a\.txt\n/,
    CHANGED,
  ],
  [
    'edit_file',
    { path: 'a.txt', old_string: 'e', new_string: 'E', replace_all: true },
    /^replaced 3 occurrence\(s\) in a\.txt\n/,
    CHANGED,
  ],
  ['insert_lines', { path: 'a.txt', after_line: 0, content: 'zero\n' }, /^inserted .*a\.txt/, CHANGED],
  ['insert_lines', { path: 'a.txt', content: 'last' }, /^inserted .*a\.txt/, CHANGED],
  [
    'apply_changes',
    { changes: [{ path: 'n.txt', content: 'n\n' }], dry_run: true },
    /n\.txt/,
    ['ok', 'changed'],
  ],
  [
    'apply_changes',
    {
      changes: [
        { path: 'n.txt', content: 'n\n' },
        { path: 'a.txt', edits: [{ old_string: 'zero', new_string: '0', replace_all: true }] },
        { path: 'd/new.txt', move_to: 'd/moved.txt' },
      ],
    },
    /n\.txt[\s\S]*a\.txt[\s\S]*moved\.txt/,
    ['ok', 'changed', 'change'],
  ],
  [
    'move_path',
    { source: 'n.txt', destination: 'e/m.txt' },
    /n\.txt[\s\S]*m\.txt/,
    ['ok', 'path', 'changed', 'change'],
  ],
  ['delete_path', { path: 'e/m.txt' }, /e\/m\.txt/, ['ok', 'path', 'changed', 'change']],
  ['list_directory', {}, /a\.txt/, ['ok', 'path', 'complete']],
  ['list_directory', { path: '.', depth: 2 }, /d\/moved\.txt/, ['ok', 'path', 'complete']],
  ['delete_path', { path: 'd', recursive: true }, /\bd\b/, ['ok', 'path', 'changed', 'change']],
  ['find_files', { pattern: '*.txt' }, /^a\.txt/m, ['ok', 'complete']],
  ['search_text', { pattern: 'THREE|thr' }, /a\.txt/, ['ok', 'complete']],
  ['search_text', { pattern: 'ONE', ignore_case: true, mode: 'files' }, /^a\.txt/m, ['ok', 'complete']],
  [
    'search_text',
    { pattern: 'e', ignore_case: true, mode: 'count', glob: '*.txt' },
    /a\.txt.*\d/,
    ['ok', 'complete'],
  ],
  ['search_text', { pattern: 'TWO', path: 'a.txt', context: 1 }, /TWO/, ['ok', 'complete']],
  ['file_status', { path: 'a.txt' }, /a\.txt/, ['ok', 'path', 'complete', 'revision']],
  ['file_status', {}, /a\.txt/, ['ok']],
  ['undo_change', {}, /\bd\b/, ['ok', 'change']],
  ['undo_change', { path: 'a.txt' }, /a\.txt/, ['ok', 'change']],
];

/** The text with each revision replaced by `R`, each change id by `C`, and the root's path by `ROOT`. */
function plain(text: string, root: string): string {
  return text
    .replaceAll(root, 'ROOT')
    .replace(/revision [\w:.-]+/g, 'revision R')
    .replace(/change [\w:.-]+/g, 'change C');
}

function plant({ root }: Scratch): void {
  writeFileSync(join(root, 'a.txt'), 'one\ntwo\nthree\n');
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'folder', 'b.txt'), 'b\n');
}

it('every success has its text, its outcome and no structured content', async () => {
  const places = scratch();
  plant(places);
  const served = await Served.here(places);
  for (const [tool, args, text, members] of SUCCESSES) {
    const given: object = JSON.parse(JSON.stringify(args).replaceAll('ROOT', places.root));
    const answer = await served.call(tool, given);
    const what = `${tool} ${JSON.stringify(args)}: ${answer.text}`;
    expect(answer.outcome, what).toMatchObject({ ok: true });
    expect(plain(answer.text, places.root), what).toMatch(text);
    const outcome = Object.keys(answer.outcome);
    expect(outcome, what).toEqual(expect.arrayContaining([...members]));
    expect(MEMBERS, what).toEqual(expect.arrayContaining(outcome));
    expect(answer.result, what).not.toHaveProperty('structuredContent');
    expect(answer.result, what).not.toHaveProperty('isError');
  }
});

/** Refused calls, each with the first line of the refusal, or only with the code at the end of that line. */
const REFUSALS: readonly (readonly [tool: string, args: object, first: string])[] = [
  ['write_file', { path: 'a.txt', content: 'x' }, 'refusing to overwrite a.txt: read it first [NOT_READ]'],
  [
    'edit_file',
    { path: 'a.txt', old_string: 'two', new_string: 'x' },
    'refusing to edit a.txt: read it first [NOT_READ]',
  ],
  ['insert_lines', { path: 'a.txt', after_line: 0, content: 'x' }, '[NOT_READ]'],
  ['delete_path', { path: 'a.txt' }, '[NOT_READ]'],
  ['delete_path', { path: 'folder', recursive: true }, '[NOT_READ]'],
  ['read_file', { path: '../a.txt' }, '[OUTSIDE_WORKSPACE]'],
  ['read_file', { path: 'missing.txt' }, '[NOT_FOUND]'],
  ['read_file', { path: 'folder' }, '[NOT_A_FILE]'],
  ['read_file', { path: 'a.txt', offset: 99 }, '[INVALID_ARGUMENT]'],
  ['read_file', { path: 'a.txt', offset: 0 }, '[INVALID_ARGUMENT]'],
  ['read_file', { path: 'a.txt', lines: 3 }, '[INVALID_ARGUMENT]'],
  ['read_file', {}, '[INVALID_ARGUMENT]'],
  ['write_file', { path: 'a.txt', content: 'x', expected_revision: 'wrong' }, '[REVISION_MISMATCH]'],
  ['move_path', { source: 'missing.txt', destination: 'x' }, '[NOT_FOUND]'],
  ['apply_changes', { changes: [{ path: 'a.txt', content: 'x' }] }, '[NOT_READ]'],
  ['apply_changes', { changes: [{ path: 'a.txt', contents: 'x' }] }, '[INVALID_ARGUMENT]'],
  ['undo_change', { change: 'none' }, '[NOT_FOUND]'],
  ['file_status', { path: '/etc/passwd' }, '[OUTSIDE_WORKSPACE]'],
  ['search_text', { pattern: '(' }, '[INVALID_ARGUMENT]'],
];

describe('every refusal', () => {
  it('says what was refused and why, ends its first sentence with the code, and has a matching outcome', async () => {
    const places = scratch();
    plant(places);
    const served = await Served.here(places);
    for (const [tool, args, first] of REFUSALS) {
      const answer = await served.call(tool, args);
      const what = `${tool} ${JSON.stringify(args)}: ${answer.text}`;
      expectRefusal(answer, what);
      const [sentence = ''] = answer.text.split('\n');
      expect(first.startsWith('[') ? sentence.slice(-first.length) : sentence, what).toBe(first);
      expect(sentence, what).toMatch(/^refusing to /);
    }
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\ntwo\nthree\n');
  });
});

function expectRefusal({ result, outcome, text }: Answer, what: string): void {
  expect(result, what).toMatchObject({ isError: true });
  expect(result, what).not.toHaveProperty('structuredContent');
  const { ok, code, next, path, detail, ...more } = outcome;
  expect({ ok, more }, what).toEqual({ ok: false, more: {} });
  expect(REFUSAL_CODES, what).toContain(code);
  expect(next, what).toEqual(expect.any(String));
  expect(path === undefined || typeof path === 'string', what).toBe(true);
  expect(detail === undefined || typeof detail === 'object', what).toBe(true);
  expect(text.split('\n')[0], what).toContain(`[${code}]`);
}
