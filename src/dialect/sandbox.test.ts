import { describe, expect, it } from 'vitest';
import { RENDER_CONTEXT as W } from '../../test/support/render-context.ts';
import type { ReadResult } from '../model/results.ts';
import { styledText } from './render.ts';
import { SANDBOX } from './sandbox.ts';

function call(name: string, args: Record<string, unknown>) {
  const tool = SANDBOX.tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool.call(args);
}

describe('the sandbox dialect', () => {
  it.each([
    [{}, {}],
    [{ offset: 0, limit: -1 }, {}],
    [
      { offset: 3.9, limit: 2.2 },
      { offset: 3, limit: 2 },
    ],
  ])('treats values below 1 as the default and rounds down: %j', (args, range) => {
    expect(call('Read', { file_path: 'a', ...args })).toMatchObject({ operation: { path: 'a', ...range } });
  });

  it('shows numbered lines and nothing else', () => {
    const read = call('Read', { file_path: 'a' });
    const result: ReadResult = {
      path: 'a',
      text: 'one\ntwo',
      from: 5,
      to: 6,
      totalLines: 9,
      sizeBytes: 8,
      complete: false,
      encoding: 'utf-8',
      clamped: [],
    };
    if (read.kind !== 'read') throw new Error('not a read');
    expect(styledText(result, read.style, W)).toBe('5\tone\n6\ttwo\n');
    expect(styledText({ ...result, text: '', from: 0, to: 0 }, read.style, W)).toBe('');
  });

  it('answers a change in one sentence', () => {
    const change = { path: 'a', changed: true, created: false, sizeBytes: 3, revision: 'r', notices: [] };
    const write = call('Write', { file_path: 'a', content: 'two' });
    const edit = call('Edit', { file_path: 'a', old_string: 'x', new_string: 'y' });
    if (write.kind !== 'write' || edit.kind !== 'edit') throw new Error('not a change');
    expect(write.render(change, W)).toBe('wrote 3 bytes to a');
    expect(edit.render({ ...change, replaced: 2 }, W)).toBe('replaced 2 occurrence(s) in a');
  });

  it('refuses an empty anchor', () => {
    expect(call('Edit', { file_path: 'a', old_string: '', new_string: 'y' })).toEqual({
      kind: 'problem',
      reason: 'old_string must be non-empty',
    });
  });

  it.each([
    [undefined, 'lines'],
    ['content', 'lines'],
    ['files_with_matches', 'files'],
    ['count', 'count'],
  ])('searches in mode %s as %s', (output_mode, mode) => {
    const args = { pattern: 'x', head_limit: 0, ...(output_mode === undefined ? {} : { output_mode }) };
    expect(call('Grep', args)).toMatchObject({ kind: 'search', operation: { pattern: 'x', mode } });
    expect(call('Grep', args)).not.toHaveProperty('operation.limit');
  });

  it('finds at most 100 files by default', () => {
    expect(call('Glob', { pattern: '*.go' })).toMatchObject({ operation: { limit: 100 } });
    expect(call('Glob', { pattern: '*.go', limit: 5 })).toMatchObject({ operation: { limit: 5 } });
  });

  it('says if there may be more', () => {
    const glob = call('Glob', { pattern: '*' });
    const grep = call('Grep', { pattern: 'x', output_mode: 'files_with_matches' });
    if (glob.kind !== 'find' || grep.kind !== 'search') throw new Error('not a search');
    expect(glob.render({ paths: ['a', 'b'], truncated: false }, W)).toBe('a\nb');
    expect(glob.render({ paths: ['a'], truncated: true }, W)).toMatch(/^a\n\[there may be more: /);
    const hits = { mode: 'files', hits: [], matches: 0, truncated: true } as const;
    expect(grep.render(hits, W)).toMatch(/^\[there may be more: /);
  });
});
