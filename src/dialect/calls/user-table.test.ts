import { describe, expect, it } from 'vitest';
import { ALL_SERVERS } from '../../../test/support/server-tables.ts';
import { checkShape, listOf, mismatchText, objectOf } from '../../model/shape.ts';
import { USER_TABLE } from './table.ts';
import { completeTable, type UserTable } from './user-table.ts';

describe('a user’s tables', () => {
  it('may have every field of our own tables, and can be written as JSON', () => {
    const file: UserTable[] = JSON.parse(JSON.stringify(ALL_SERVERS));
    expect(checkShape(listOf(USER_TABLE), file)).toEqual([]);
    expect(file.map(completeTable)).toEqual(ALL_SERVERS);
  });

  it('need only a name and tools; the other fields get defaults', () => {
    const tools: UserTable['tools'] = {
      load: [{ does: 'read', path: 'name', shown: { as: 'verbatim' } }],
      store: [{ does: 'write', path: 'name', content: 'text' }],
    };
    expect(checkShape(USER_TABLE, { id: 'mine', tools })).toEqual([]);
    expect(completeTable({ id: 'mine', tools })).toEqual({
      id: 'mine',
      serverNames: ['mine'],
      signature: [],
      relativeTo: 'root',
      expandsHome: true,
      words: {
        read: 'load',
        write: 'store',
        edit: 'the tool that edits a file',
        arguments: { path: 'name' },
      },
      tools,
    });
  });

  it.each([
    ['no array', {}, '"servers" must be an array'],
    ['no object', [5], '"servers[0]" must be an object'],
    ['no name', [{ tools: {} }], 'the key "servers[0].id" is missing'],
    ['no tools', [{ id: 'x' }], 'the key "servers[0].tools" is missing'],
    [
      'an unknown field',
      [{ id: 'x', tools: {}, tool: 1 }],
      'unknown key "servers[0].tool"; did you mean "servers[0].tools"?',
    ],
    [
      'an empty list of rules',
      [{ id: 'x', tools: { a: [] } }],
      '"servers[0].tools.a" must be an array of rules, not an empty array',
    ],
    [
      'a deed we do not know',
      [{ id: 'x', tools: { a: [{ does: 'wipe' }] } }],
      '"servers[0].tools.a[0].does" must be one of "look"',
    ],
    [
      'a rule without its path',
      [{ id: 'x', tools: { a: [{ does: 'write', content: 'c' }] } }],
      'the key "servers[0].tools.a[0].path" is missing',
    ],
    [
      'a misspelt selector',
      [{ id: 'x', tools: { a: [{ does: 'look', path: 'p', unles: {} }] } }],
      'a[0].unles"; did you mean "servers[0].tools.a[0].unless"?',
    ],
    [
      'a bad condition',
      [{ id: 'x', tools: { a: [{ does: 'look', path: 'p', when: { is: [1] } }] } }],
      'a[0].when.argument" is missing',
    ],
    [
      'a bad form of showing',
      [{ id: 'x', tools: { a: [{ does: 'read', path: 'p', shown: { as: 'odd' } }] } }],
      'a[0].shown.as" must be one of "verbatim"',
    ],
    [
      'a bad base',
      [{ id: 'x', tools: {}, relativeTo: 'home' }],
      '"servers[0].relativeTo" must be one of "root", "cwd", not "home"',
    ],
    [
      'a flag that says nothing',
      [{ id: 'x', tools: {}, onlyRelative: false }],
      '"servers[0].onlyRelative" must be true, or absent, not false',
    ],
    [
      'half of the words',
      [{ id: 'x', tools: {}, words: { read: 'r' } }],
      'the key "servers[0].words.write" is missing',
    ],
  ])('are refused as a whole for %s, with the place of the error', (_what, file, problem) => {
    const found = checkShape(objectOf({ servers: listOf(USER_TABLE) }), { servers: file });
    const texts = found.map((each) => mismatchText(each, { noun: 'key', whole: 'the tables' }));
    expect(texts.join('\n')).toContain(problem);
  });
});
