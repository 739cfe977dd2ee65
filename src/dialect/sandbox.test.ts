import { describe, expect, it } from 'vitest';
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
});
