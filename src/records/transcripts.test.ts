import { expect, it } from 'vitest';
import { auditTranscript } from './transcripts.ts';

const FILE = 'one\ntwo\nthree\n';

/** A conversation of Claude Code, call by call: the tool, its input and what the host recorded. */
function conversation(...calls: readonly (readonly [name: string, input: object, detail: object])[]): string {
  const lines: object[] = [];
  let parentUuid: string | null = null;
  const add = (record: object) => {
    const uuid = `${String(lines.length).padStart(8, '0')}-0000-4000-8000-000000000000`;
    lines.push({
      parentUuid,
      isSidechain: false,
      cwd: '/repo',
      ...record,
      uuid,
      timestamp: '2026-01-02T03:04:05.678Z',
    });
    parentUuid = uuid;
  };
  for (const [at, [name, input, detail]] of calls.entries()) {
    const id = `toolu_${at}`;
    const text = name === 'Read' ? '1\tone' : 'done';
    add({
      message: { role: 'assistant', content: [{ type: 'tool_use', id, name, input }] },
      type: 'assistant',
    });
    const result = { tool_use_id: id, type: 'tool_result', content: text };
    add({ type: 'user', message: { role: 'user', content: [result] }, toolUseResult: detail });
  }
  return lines.map((line) => JSON.stringify(line)).join('\n');
}

const PATH = '/repo/a.txt';
const read = (content = FILE, startLine = 1) => {
  const numLines = content.split('\n').length;
  const file = { filePath: PATH, content, numLines, startLine, totalLines: startLine > 1 ? 99 : numLines };
  return ['Read', { file_path: PATH }, { type: 'text', file }] as const;
};
const write = (content: string, originalFile: string | null) =>
  ['Write', { file_path: PATH, content }, { type: 'update', filePath: PATH, content, originalFile }] as const;
const edit = (originalFile: string) =>
  [
    'Edit',
    { file_path: PATH, old_string: 'two', new_string: 'TWO' },
    { filePath: PATH, oldString: 'two', newString: 'TWO', originalFile, structuredPatch: [] },
  ] as const;
const bash = (command: string, detail: object = {}) =>
  ['Bash', { command }, { stdout: '', stderr: '', ...detail }] as const;

it.each([
  ['a write over a file that was not read', [write('x\n', FILE)], ['blind-overwrite /repo/a.txt']],
  [
    'a write after a read of some lines',
    [read('one\n', 2), write('x\n', FILE)],
    ['blind-overwrite /repo/a.txt'],
  ],
  ['a write after a read', [read(), write('x\n', FILE)], []],
  [
    'a write after a read, over bytes that changed since',
    [read(), write('x\n', 'other\n')],
    ['blind-overwrite /repo/a.txt'],
  ],
  ['a second write', [read(), write('x\n', FILE), write('y\n', 'x\n')], []],
  ['a new file', [write('x\n', null)], []],
  ['the same bytes', [write(FILE, FILE)], []],
  ['an edit after a read', [read(), edit(FILE)], []],
  ['an edit of a file that changed since', [read(), edit(`zero\n${FILE}`)], ['outdated-edit /repo/a.txt']],
  ['an edit without a read', [edit(FILE)], []],
  [
    'a command that writes',
    [bash('echo x > out.txt && sed -i s/a/b/ /repo/src/b.ts')],
    ['shell-write /repo/src/b.ts', 'shell-write /repo/out.txt'],
  ],
  ['a command that writes elsewhere', [bash('echo x > /tmp/out.txt')], []],
  [
    'a command that writes, after one that is too deep to parse',
    [bash(`echo ${'$('.repeat(2000)}`), bash('echo x > out.txt')],
    ['shell-write /repo/out.txt'],
  ],
  ['a command that only mentions the file', [bash('git commit -m "a > b"')], []],
])('%s', (_, calls, expected) => {
  const { findings } = auditTranscript(conversation(...calls), { root: '/repo', cwd: '/repo' });
  expect(findings.map(({ kind, path }) => `${kind} ${path}`).sort()).toEqual([...expected].sort());
});

it.each([
  ['git checkout .', ['git checkout . (uncommitted work) /repo']],
  [
    'git checkout -- a.txt && git restore src',
    ['git checkout -- (uncommitted work) /repo', 'git restore (uncommitted work) /repo'],
  ],
  ['cd src && git reset --hard HEAD~1', ['git reset --hard (uncommitted work) /repo/src']],
  ['git clean -fdx', ['git clean -fdx (untracked files) /repo']],
  [
    'git stash drop; git branch -D one',
    ['git stash drop (stashes) /repo', 'git branch -D (branches or tags) /repo'],
  ],
  [
    'git reflog expire --expire=now --all && git gc --prune=now',
    ['git reflog expire (old commits) /repo', 'git gc --prune (old commits) /repo'],
  ],
  ['rm -rf src node_modules dist/a build/*', ['rm -rf (folders) /repo/src']],
  ['git worktree remove --force /repo/other', ['git worktree remove (worktrees) /repo/other']],
  ['git -C /elsewhere reset --hard; rm -rf /tmp/x', []],
  ['git checkout main', []],
  ['git checkout -b topic; git branch -M main; git branch -d old', []],
  ['git reset --soft HEAD~1; git restore --staged .; git clean -n', []],
  ['git stash && git checkout .', []],
  ['git add -A && git commit -m x && git reset --hard', []],
  ['test -d src || rm -rf src', []],
  ['git commit -m "git reset --hard"', []],
])('counts the destroying commands of %s', (command, expected) => {
  expect(destroying(conversation(bash(command)))).toEqual(expected);
});

it('counts a destroying command only if it ran, also if git wrote to standard error', () => {
  const line = 'git checkout a.txt';
  const updated = (count: number) => ({ stderr: `Updated ${count} paths from the index` });
  const counted = (text: string) => destroying(text).length;
  expect(counted(conversation(bash('git checkout .', updated(2))))).toBe(1);
  expect(counted(conversation(bash('git clean -fd', { interrupted: true })))).toBe(0);
  expect(counted(conversation(bash('git clean -fd', { backgroundTaskId: 'b1' })))).toBe(0);
  const failed = conversation(bash('git clean -fd')).replace(
    '"content":"done"',
    '"content":"x","is_error":true',
  );
  expect(counted(failed)).toBe(0);
  const shown = (text: string) => conversation(bash(line)).replace('"content":"done"', `"content":"${text}"`);
  expect(counted(shown('Updated 1 path from the index'))).toBe(1);
  expect(counted(shown('Updated 0 paths from the index'))).toBe(0);
  expect(counted(shown("Switched to branch 'a.txt'"))).toBe(0);
});

/** The destroying commands in a transcript: each with its work and path. */
function destroying(text: string): readonly string[] {
  return auditTranscript(text, { root: '/repo', cwd: '/repo' }).findings.flatMap((finding) =>
    finding.kind === 'destroying-command' ? [`${finding.command} (${finding.work}) ${finding.path}`] : [],
  );
}

it('counts changes and commands', () => {
  const text = conversation(read(), write('x\n', FILE), bash('ls'), bash('make'));
  expect(auditTranscript(text, { root: '/repo' })).toMatchObject({
    format: 'claude-code',
    changes: 1,
    commands: 2,
  });
  expect(auditTranscript('', {})).toEqual({ format: undefined, changes: 0, commands: 0, findings: [] });
});
