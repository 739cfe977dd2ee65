import { describe, expect, it } from 'vitest';
import { KNOWN_SERVERS } from './servers/known-servers.ts';
import { readUserTables } from './user-table.ts';

describe('a user’s tables', () => {
  it('may be as full as our own, after a trip through JSON', () => {
    const file: unknown = JSON.parse(JSON.stringify(KNOWN_SERVERS));
    expect(readUserTables(file)).toEqual({ ok: true, tables: KNOWN_SERVERS });
  });

  it('need only a name and tools; the rest is filled in', () => {
    const tools = {
      load: [{ does: 'read', path: 'name', shown: { as: 'verbatim' } }],
      store: [{ does: 'write', path: 'name', content: 'text' }],
    };
    expect(readUserTables([{ id: 'mine', tools }])).toEqual({
      ok: true,
      tables: [
        {
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
        },
      ],
    });
  });

  it.each([
    ['no array', {}, 'servers: must be an array'],
    ['no object', [5], 'servers[0]: must be an object'],
    ['no name', [{ tools: {} }], 'servers[0].id'],
    ['no tools', [{ id: 'x' }], 'servers[0].tools'],
    ['an unknown field', [{ id: 'x', tools: {}, tool: 1 }], 'servers[0].tool: unknown field'],
    [
      'an empty list of rules',
      [{ id: 'x', tools: { a: [] } }],
      'servers[0].tools.a: must be an array of rules',
    ],
    ['a deed we do not know', [{ id: 'x', tools: { a: [{ does: 'wipe' }] } }], 'servers[0].tools.a[0].does'],
    ['a rule without its path', [{ id: 'x', tools: { a: [{ does: 'write', content: 'c' }] } }], 'a[0].path'],
    [
      'a misspelt selector',
      [{ id: 'x', tools: { a: [{ does: 'look', path: 'p', unles: {} }] } }],
      'a[0].unles',
    ],
    [
      'a bad condition',
      [{ id: 'x', tools: { a: [{ does: 'look', path: 'p', when: { is: [1] } }] } }],
      'a[0].when',
    ],
    [
      'a bad form of showing',
      [{ id: 'x', tools: { a: [{ does: 'read', path: 'p', shown: { as: 'odd' } }] } }],
      'a[0].shown',
    ],
    ['a bad base', [{ id: 'x', tools: {}, relativeTo: 'home' }], 'servers[0].relativeTo'],
    ['a bad folder', [{ id: 'x', tools: {}, folder: { behind: 'y' } }], 'servers[0].folder'],
    ['a flag that says nothing', [{ id: 'x', tools: {}, onlyRelative: false }], 'servers[0].onlyRelative'],
    ['half of the words', [{ id: 'x', tools: {}, words: { read: 'r' } }], 'servers[0].words.write'],
  ])('are refused whole for %s, and told where', (_what, file, problem) => {
    const outcome = readUserTables(file);
    expect(outcome.ok).toBe(false);
    if (!outcome.ok) expect(outcome.problems.join('\n')).toContain(problem);
  });
});
