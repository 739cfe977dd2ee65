import { expect, it } from 'vitest';
import { deriveSightings } from '../../src/history/derive.ts';

const TEXT = '1\tone\n2\ttwo';
const END = { timestamp: '2026-01-02T03:04:05.678Z', cwd: '/repo', version: '2.1' };

/** A read by a sub-agent: the call and its result as Claude Code writes them. */
function readOf(path: string, content: string): readonly object[] {
  const id = 'toolu_1';
  const call = { type: 'tool_use', id, name: 'Read', input: { file_path: path } };
  const result = { tool_use_id: id, type: 'tool_result', content };
  const end = { timestamp: '2026-01-02T03:04:05.678Z', cwd: '/repo' };
  const [first, second] = [uuidOf(1), uuidOf(2)];
  const message = { role: 'assistant', content: [call], stop_reason: 'tool_use' };
  return [
    { parentUuid: null, isSidechain: true, message, type: 'assistant', uuid: first, ...end },
    {
      parentUuid: first,
      isSidechain: true,
      type: 'user',
      message: { role: 'user', content: [result] },
      uuid: second,
      ...end,
    },
  ];
}

const CASES: readonly (readonly [title: string, path: string, content: string, seen: string | undefined])[] =
  [
    ['a plain path', '/repo/a.ts', TEXT, '/repo/a.ts'],
    ['a path with a quote', '/repo/"a".ts', TEXT, '/repo/"a".ts'],
    ['a path with a backslash', '/repo/a\\n.ts', TEXT, '/repo/a\\n.ts'],
    ['a path that is not ASCII', '/repo/ä😀.ts', TEXT, '/repo/ä😀.ts'],
    ['a path to be resolved', 'src/../a.ts', TEXT, '/repo/a.ts'],
    ['a text with dots only', '/repo/a.ts', `${TEXT} ...`, '/repo/a.ts'],
    ['a text with the word "truncated"', '/repo/a.ts', `${TEXT} truncated`, '/repo/a.ts'],
    ['a text cut with an ellipsis', '/repo/a.ts', `${TEXT} …12 tokens truncated…\n3\tx`, undefined],
    ['a text cut with dots', '/repo/a.ts', `${TEXT} [... 3 lines truncated ...]\n3\tx`, undefined],
  ];

it.each(CASES)('%s gives the same result from bytes as from records', (_, path, content, seen) => {
  const records = readOf(path, content);
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const escaped = lines.replaceAll('…', '\\u2026');
  const paths = [lines, escaped, records].map((transcript) =>
    deriveSightings(transcript, 'claude-code').sightings.map((sighting) => sighting.path),
  );
  const expected = seen === undefined ? [] : [seen];
  expect(paths).toEqual([expected, expected, expected]);
});

const INPUT = { file_path: '/repo/a.ts' };
const GLOB = { type: 'tool_use', id: 'toolu_0', name: 'Glob', input: { pattern: '*' } };
const MIXED: readonly (readonly [title: string, content: readonly object[]])[] = [
  ['two calls', [GLOB, { type: 'tool_use', id: 'toolu_1', name: 'Read', input: INPUT }]],
  ['a remote call', [GLOB, { type: 'mcp_tool_use', id: 'toolu_1', name: 'Read', input: INPUT }]],
  ['another order of keys', [GLOB, { id: 'toolu_1', type: 'tool_use', name: 'Read', input: INPUT }]],
  ['another order before it', [{ id: 'toolu_1', type: 'tool_use', name: 'Read', input: INPUT }, GLOB]],
  ['a name before the id', [GLOB, { type: 'tool_use', name: 'Read', id: 'toolu_1', input: INPUT }]],
];

it.each(MIXED)('a message with %s gives the same result from bytes as from records', (_, content) => {
  const [call, result] = readOf('/repo/a.ts', TEXT);
  const message = { role: 'assistant', content, stop_reason: 'tool_use' };
  const records = [{ ...call, message }, { ...result }];
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const paths = [lines, records].map((transcript) =>
    deriveSightings(transcript, 'claude-code').sightings.map((sighting) => sighting.path),
  );
  expect(paths).toEqual([['/repo/a.ts'], ['/repo/a.ts']]);
});

function uuidOf(count: number): string {
  return `${count.toString(16).padStart(8, '0')}-0000-4000-8000-${'0'.repeat(12)}`;
}

const COMMANDS: readonly (readonly [title: string, input: object, seen: readonly string[]])[] = [
  ['a command alone', { command: 'cat a.ts' }, ['/repo/a.ts']],
  [
    'a command with other arguments',
    { command: 'cat a.ts', description: 'a \\ "b"', timeout: 5 },
    ['/repo/a.ts'],
  ],
  ['a command with quotes', { command: 'cat "a b.ts"' }, ['/repo/a b.ts']],
  ['a command with two spaces', { command: 'cat  a.ts' }, ['/repo/a.ts']],
  ['a command of two words that is not ASCII', { command: 'cat ä.ts' }, ['/repo/ä.ts']],
  ['a command in the background', { command: 'cat a.ts', run_in_background: true }, []],
  ['a command in another folder', { command: 'cat a.ts', cwd: '/else' }, ['/else/a.ts']],
  ['a command with a pipe', { command: 'cat a.ts | wc' }, []],
  ['a command too deep to parse', { command: `cat "${'$('.repeat(2000)}` }, []],
  ['a command longer than one chunk', { command: `cat ${'a'.repeat(5000)}` }, [`/repo/${'a'.repeat(5000)}`]],
];

it.each(COMMANDS)('%s gives the same result from bytes as from records', (_, input, seen) => {
  expect(pathsOf([runOf(1, input, END)])).toEqual([seen, seen]);
});

const ENDS: readonly (readonly [title: string, end: object])[] = [
  ['a record with the same folder', END],
  ['a record whose folder has the same length', { ...END, cwd: '/else' }],
  ['a record with another version', { ...END, version: '2.2' }],
  ['a record with a longer folder', { ...END, cwd: '/else/where' }],
  ['a record with an escaped folder', { ...END, cwd: '/el"e' }],
  ['a record without a folder', { timestamp: END.timestamp, version: '2.1' }],
];

it.each(ENDS)(
  'a relative path is resolved in the working directory of its own record, even after %s',
  (_, end) => {
    const input = { command: 'cat a.ts' };
    const [fromBytes, fromRecords] = pathsOf([
      runOf(1, input, END),
      runOf(2, input, end),
      runOf(3, input, END),
    ]);
    const middle = 'cwd' in end ? [`${String(end.cwd)}/a.ts`] : [];
    expect(fromBytes).toEqual(['/repo/a.ts', ...middle, '/repo/a.ts']);
    expect(fromRecords).toEqual(fromBytes);
  },
);

it.each([
  '2026-01-02T03:04:05.678Z',
  '2024-02-29T23:59:59.999Z',
  '2026-02-30T00:00:00.000Z',
  '2026-13-01T00:00:00.000Z',
  '2026-01-02T24:00:00.000Z',
  '0050-01-02T03:04:05.678Z',
  '2026-01-02 03:04:05.678Z',
  '2026-01-02T03:04:0x.678Z',
])('the time %s gives the same result from bytes as from records', (timestamp) => {
  const records = runOf(1, { command: 'cat a.ts' }, { ...END, timestamp });
  const atMs = Date.parse(timestamp);
  const times = [linesOf(records), records].map(
    (transcript) => deriveSightings(transcript, 'claude-code').sightings[0]?.atMs,
  );
  const expected = Number.isNaN(atMs) ? undefined : atMs;
  expect(times).toEqual([expected, expected]);
});

it('a path of a million parts is handled', () => {
  const path = '/a'.repeat(1_000_000);
  const [record] = deriveSightings(readOf(path, TEXT), 'claude-code').sightings;
  expect(record?.path.length).toBe(path.length);
});

/** A command of the main conversation that prints two lines. */
function runOf(count: number, input: object, end: object): readonly object[] {
  const id = `toolu_${count}`;
  const [before, first, second] = [uuidOf(2 * count - 1), uuidOf(2 * count), uuidOf(2 * count + 1)];
  const call = { type: 'tool_use', id, name: 'Bash', input };
  const message = { role: 'assistant', content: [call], stop_reason: 'tool_use' };
  const result = { tool_use_id: id, type: 'tool_result', content: 'one\ntwo', is_error: false };
  const detail = { stdout: 'one\ntwo', stderr: '', interrupted: false, isImage: false };
  const parentUuid = count === 1 ? null : before;
  return [
    { parentUuid, isSidechain: false, message, type: 'assistant', uuid: first, ...end },
    {
      parentUuid: first,
      isSidechain: false,
      type: 'user',
      message: { role: 'user', content: [result] },
      uuid: second,
      ...withDetail(end, detail),
    },
  ];
}

/** Inserts `toolUseResult` after the first field, which is the time, as Claude Code does. */
function withDetail(end: object, toolUseResult: object): object {
  const [time, ...rest] = Object.entries(end);
  return Object.fromEntries([time ?? [], ['toolUseResult', toolUseResult], ...rest]);
}

function linesOf(records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function pathsOf(runs: readonly (readonly object[])[]): readonly (readonly string[])[] {
  const records = runs.flat();
  return [linesOf(records), records].map((transcript) =>
    deriveSightings(transcript, 'claude-code').sightings.map((sighting) => sighting.path),
  );
}
