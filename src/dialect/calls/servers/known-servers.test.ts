import { expect, it } from 'vitest';
import { ALL_SERVERS } from '../../../../test/support/server-tables.ts';
import { recognise } from './known-servers.ts';

const ids = (traits: { name?: string; tools?: string[] }) =>
  recognise(traits, ALL_SERVERS).map(({ id }) => id);

it.each([
  ['by name alone', { name: 'Desktop-Commander' }, ['desktop-commander']],
  ['by tools alone', { tools: ['fast_read_file', 'fast_write_file', 'x'] }, ['fast-filesystem']],
  ['by neither', { name: 'x', tools: ['y'] }, []],
  [
    'two of one name, until the tools are known',
    { name: 'secure-filesystem-server' },
    ['filesystem', 'mark3labs-filesystem'],
  ],
  [
    'the better one of them first',
    { name: 'secure-filesystem-server', tools: ['copy_file', 'tree', 'list_allowed_directories'] },
    ['mark3labs-filesystem', 'filesystem'],
  ],
  [
    'a fork under another name',
    { name: 'my-fork', tools: ['read', 'create', 'edit', 'patch', 'replace_text'] },
    ['j0hanz-filesystem'],
  ],
])('servers are recognised %s', (_what, traits, expected) => {
  expect(ids(traits)).toEqual(expected);
});
