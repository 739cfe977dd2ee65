import { describe, expect, it } from 'vitest';
import { written } from '../../test/support/written.ts';
import { errorMessage, type Parts, RpcError, type TextResult, toolMessage } from './protocol.ts';

const info = { name: 'fixture', version: '1' };
const joined = (parts: Parts) => JSON.parse(written(parts));
const TEXT = 'a "b"\n\té\u0001';
const textResult = (more: Partial<TextResult> = {}): TextResult => ({
  kind: 'text',
  escaped: { expectedBytes: 0, writeTo: (out) => void out.text(TEXT) },
  ...more,
});

describe('toolMessage', () => {
  it.each<[string, Partial<TextResult>, object]>([
    ['text alone', {}, {}],
    ['an error', { isError: true }, { isError: true }],
    ['machine data', { meta: { a: 1 } }, { _meta: { a: 1 } }],
    ['text repeated', { structuredAs: 'content' }, { structuredContent: { content: TEXT } }],
    [
      'everything',
      { isError: false, meta: { a: 1 }, structuredAs: 'k"' },
      { isError: false, _meta: { a: 1 }, structuredContent: { 'k"': TEXT } },
    ],
  ])('equals the JSON of the same object: %s', (_what, more, expected) => {
    const server = { era: 'legacy', info } as const;
    const content = [{ type: 'text', text: TEXT }];
    expect(joined(toolMessage('i"d', textResult(more), server))).toEqual({
      jsonrpc: '2.0',
      id: 'i"d',
      result: { content, ...expected },
    });
    const modern = joined(toolMessage(7, textResult(more), { era: 'modern', info }));
    expect(modern).toEqual(
      joined(toolMessage(7, { kind: 'object', result: { content, ...expected } }, { era: 'modern', info })),
    );
    expect(modern.result).toMatchObject({
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': info },
    });
  });
});

describe('errorMessage', () => {
  it('has no data if there is none', () => {
    expect(joined(errorMessage(null, new RpcError(-32700, 'Parse error')))).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32700, message: 'Parse error' },
    });
  });
});
