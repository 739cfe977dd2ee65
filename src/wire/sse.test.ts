import { describe, expect, it } from 'vitest';
import { EventParser, onOneLine, type ServerEvent } from './sse.ts';

/** Parses an event stream that is fed in pieces of a given size. */
function parse(text: string, size = text.length) {
  const events: (Omit<ServerEvent, 'data'> & { data: string })[] = [];
  const retries: number[] = [];
  let tooLong = 0;
  const parser = new EventParser({
    maxBytes: 60,
    onEvent: ({ id, type, data }) => events.push({ id, type, data: data.toString() }),
    onRetry: (ms) => retries.push(ms),
    onTooLong: () => {
      tooLong++;
    },
  });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size));
  return { events, retries, tooLong };
}

describe('EventParser', () => {
  it.each([1, 3, 1000])('reads events in pieces of %i bytes', (size) => {
    const text = ': hello\nevent: message\nid: 7\ndata: {"ü":1}\n\nretry: 250\ndata:{"b":2}\r\n\r\n';
    const { events, retries } = parse(text, size);
    expect(events).toEqual([
      { id: '7', type: 'message', data: '{"ü":1}' },
      { id: '7', type: '', data: '{"b":2}' },
    ]);
    expect(retries).toEqual([250]);
  });

  it.each(['\n', '\r', '\r\n'].flatMap((end) => [1, 2, 3, 1000].map((size) => [end, size] as const)))(
    'accepts lines that end in %j, in pieces of %i bytes',
    (end, size) => {
      const lines = ['\ufeffid: 1', 'data: {"a":', 'data: 1}', '', ': ping', '', 'data: 2', '', ''];
      expect(parse(lines.join(end), size).events).toEqual([
        { id: '1', type: '', data: '{"a": 1}' },
        { id: '1', type: '', data: '2' },
      ]);
    },
  );

  it('accepts different line ends in one stream', () => {
    const { events } = parse('data: 1\r\rdata: 2\n\rdata: 3\r\n\r\ndata: 4\r\n\n');
    expect(events.map(({ data }) => data)).toEqual(['1', '2', '3', '4']);
  });

  it('joins data of several lines into one line', () => {
    expect(parse('data: {"a":\ndata: 1}\n\n').events[0]?.data).toBe('{"a": 1}');
  });

  it('reports an id without data, because a reconnect continues after it', () => {
    expect(parse('id: 9\ndata:\n\n').events).toEqual([{ id: '9', type: '', data: '' }]);
  });

  it('reports an id only with the event that names it, not again with every comment', () => {
    expect(parse('id: 9\ndata: 1\n\n: ping\n\n: ping\n\n').events).toEqual([
      { id: '9', type: '', data: '1' },
    ]);
  });

  it.each([1, 1000])('ignores a byte order mark at the beginning, in pieces of %i bytes', (size) => {
    const { events } = parse('\ufeffdata: 1\n\n\ufeffdata: 2\n\n', size);
    expect(events.map(({ data }) => data)).toEqual(['1']);
  });

  it.each([
    ['lines', `data: ${'x'.repeat(40)}\ndata: ${'y'.repeat(40)}\ndata: z\n\n`],
    ['one line', `data: x\ndata: ${'y'.repeat(100)}\ndata: z\n\n`],
  ])('reports an event that is too long in %s once, does not deliver it, and goes on', (_, long) => {
    const { events, tooLong } = parse(`${long}data: next\n\n`);
    expect(tooLong).toBe(1);
    expect(events.map(({ data }) => data)).toEqual(['next']);
  });

  it('reports an event over the limit, and does not deliver an unfinished one', () => {
    const { events, tooLong } = parse(`data: ${'x'.repeat(100)}`);
    expect(tooLong).toBe(1);
    expect(events).toEqual([]);
  });
});

describe('onOneLine', () => {
  it('replaces line breaks in JSON, and returns a single line unchanged', () => {
    const pretty = Buffer.from('{\r\n  "a": "x\\n"\n}');
    expect(JSON.parse(onOneLine(pretty).toString())).toEqual({ a: 'x\n' });
    expect(onOneLine(pretty).includes('\n')).toBe(false);
    const line = Buffer.from('{"a":1}');
    expect(onOneLine(line)).toBe(line);
  });
});
