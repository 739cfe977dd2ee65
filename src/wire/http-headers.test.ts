import { describe, expect, it } from 'vitest';
import { headerMismatch, headerParameters, modernHeaders } from './http-headers.ts';

const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const call = (name: string, args: object = {}) => ({
  method: 'tools/call',
  id: 1,
  params: { name, arguments: args, _meta: META },
});

describe('modernHeaders', () => {
  it.each([
    ['a legacy request has none', { method: 'tools/list', params: {} }, {}],
    [
      'a request names its method',
      { method: 'tools/list', params: { _meta: META } },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    ],
    ['a call names its tool', call('read'), { 'mcp-name': 'read' }],
    ['a name that is no header text is wrapped', call('ü'), { 'mcp-name': '=?base64?w7w=?=' }],
    ['so is one with spaces at its ends', call(' x'), { 'mcp-name': '=?base64?IHg=?=' }],
    [
      'a resource is named by its address',
      { method: 'resources/read', params: { uri: 'a://b', _meta: META } },
      { 'mcp-name': 'a://b' },
    ],
  ])('%s', (_what, message, headers) => {
    expect(modernHeaders(message, [])).toMatchObject(headers);
  });

  it('repeats the parameters that a schema marks, at any depth, if their values are plain', () => {
    const schema = {
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        deep: { properties: { limit: { type: 'integer', 'x-mcp-header': 'Limit' } } },
        list: { type: 'array', 'x-mcp-header': 'List' },
        bad: { type: 'string', 'x-mcp-header': 'not a token' },
      },
    };
    const args = { region: 'eu', deep: { limit: 5 }, list: [1], bad: 'x' };
    const headers = modernHeaders(call('t', args), headerParameters(schema));
    expect(headers).toMatchObject({ 'mcp-param-region': 'eu', 'mcp-param-limit': '5' });
    expect(Object.keys(headers).filter((name) => name.startsWith('mcp-param'))).toHaveLength(2);
  });
});

describe('headerMismatch', () => {
  const good = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'read' };
  it.each([
    ['what the body says', good, undefined],
    ['the same in its wrapped form', { ...good, 'mcp-name': '=?base64?cmVhZA==?=' }, undefined],
    ['a wrapped form that is none', { ...good, 'mcp-name': '=?base64?cmVhZA=?=' }, 'mcp-name'],
    ['another method', { ...good, 'mcp-method': 'tools/list' }, 'mcp-method'],
    ['another name', { ...good, 'mcp-name': 'write' }, 'mcp-name'],
    ['no version', { ...good, 'mcp-protocol-version': undefined }, 'mcp-protocol-version'],
  ])('%s', (_what, headers, wrong) => {
    const mismatch = headerMismatch(headers, call('read'), []);
    if (wrong === undefined) expect(mismatch).toBeUndefined();
    else expect(mismatch).toContain(wrong);
  });
});
