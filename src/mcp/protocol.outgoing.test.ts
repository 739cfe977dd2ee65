import { describe, expect, it } from 'vitest';
import { written } from '../../test/support/written.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import type { ToolAnswer } from '../tools/tool-answer.ts';
import type { JsonText } from '../wire/lines.ts';
import { errorMessage, type Parts, RpcError, toolMessage } from './protocol.ts';

const info = { name: 'fixture', version: '1' };
const joined = (parts: Parts) => JSON.parse(written(parts));
const TEXT = 'a "b"\n\té\u0001';
const BYTES = { escaped: { expectedBytes: 0, writeTo: (out: JsonText) => void out.text(TEXT) } };
const answered = (shown: Extract<ToolAnswer, { ok: true }>['shown']): ToolAnswer => ({
  ok: true,
  shown,
  outcome: { ok: true, path: 'a' },
});
const PLAIN = {};
const STRUCTURED = { outputSchema: {} };

describe('toolMessage', () => {
  it.each<[string, ToolAnswer, object, object]>([
    ['escaped bytes', answered(BYTES), PLAIN, {}],
    ['a text', answered(TEXT), PLAIN, {}],
    ['bytes repeated', answered(BYTES), STRUCTURED, { structuredContent: { content: TEXT } }],
    ['a text repeated', answered(TEXT), STRUCTURED, { structuredContent: { content: TEXT } }],
    [
      'a refusal',
      { ok: false, text: TEXT, outcome: { ok: false, code: 'IO_FAILED', next: 'read_again' } },
      STRUCTURED,
      { isError: true },
    ],
  ])('says the same in both eras: %s', (_what, answer, tool, more) => {
    const content = [{ type: 'text', text: TEXT }];
    const meta = { [OUTCOME_KEY]: answer.outcome };
    expect(joined(toolMessage('i"d', answer, { tool, era: 'legacy', info }))).toEqual({
      jsonrpc: '2.0',
      id: 'i"d',
      result: { content, ...more, _meta: meta },
    });
    expect(joined(toolMessage(7, answer, { tool, era: 'modern', info })).result).toEqual({
      content,
      ...more,
      resultType: 'complete',
      _meta: { ...meta, 'io.modelcontextprotocol/serverInfo': info },
    });
  });

  it('shows blocks as they are', () => {
    const image = { type: 'image', data: 'AA==', mimeType: 'image/png' } as const;
    const asked = { tool: STRUCTURED, era: 'legacy', info } as const;
    const { result } = joined(toolMessage(1, answered([image]), asked));
    expect(result).toMatchObject({ content: [image], structuredContent: { content: [image] } });
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
