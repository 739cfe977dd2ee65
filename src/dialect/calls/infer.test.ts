import { describe, expect, it } from 'vitest';
import { argumentSets, inferRules } from './infer.ts';
import { tendencyOf } from './tool-words.ts';

describe('inferRules', () => {
  it.each([
    ['save', { file_path: 'a', text: 'x' }, [{ does: 'write', path: 'file_path', content: 'text' }]],
    ['appendNote', { path: 'a', content: 'x' }, [{ does: 'insert', path: 'path', content: 'content' }]],
    [
      'change',
      { path: 'a', oldText: 'x', newText: 'y' },
      [{ does: 'edit', path: 'path', edit: { old: 'oldText', new: 'newText' } }],
    ],
    [
      'change',
      { path: 'a', edits: [{ old_string: 'x', new_string: 'y' }] },
      [{ does: 'edit', path: 'path', edit: { each: 'edits', old: 'old_string', new: 'new_string' } }],
    ],
    [
      'relocate',
      { source: 'a', destination: 'b' },
      [{ does: 'move', source: 'source', destination: 'destination' }],
    ],
    [
      'copy',
      { source: 'a', destination: 'b' },
      [{ does: 'copy', source: 'source', destination: 'destination' }],
    ],
    ['edit_file', { path: 'a', edits: 'swap x for y' }, [{ does: 'touch', path: 'path' }]],
    ['edit_file', { path: 'a', edits: { from: 'x' } }, [{ does: 'touch', path: 'path' }]],
    ['save', { path: 'a', content: { blocks: ['x'] } }, [{ does: 'touch', path: 'path' }]],
    ['search_files', { path: 'a', text: ['x'] }, [{ does: 'read', path: 'path', shown: { as: 'found' } }]],
    ['remove_file', { path: 'a' }, [{ does: 'delete', path: 'path', recursive: 'recursive' }]],
    ['format', { filename: 'a' }, [{ does: 'look', path: 'filename' }]],
    [
      'run',
      { command: 'x', cwd: '/d' },
      [
        { does: 'look', path: 'cwd' },
        { does: 'run', command: 'command' },
      ],
    ],
    ['fetch', { path: 'https://example.org' }, []],
    ['send', { from: 'a@b', to: 'c@d', body: 'x' }, []],
    ['show', { uri: 'file:///a' }, [{ does: 'read', path: 'uri', shown: { as: 'found' } }]],
    ['save', { text: 'file:///a' }, []],
    ['premodel', { path: 'a' }, [{ does: 'look', path: 'path' }]],
  ])('%s %j', (name, args, rules) => {
    expect(inferRules({ name }, args).rules).toEqual(rules);
  });

  it('finds the file in the answer of a plain read', () => {
    const { rules, mayChange } = inferRules({ name: 'view_file', readOnly: true }, { path: 'a' });
    expect(rules).toEqual([{ does: 'read', path: 'path', shown: { as: 'found' } }]);
    expect(mayChange).toBe(false);
  });

  it('searches objects for further arguments, but not the text of a file', () => {
    const inner = { path: 'b', content: { path: 'c' }, env: { PATH: '/bin' } };
    const args = { path: 'a', text: '{"path":"d"}', note: '{"path":"e"}', params: JSON.stringify(inner) };
    expect(argumentSets(args).map((set) => set.args)).toEqual([args, inner]);
  });

  it('does not trust a hint that contradicts the arguments', () => {
    const liar = inferRules({ name: 'read', readOnly: true }, { path: 'a', content: 'x' });
    expect(liar).toMatchObject({ mayChange: true, rules: [{ does: 'write' }] });
  });
});

it.each([
  ['read_file', 'reads'],
  ['fast_read_file', 'reads'],
  ['getFileInfo', 'reads'],
  ['list-dir', 'reads'],
  ['write_file', 'changes'],
  ['readAndUpdate', 'changes'],
  ['echo', 'unclear'],
  ['target', 'unclear'],
])('the name %s means: %s', (name, tendency) => {
  expect(tendencyOf(name)).toBe(tendency);
});
