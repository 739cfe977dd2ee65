import { describe, expect, it } from 'vitest';
import type { Touch } from '../touch.ts';
import { answerFor, outputIn } from './answers.ts';
import { HOSTS, interpretFor } from './hosts.ts';

function touchesOf(host: string, name: string, args: object): readonly Touch[] {
  const table = HOSTS.find(({ id }) => id === host);
  return interpretFor(table, { tool: { name }, args: { ...args } }).touches;
}

const edit = (path: string, ...pairs: [string, string, boolean?][]) => ({
  does: 'change',
  intent: {
    kind: 'edit',
    path,
    edits: pairs.map(([oldString, newString, replaceAll = false]) => ({ oldString, newString, replaceAll })),
  },
});
const write = (path: string, content: string) => ({
  does: 'change',
  intent: { kind: 'write', path, content },
});
const touch = (path: string) => ({ does: 'change', intent: { kind: 'touch', path } });
const run = (command: string, more: object = {}) => ({ does: 'run', command, ...more });

describe('the tools of a host', () => {
  it.each([
    ['claude-code', 'Write', { file_path: '/a', content: 'x' }, [write('/a', 'x')]],
    ['claude-code', 'Write', { file_path: '/a' }, [touch('/a')]],
    ['claude-code', 'Edit', { file_path: '/a', old_string: 'x', new_string: 'y' }, [edit('/a', ['x', 'y'])]],
    ['claude-code', 'Edit', { file_path: '/a', old_string: '', new_string: 'y' }, [write('/a', 'y')]],
    ['claude-code', 'Edit', { file_path: '/a', old_string: 'x' }, [touch('/a')]],
    [
      'claude-code',
      'MultiEdit',
      {
        file_path: '/a',
        edits: [
          { old_string: 'x', new_string: 'y', replace_all: true },
          { old_string: 'p', new_string: 'q' },
        ],
      },
      [edit('/a', ['x', 'y', true], ['p', 'q'])],
    ],
    ['claude-code', 'MultiEdit', { file_path: '/a', edits: [{ old_string: 'x' }] }, [touch('/a')]],
    ['claude-code', 'Bash', { command: 'ls', run_in_background: true }, [run('ls', { background: true })]],
    ['claude-code', 'Grep', { pattern: 'x', path: 'src' }, [{ does: 'search', path: 'src' }]],
    ['claude-code', 'Grep', { pattern: 'x' }, [{ does: 'search', path: undefined }]],
    ['claude-code', 'Glob', { pattern: '*' }, []],
    ['codex', 'shell', { command: ['bash', '-lc', 'ls'] }, [run('bash -lc ls')]],
    [
      'codex',
      'apply_patch',
      {
        command: [
          ...['*** Begin Patch', '*** Delete File: a', '  *** Delete File: b', '*** Add File: c', '+x'],
          ...[' *** Add File: d', '+y', '*** Update File: e', '@@', '-1', '+2', ' *** Delete File: f'],
          ...['*** End Patch'],
        ].join('\n'),
      },
      [
        ...['a', 'b'].map((path) => ({ does: 'change', intent: { kind: 'delete', path } })),
        write('c', 'x\n'),
        write('d', 'y\n'),
        {
          does: 'change',
          intent: {
            ...{ kind: 'edit', path: 'e' },
            edits: [{ oldString: '1\n*** Delete File: f\n', newString: '2\n*** Delete File: f\n' }],
          },
        },
      ],
    ],
    [
      'opencode',
      'patch',
      {
        patchText:
          '*** Begin Patch\n*** Add File:a\n+x\n*** Delete File:b\n*** Update File:c\n*** Move to:d\n*** End Patch',
      },
      [
        write('a', 'x\n'),
        { does: 'change', intent: { kind: 'delete', path: 'b' } },
        { does: 'change', intent: { kind: 'move', source: 'c', destination: 'd' } },
      ],
    ],
    ['codex', 'exec_command', { cmd: 'ls', workdir: '/w' }, [run('ls', { folder: '/w' })]],
    ['gemini', 'write_file', { file_path: 'a', content: 'x' }, [write('a', 'x')]],
    [
      'gemini',
      'replace',
      { file_path: 'a', old_string: 'x', new_string: 'y', expected_replacements: 2 },
      [edit('a', ['x', 'y', true])],
    ],
    ['gemini', 'read_many_files', { include: ['src/*.ts'] }, [{ does: 'look', path: 'src/*.ts' }]],
    [
      'opencode',
      'edit',
      { filePath: '/a', oldString: 'x', newString: 'y', replaceAll: true },
      [edit('/a', ['x', 'y', true])],
    ],
    ['cursor', 'StrReplace', { path: '/a', old_string: 'x', new_string: 'y' }, [edit('/a', ['x', 'y'])]],
    ['cursor', 'Shell', { command: 'ls', cwd: '/w' }, [run('ls', { folder: '/w' })]],
    [
      'cursor',
      'Delete',
      { path: '/a' },
      [{ does: 'change', intent: { kind: 'delete', path: '/a', recursive: false } }],
    ],
    [
      'vscode',
      'multi_replace_string_in_file',
      { replacements: [{ filePath: '/a', oldString: 'x', newString: 'y' }] },
      [edit('/a', ['x', 'y'])],
    ],
    ['vscode', 'insert_edit_into_file', { filePath: '/a', code: '…' }, [touch('/a')]],
    [
      'anthropic',
      'str_replace_based_edit_tool',
      { command: 'create', path: '/a', file_text: 'x' },
      [write('/a', 'x')],
    ],
    [
      'anthropic',
      'str_replace_based_edit_tool',
      { command: 'str_replace', path: '/a', old_str: 'x', new_str: 'y' },
      [edit('/a', ['x', 'y'])],
    ],
    [
      'anthropic',
      'str_replace_based_edit_tool',
      { command: 'insert', path: '/a', insert_line: 3, insert_text: 'x' },
      [{ does: 'change', intent: { kind: 'insert', path: '/a', content: 'x', afterLine: 3 } }],
    ],
    [
      'anthropic',
      'memory',
      { command: 'rename', old_path: '/a', new_path: '/b' },
      [{ does: 'change', intent: { kind: 'move', source: '/a', destination: '/b' } }],
    ],
  ])('%s: %s %j', (host, tool, args, expected) => {
    expect(touchesOf(host, tool, args)).toEqual(expected);
  });

  it.each([
    ['claude-code', 'Read', { file_path: '/a', offset: 10, limit: 5 }, { from: 10, to: 14 }],
    ['gemini', 'read_file', { file_path: 'a', start_line: 3, end_line: 6 }, { from: 3, to: 6 }],
    [
      'anthropic',
      'str_replace_based_edit_tool',
      { command: 'view', path: 'a', view_range: [2, -1] },
      { from: 2 },
    ],
    ['opencode', 'read', { filePath: 'a', offset: '7' }, { from: 7 }],
  ])('%s: %s requests lines %j', (host, tool, args, asked) => {
    expect(touchesOf(host, tool, args)).toMatchObject([{ does: 'read', asked: [asked] }]);
  });
});

describe('a call is marked as unexplained or as guessed', () => {
  const meant = (host: string, name: string, args: object) =>
    interpretFor(
      HOSTS.find(({ id }) => id === host),
      { tool: { name }, args: { ...args } },
    );
  it.each([
    ['a changing tool without a path', 'claude-code', 'Write', { content: 'x' }, true, false],
    ['a patch without files', 'codex', 'apply_patch', { command: 'nonsense' }, true, false],
    ['a command', 'claude-code', 'Bash', { command: 'ls' }, true, false],
    ['an unknown tool that changes', 'claude-code', 'DeployThing', { target: 'x' }, true, true],
    ['a tool that touches no file', 'claude-code', 'TodoWrite', { todos: [] }, false, false],
    ['a read', 'claude-code', 'Read', { file_path: '/a' }, false, false],
    [
      'a tool of some server, by its usual name',
      'claude-code',
      'mcp__x__write_file',
      { path: 'a', content: '' },
      false,
      true,
    ],
  ])('%s', (_, host, tool, args, unexplained, guessed) => {
    expect(meant(host, tool, args)).toMatchObject({ unexplained, guessed });
  });
});

it('every host has names for the tools that read, write and edit', () => {
  for (const { id, words, tools } of HOSTS)
    for (const name of [words.write, words.edit])
      expect(id === 'anthropic' || Object.hasOwn(tools, name), `${id}: ${name}`).toBe(true);
});

describe('the output of a command that failed is kept', () => {
  it.each([
    ['gemini', { llmContent: 'Output: one\nExit Code: 1\nProcess Group PGID: 7' }, 'one\nExit Code: 1'],
    ['codex', 'one\n', 'one\n'],
    ['codex', 'Exit code: 1\nWall time: 0 seconds\nOutput:\none\n', 'one\n'],
    ['claude-code', { stdout: 'one\n', stderr: 'x', interrupted: false }, 'one\n'],
    ['opencode', { output: 'one\n', metadata: { output: 'one\n', exit: 1 } }, 'one\n'],
  ])('%s', (host, response, output) => {
    expect(outputIn(answerFor(host, response))).toBe(output);
  });
});
