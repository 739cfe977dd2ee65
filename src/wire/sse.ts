import type { ServerResponse } from 'node:http';
import { LineScanner, NEWLINE } from './lines.ts';

/** The media type of an event stream. */
export const EVENT_STREAM = 'text/event-stream';

const CARRIAGE_RETURN = 13;
const LINE_END = Buffer.from([NEWLINE]);
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** One server-sent event. */
export interface ServerEvent {
  readonly id: string | undefined;
  readonly type: string;
  /**
   * The data as one line, with spaces instead of line breaks. That does not change JSON, because
   * JSON strings contain no line breaks.
   */
  readonly data: Buffer;
}

interface EventSink {
  readonly maxBytes: number;
  onEvent(event: ServerEvent): void;
  /** Called when the server requests this delay before a reconnect. */
  onRetry(ms: number): void;
  /** Called once per event that exceeds `maxBytes`, as soon as it does. The event is not delivered. */
  onTooLong(): void;
}

/**
 * Parses an event stream in linear time, regardless of how it is chunked. Lines may end in CR, LF or
 * CRLF.
 */
export class EventParser {
  readonly #sink: EventSink;
  readonly #lines: LineScanner;
  #data: Buffer[] = [];
  #bytes = 0;
  #id: string | undefined;
  #type = '';
  /** True if the current event names an id. */
  #isNamed = false;
  #isTooLong = false;
  #isFirst = true;
  /** True if the last chunk ended in a carriage return. A newline after it does not end another line. */
  #endsInReturn = false;

  constructor(sink: EventSink) {
    this.#sink = sink;
    this.#lines = new LineScanner({
      maxBytes: sink.maxBytes,
      chunks: 'kept',
      onLine: (bytes, start, end) => this.#line(this.#withoutMark(bytes.subarray(start, end))),
      onTooLong: () => this.#drop(),
    });
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    let start = this.#endsInReturn && chunk[0] === NEWLINE ? 1 : 0;
    this.#endsInReturn = chunk.at(-1) === CARRIAGE_RETURN;
    for (let at = chunk.indexOf(CARRIAGE_RETURN); at !== -1; at = chunk.indexOf(CARRIAGE_RETURN, start)) {
      this.#lines.scan(chunk.subarray(start, at));
      this.#lines.scan(LINE_END);
      start = chunk[at + 1] === NEWLINE ? at + 2 : at + 1;
    }
    this.#lines.scan(start === 0 ? chunk : chunk.subarray(start));
  }

  #line(line: Buffer): void {
    if (line.length === 0) {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = line.toString('latin1', 0, colon < 0 ? line.length : colon);
    const start = colon < 0 ? line.length : colon + (line[colon + 1] === 0x20 ? 2 : 1);
    if (name === 'data') this.#hold(line.subarray(start));
    else if (name === 'id') {
      this.#id = line.toString('utf8', start);
      this.#isNamed = true;
    } else if (name === 'event') this.#type = line.toString('utf8', start);
    else if (name === 'retry') this.#retry(line.toString('latin1', start));
  }

  #dispatch(): void {
    const [only] = this.#data;
    const data = this.#data.length === 1 && only !== undefined ? only : joined(this.#data);
    const event = { id: this.#id, type: this.#type, data };
    // Report an event without data only if it names an id itself. `#id` does not show this, because
    // it keeps the id of an earlier event.
    const isEvent = !this.#isTooLong && (event.data.length > 0 || this.#isNamed);
    this.#data = [];
    this.#bytes = 0;
    this.#type = '';
    this.#isNamed = false;
    this.#isTooLong = false;
    if (isEvent) this.#sink.onEvent(event);
  }

  #retry(text: string): void {
    if (/^\d+$/.test(text)) this.#sink.onRetry(Number(text));
  }

  #hold(data: Buffer): void {
    this.#bytes += data.length;
    if (this.#isTooLong) return;
    this.#data.push(data);
    if (this.#bytes > this.#sink.maxBytes) this.#drop();
  }

  /** Drops the data of the current event, which exceeds the limit. */
  #drop(): void {
    this.#data = [];
    if (!this.#isTooLong) this.#sink.onTooLong();
    this.#isTooLong = true;
  }

  /** Removes the byte order mark with which a stream may begin. */
  #withoutMark(line: Buffer): Buffer {
    const isMarked = this.#isFirst && line.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    this.#isFirst = false;
    return isMarked ? line.subarray(BYTE_ORDER_MARK.length) : line;
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  const space = Buffer.from(' ');
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [space, part])));
}

/** Replaces line breaks in a JSON text by spaces. */
export function onOneLine(json: Buffer): Buffer {
  if (!json.includes(NEWLINE) && !json.includes(CARRIAGE_RETURN)) return json;
  const line = Buffer.from(json);
  for (let at = 0; at < line.length; at++)
    if (line[at] === NEWLINE || line[at] === CARRIAGE_RETURN) line[at] = 0x20;
  return line;
}

/** Begins an answer that is an event stream. */
export function openStream(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  response.writeHead(200, {
    ...headers,
    'content-type': EVENT_STREAM,
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
}

/** Writes a message as an event. `data` must be one line. */
export function writeMessage(response: ServerResponse, data: Buffer): void {
  response.cork();
  response.write('event: message\ndata: ');
  response.write(data);
  response.write('\n\n');
  response.uncork();
}
