import { expect, it } from 'vitest';
import { deriveSightings } from '../derive.ts';

const READ = '1\talpha\n2\tbeta\n[read a.txt lines 1-2 of 2 revision 0123456789ab]';

function rollout(name: string, args: object, output: unknown): readonly object[] {
  const item = (payload: object) => ({
    timestamp: '2026-11-15T06:34:17.555Z',
    type: 'response_item',
    payload,
  });
  return [
    { type: 'session_meta', payload: { cwd: '/repo' } },
    item({ type: 'function_call', name, arguments: JSON.stringify(args), call_id: 'c1' }),
    item({ type: 'function_call_output', call_id: 'c1', output }),
  ];
}

function blocks(...texts: string[]): readonly object[] {
  return ['Wall time: 0.0421 seconds\nOutput:', ...texts].map((text) => ({ type: 'input_text', text }));
}

it.each([
  ['a read of our server', 'mcp__lookfirst__read_file', { path: 'a.txt' }, READ, ['whole']],
  [
    'a write of our server',
    'mcp__lookfirst__write_file',
    { path: 'a.txt', content: 'x\n' },
    'wrote 2 bytes to a.txt (created)\n[revision 0123456789ab change c1]',
    ['whole'],
  ],
  ['a refusal', 'mcp__lookfirst__write_file', { path: 'a.txt', content: 'x' }, 'refusing to overwrite', []],
  ['a text that may not come from the file', 'mcp__files__read_file', { path: 'a.txt' }, 'alpha', []],
])('%s through MCP', (_, name, args, text, coverage) => {
  const { sightings } = deriveSightings(rollout(name, args, blocks(text)), 'codex');
  expect(sightings.map((sighting) => [sighting.path, sighting.coverage.kind])).toEqual(
    coverage.map((kind) => ['/repo/a.txt', kind]),
  );
});
