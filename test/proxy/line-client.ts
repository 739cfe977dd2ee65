import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

/** One JSON-RPC message, parsed. */
export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  // Each test knows the shape of the results that it requests.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is the test's own expectation
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

interface Waiting {
  readonly match: (message: Message) => boolean;
  readonly found: (message: Message) => void;
  readonly lost: (error: Error) => void;
}

/** A client without an SDK: writes lines to one stream, reads lines from another, and keeps all of them in order. */
export class LineClient {
  /** Every received line, unparsed. */
  readonly lines: string[] = [];
  /** Answers the server's own requests, by method. */
  readonly replies: Map<string, (params: Record<string, unknown>) => unknown> = new Map();
  readonly #input: Writable;
  readonly #output: Readable;
  readonly #messages: Message[] = [];
  readonly #errors: () => string;
  readonly #waiting: Waiting[] = [];
  #parts: string[] = [];
  #id = 0;
  #ended = false;

  /** `errors` returns what the server has written to stderr, for the error if its output ends too early. */
  constructor(input: Writable, output: Readable, errors: () => string = () => '') {
    this.#input = input;
    this.#output = output;
    this.#errors = errors;
    input.on('error', () => {});
    output.setEncoding('utf8').on('data', (chunk: string) => this.#take(chunk));
    output.on('end', () => {
      this.#ended = true;
      for (const { lost } of this.#waiting.splice(0)) lost(this.#tooEarly());
    });
  }

  send(message: unknown): void {
    this.#input.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  }

  /** Sends a request and resolves to its answer. */
  request(method: string, params: object = {}, id: string | number = ++this.#id): Promise<Message> {
    this.send({ jsonrpc: '2.0', id, method, params });
    return this.next((message) => message.id === id && message.method === undefined);
  }

  notify(method: string, params: object = {}): void {
    this.send({ jsonrpc: '2.0', method, params });
  }

  async initialize(capabilities: object = {}): Promise<Message> {
    const answer = await this.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities,
      clientInfo: { name: 'test', version: '1' },
    });
    this.notify('notifications/initialized');
    return answer;
  }

  async call(name: string, args: object = {}): Promise<Called> {
    const answer = await this.request('tools/call', { name, arguments: args });
    const blocks = (answer.result?.content ?? []) as { text?: string }[];
    const outcome = answer.result?._meta?.['dev.lookfirst/outcome'];
    return {
      ok: answer.error === undefined && answer.result?.isError !== true,
      text: blocks.map((block) => block.text ?? '').join('\n'),
      code: outcome?.code,
      outcome,
      answer,
    };
  }

  /** Waits for the first message that matches, and removes it from the queue. Fails if the output ends first. */
  next(match: (message: Message) => boolean = () => true): Promise<Message> {
    const at = this.#messages.findIndex(match);
    if (at >= 0) return Promise.resolve(this.#messages.splice(at, 1)[0] as Message);
    if (this.#ended) return Promise.reject(this.#tooEarly());
    const message = new Promise<Message>((found, lost) => this.#waiting.push({ match, found, lost }));
    // A test may end the server before it looks at an answer.
    message.catch(() => undefined);
    return message;
  }

  #tooEarly(): Error {
    return new Error(`the output of the server ended before this message: ${this.#errors()}`);
  }

  end(): void {
    this.#input.end();
  }

  async ended(): Promise<void> {
    if (!this.#ended) await once(this.#output, 'end');
  }

  #take(chunk: string): void {
    const lines = chunk.split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      const whole = this.#parts.join('') + line;
      this.#parts = [];
      this.lines.push(whole);
      this.#deliver(JSON.parse(whole));
    }
    this.#parts.push(last);
  }

  #deliver(message: Message): void {
    const reply = message.method === undefined ? undefined : this.replies.get(message.method);
    if (reply !== undefined && message.id !== undefined)
      this.send({ jsonrpc: '2.0', id: message.id, result: reply(message.params ?? {}) });
    const at = this.#waiting.findIndex(({ match }) => match(message));
    if (at < 0) this.#messages.push(message);
    else this.#waiting.splice(at, 1)[0]?.found(message);
  }
}

export interface Called {
  readonly ok: boolean;
  readonly text: string;
  readonly code: string | undefined;
  readonly outcome: Record<string, unknown> | undefined;
  readonly answer: Message;
}
