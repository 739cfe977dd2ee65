import { describe, expect, it } from 'vitest';
import { LACE } from './lace.ts';

function call(name: string, args: Record<string, unknown>) {
  const tool = LACE.tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool.call(args);
}

describe('file_read', () => {
  it.each([
    [{}, { limit: 65_536, maxBytes: 65_536 }],
    [{ startLine: 5 }, { offset: 5, limit: 2000 }],
    [{ endLine: 3 }, { offset: 1, limit: 3 }],
    [
      { startLine: 5, endLine: 5 },
      { offset: 5, limit: 1 },
    ],
    [
      { startLine: 1, endLine: 9999 },
      { offset: 1, limit: 2000 },
    ],
  ])('of %j reads %j', (args, operation) => {
    expect(call('file_read', { path: 'a', ...args })).toMatchObject({
      operation: { path: 'a', ...operation },
    });
  });

  it('refuses a range that ends before it begins', () => {
    expect(call('file_read', { path: 'a', startLine: 5, endLine: 4 })).toEqual({
      kind: 'problem',
      reason: 'endLine must be >= startLine',
    });
  });
});

describe('file_edit', () => {
  it('replaces one occurrence, or exactly the given number', () => {
    const edits = [
      { old_text: 'a', new_text: 'b' },
      { old_text: 'c', new_text: 'd', occurrences: 1 },
      { old_text: 'e', new_text: '', occurrences: 3 },
    ];
    expect(call('file_edit', { path: 'f', edits })).toMatchObject({
      kind: 'edit',
      operation: {
        path: 'f',
        edits: [
          { oldString: 'a', newString: 'b' },
          { oldString: 'c', newString: 'd' },
          { oldString: 'e', newString: '', replaceAll: true, occurrences: 3 },
        ],
      },
    });
    expect(call('file_edit', { path: 'f', edits, dry_run: true })).toMatchObject({
      kind: 'apply',
      operation: { dryRun: true, changes: [{ kind: 'edit', path: 'f' }] },
    });
  });
});

describe('ripgrep_search', () => {
  it.each([
    [{ pattern: 'a.b(c)' }, { pattern: 'a.b(c)', literal: true, wholeWord: false }],
    [
      { pattern: 'a.b', literal: false },
      { pattern: 'a.b', literal: false, wholeWord: false },
    ],
    [
      { pattern: '$a', wholeWord: true },
      { pattern: '$a', literal: true, wholeWord: true },
    ],
  ])('of %j looks for %j', (args, operation) => {
    expect(call('ripgrep_search', args)).toMatchObject({
      operation: { ...operation, ignoreCase: true, limit: 50 },
    });
  });
});

describe('file_list', () => {
  it.each([
    [{}, { depth: 1, limit: 50 }],
    [{ recursive: true }, { depth: 4, limit: 50 }],
    [
      { path: 'd', recursive: true, maxDepth: 1, maxResults: 9 },
      { path: 'd', depth: 2, limit: 9 },
    ],
  ])('of %j lists %j', (args, operation) => {
    expect(call('file_list', args)).toMatchObject({ kind: 'list', operation });
  });
});

it('file_find finds names by a glob', () => {
  expect(call('file_find', { pattern: '*.ts', path: 'd' })).toMatchObject({
    kind: 'find',
    operation: { pattern: '*.ts', path: 'd', limit: 50 },
  });
});
