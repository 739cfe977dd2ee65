import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Served } from '../support/served.ts';
import { scratch } from '../support/tree.ts';

it.each([
  ['JSON text', '{"path":"a.txt"}', false],
  ['JSON text in a code fence', '```json\n{"path":"a.txt"}\n```', true],
  ['JSON text with a trailing comma', '{"path":"a.txt",}', true],
])('a tool call whose arguments are %s is answered', async (_what, given, isRepaired) => {
  const places = scratch();
  writeFileSync(join(places.root, 'a.txt'), 'one\n');
  const served = await Served.here(places);
  const answer = await served.client.request('tools/call', { name: 'read_file', arguments: given });
  const text = JSON.stringify(answer);
  expect(text).toContain('one');
  expect(text.includes('not valid JSON')).toBe(isRepaired);
});
