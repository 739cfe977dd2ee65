import { describe, expect, it } from 'vitest';
import { Fault } from '../model/fault.ts';
import { answerEnding, faultLine, refusalLine, withNotices } from './answers.ts';

const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const refusal = { code: 'NOT_READ', action: 'overwrite', path: 'a', next: 'read' } as const;
const parse = (line: Buffer) => JSON.parse(line.toString());

describe('our own answers', () => {
  it('are results with an error, a text and machine data, and no structured content', () => {
    const line = refusalLine({ message: {}, id: '"x"' }, refusal, 'read it first');
    expect(parse(line)).toEqual({
      jsonrpc: '2.0',
      id: 'x',
      result: {
        content: [{ type: 'text', text: 'read it first' }],
        isError: true,
        _meta: { 'dev.lookfirst/outcome': { ok: false, code: 'NOT_READ', path: 'a', next: 'read' } },
      },
    });
  });

  it('say that they are complete if the protocol revision requires it', () => {
    const message = { params: { _meta: META } };
    expect(parse(refusalLine({ message, id: '1' }, refusal, 'x')).result.resultType).toBe('complete');
  });

  it('refuse if the check itself failed, without giving the model the cause', () => {
    const { result } = parse(faultLine({ message: {}, id: '1' }, new Fault('STORE_FAILED', 'secret path')));
    expect(result).toMatchObject({
      isError: true,
      _meta: { 'dev.lookfirst/outcome': { code: 'STORE_FAILED' } },
    });
    expect(JSON.stringify(result)).not.toContain('secret');
  });

  it('add a notice to a result and do not change the rest', () => {
    const result = {
      content: [{ type: 'text', text: 'done' }],
      structuredContent: { a: 1 },
      _meta: { own: 1 },
    };
    expect(withNotices(result, [{ kind: 'not-recorded' }])).toMatchObject({
      content: [{ text: 'done' }, { type: 'text' }],
      structuredContent: { a: 1 },
      _meta: { own: 1, 'dev.lookfirst/outcome': { ok: true } },
    });
  });
});

it.each([
  ['a result', { result: { content: [] } }, 'done'],
  ['a complete result', { result: { resultType: 'complete' } }, 'done'],
  ['an error of the tool', { result: { isError: true } }, 'failed'],
  ['an error of the protocol', { error: { code: 1 } }, 'failed'],
  ['a task', { result: { task: { taskId: 't' } } }, 'unknown'],
  ['a question', { result: { resultType: 'input_required' } }, 'unknown'],
  ['nothing that can be read', undefined, 'failed'],
])('%s ends a call as expected', (_what, response, ending) => {
  expect(answerEnding(response)).toBe(ending);
});
