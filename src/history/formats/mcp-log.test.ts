import { expect, it } from 'vitest';
import { deriveSightings } from '../derive.ts';

const CALL = { id: 1, method: 'tools/call', params: { name: 'read_file', arguments: { path: '/w/a' } } };
const READ = { id: 1, result: { content: [{ type: 'text', text: 'one\ntwo\n' }] } };
const DENIED = { id: 1, result: { content: [{ type: 'text', text: 'denied' }], isError: true } };
const ASKED = { id: 1, method: 'elicitation/create', params: {} };

function logOf(...messages: readonly object[]): readonly object[] {
  return messages.map((message) => ({ jsonrpc: '2.0', ...message }));
}

const [PLAIN] = deriveSightings(logOf(CALL, READ), 'mcp-log').sightings;

it.each([
  ['an answer of the user', ASKED, { id: 1, result: { action: 'decline' } }],
  ['an error', { id: 1, method: 'roots/list' }, { id: 1, error: { code: -32601, message: 'no' } }],
  [
    'an answer of a model',
    { id: 1, method: 'sampling/createMessage', params: {} },
    { id: 1, result: { role: 'assistant', model: 'm', content: [{ type: 'text', text: 'x' }] } },
  ],
])('%s to the server is not the result of a call with the same id', (_what, request, answer) => {
  expect(deriveSightings(logOf(CALL, request, answer, READ), 'mcp-log').sightings).toEqual([PLAIN]);
  expect(deriveSightings(logOf(CALL, request, answer, DENIED), 'mcp-log').sightings).toEqual([]);
});

it('a request to the client that was never answered does not hide a result', () => {
  expect(PLAIN).toBeDefined();
  expect(deriveSightings(logOf(CALL, ASKED, READ), 'mcp-log').sightings).toEqual([PLAIN]);
});
