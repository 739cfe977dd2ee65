import { describe, expect, it } from 'vitest';
import { ALL_SERVERS } from '../../test/support/server-tables.ts';
import { OFFICIAL_FILESYSTEM } from '../dialect/calls/servers/known-servers.ts';
import { understand } from './call.ts';
import { Catalogue } from './catalogue.ts';

const tool = (name: string, annotations: object = {}) => ({ name, inputSchema: {}, annotations });
const official = { serverInfo: { name: 'secure-filesystem-server' } };

describe('Catalogue', () => {
  it('recognises a server by its name before its tools were listed', () => {
    const catalogue = new Catalogue(ALL_SERVERS);
    expect(catalogue.table).toBeUndefined();
    catalogue.sawServer(official);
    expect(catalogue.table?.id).toBe('filesystem');
  });

  it('recognises a server by the name that newer servers put into every result', () => {
    const catalogue = new Catalogue(ALL_SERVERS);
    const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'desktop-commander' } };
    catalogue.sawTools({ tools: [tool('edit_block')], _meta });
    expect(catalogue.table?.id).toBe('desktop-commander');
  });

  it('distinguishes servers with the same name by their tools, over several pages', () => {
    const catalogue = new Catalogue(ALL_SERVERS);
    catalogue.sawServer(official);
    catalogue.sawTools({ tools: [tool('copy_file'), tool('tree')], nextCursor: 'x' });
    catalogue.sawTools({ tools: [tool('list_allowed_directories'), tool('modify_file')] });
    expect(catalogue.table?.id).toBe('mark3labs-filesystem');
    expect(catalogue.rulesOf('modify_file')).toBeDefined();
  });

  it('tries the user’s own tables first', () => {
    const own = { ...OFFICIAL_FILESYSTEM, id: 'mine', signature: [] };
    const catalogue = new Catalogue(ALL_SERVERS, [own]);
    catalogue.sawServer(official);
    expect(catalogue.table?.id).toBe('mine');
  });

  it("uses the user's rules for a tool, even if our own table matches better", () => {
    const rules = [{ does: 'unknown' }] as const;
    const own = { ...OFFICIAL_FILESYSTEM, signature: [], tools: { write_file: rules } };
    const catalogue = new Catalogue(ALL_SERVERS, [own]);
    catalogue.sawServer(official);
    catalogue.sawTools({ tools: OFFICIAL_FILESYSTEM.signature.map((name) => tool(name)) });
    expect(catalogue.rulesOf('write_file')).toBe(rules);
    expect(catalogue.rulesOf('edit_file')).toBe(OFFICIAL_FILESYSTEM.tools['edit_file']);
  });

  it('has no rules for a name that every object has, such as constructor', () => {
    const catalogue = new Catalogue(ALL_SERVERS);
    catalogue.sawServer(official);
    expect(catalogue.rulesOf('constructor')).toBeUndefined();
  });

  it('ignores answers of another shape', () => {
    const catalogue = new Catalogue(ALL_SERVERS);
    for (const odd of [undefined, null, 5, { tools: 'x' }, { tools: [1, null, {}] }, { serverInfo: 3 }]) {
      catalogue.sawServer(odd);
      catalogue.sawTools(odd);
    }
    expect(catalogue.table).toBeUndefined();
    expect(catalogue.words.arguments.path).toBe('path');
  });
});

describe('understand', () => {
  const seen = (name: string, tools: object[] = []) => {
    const catalogue = new Catalogue(ALL_SERVERS);
    catalogue.sawServer({ serverInfo: { name } });
    if (tools.length > 0) catalogue.sawTools({ tools });
    return catalogue;
  };

  it('treats a described tool whose arguments match no rule as unknown', () => {
    const call = { tool: 'write_file', args: { file: 'x' } };
    expect(understand(seen('secure-filesystem-server'), call, '/cwd')).toMatchObject({
      touches: [],
      unexplained: true,
      guessed: false,
    });
  });

  it('treats a described tool that changes nothing as harmless, even without a path', () => {
    const call = { tool: 'find_symbol', args: { name_path_pattern: 'x' } };
    expect(understand(seen('serena'), call, '/cwd')).toMatchObject({ touches: [], unexplained: false });
  });

  it('trusts a tool that claims to be read-only, and no tool without such a claim', () => {
    const tools = [tool('poke', { readOnlyHint: true }), tool('prod')];
    const catalogue = seen('strange', tools);
    expect(understand(catalogue, { tool: 'poke', args: {} }, '/')).toMatchObject({ unexplained: false });
    expect(understand(catalogue, { tool: 'prod', args: {} }, '/')).toMatchObject({ unexplained: true });
  });
});
