import { describe, expect, it } from 'vitest';
import { EscapedAnswer } from './aftermath.ts';
import { Received } from './received.ts';

const TEXT = 'plain, "quoted", back\\slash\ttab\nümlaut 🙂\r\nlast';
const answer = (text: string, more = {}, id = 7) => ({
  result: { content: [{ type: 'text', text }], structuredContent: { content: text }, ...more },
  jsonrpc: '2.0',
  id,
});

/** Splits a message into pieces of a given size, as a pipe may do. */
function received(message: unknown, size = 1 << 20): Received {
  const line = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message));
  const parts: Buffer[] = [];
  for (let at = 0; at < line.length; at += size) parts.push(line.subarray(at, at + size));
  return new Received(parts, { forwarded: true });
}

const shows = (message: unknown, text: string, size?: number): boolean =>
  EscapedAnswer.in(received(message, size))?.equals(Buffer.from(text)) ?? false;

describe('EscapedAnswer', () => {
  it.each([1 << 20, 300, 97])('finds the text of an answer in pieces of %i bytes', (size) => {
    const long = TEXT.repeat(20);
    expect(shows(answer(long), long, size)).toBe(true);
    expect(shows(answer(long), `${long}x`, size)).toBe(false);
    expect(shows(answer(long), long.slice(0, -1), size)).toBe(false);
    expect(shows(answer(long), long.replace('tab', 'Tab'), size)).toBe(false);
  });

  it.each([
    ['id first', { jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text: TEXT }] } }],
    ['no structured content', { result: { content: [{ type: 'text', text: TEXT }] }, jsonrpc: '2.0', id: 7 }],
    ['a complete result', answer(TEXT, { resultType: 'complete' })],
    ['empty', answer('')],
  ])('accepts an answer in any usual form: %s', (what, message) => {
    expect(shows(message, what === 'empty' ? '' : TEXT)).toBe(true);
  });

  it.each([
    ['an error', answer(TEXT, { isError: true })],
    ['an error that is none, for it is not worth claimNotice apart', answer(TEXT, { isError: false })],
    ['a question instead of an end', answer(TEXT, { resultType: 'input_required' })],
    [
      'two texts',
      {
        result: {
          content: [
            { type: 'text', text: TEXT },
            { type: 'text', text: 'more' },
          ],
        },
        id: 7,
      },
    ],
    ['an image', { result: { content: [{ type: 'image', data: TEXT }] }, id: 7 }],
    ['a request', { method: 'x', params: { content: [{ type: 'text', text: TEXT }] }, id: 7 }],
  ])('leaves %s to the parser', (_what, message) => {
    expect(shows(message, TEXT)).toBe(false);
  });

  it('leaves \\u escapes to the parser, even if they mean the same characters', () => {
    expect(shows('{"result":{"content":[{"type":"text","text":"\\u0041"}]},"id":1}', 'A')).toBe(false);
    expect(shows('{"result":{"content":[{"type":"text","text":"\\u0000"}]},"id":1}', '\u00000000')).toBe(
      false,
    );
  });
});
