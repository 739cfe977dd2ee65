import { expect, it } from 'vitest';
import { deriveSightings } from '../../src/history/derive.ts';

const TEXT = '1\tone\n2\ttwo';

/** A read of a sub-agent: the call and its result as the host writes them. */
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
    ['dots alone', '/repo/a.ts', `${TEXT} ...`, '/repo/a.ts'],
    ['the word alone', '/repo/a.ts', `${TEXT} truncated`, '/repo/a.ts'],
    ['a text cut with an ellipsis', '/repo/a.ts', `${TEXT} …12 tokens truncated…\n3\tx`, undefined],
    ['a text cut with dots', '/repo/a.ts', `${TEXT} [... 3 lines truncated ...]\n3\tx`, undefined],
  ];

it.each(CASES)('%s is read from bytes as it is from records', (_, path, content, seen) => {
  const records = readOf(path, content);
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const escaped = lines.replaceAll('…', '\\u2026');
  const paths = [lines, escaped, records].map((transcript) =>
    deriveSightings(transcript, 'claude-code').sightings.map((sighting) => sighting.path),
  );
  const expected = seen === undefined ? [] : [seen];
  expect(paths).toEqual([expected, expected, expected]);
});

function uuidOf(count: number): string {
  return `${count.toString(16).padStart(8, '0')}-0000-4000-8000-${'0'.repeat(12)}`;
}
