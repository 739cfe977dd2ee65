import type { ServerResponse } from 'node:http';
import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import type { FrontConnection } from './front-connection.ts';
import { openStream, Reply, rejectFront, writeEvent } from './front-reply.ts';
import { errorLine, INTERNAL_ERROR, idKey, parseLine, rpcMeta } from './rpc.ts';

/** How many messages are kept for a client without an open stream; beyond it the oldest are dropped. */
const HELD = 1000;

interface OpenPost {
  readonly reply: Reply;
  readonly token: string | undefined;
}

/**
 * One client of a revision with sessions. It has its own server process, so that ids and tokens
 * need no translation. Answers and progress go to their request, questions to the newest open
 * request. Everything else goes to the client's own stream, if it has opened one.
 */
export class LegacyClient {
  readonly id: string;
  readonly #open: () => FrontConnection;
  readonly #posts = new Map<string, OpenPost>();
  #connection: FrontConnection | undefined;
  #stream: ServerResponse | undefined;
  #held: Buffer[] = [];
  lastUsedMs: number = Date.now();

  constructor(id: string, open: (toClient: (line: Buffer) => void) => FrontConnection) {
    this.id = id;
    this.#open = () => open((line) => this.#route(line));
  }

  get connection(): FrontConnection {
    this.#connection ??= this.#open();
    return this.#connection;
  }

  /** Handles a posted message. */
  post(line: Buffer, message: JsonRecord, response: ServerResponse): void {
    this.lastUsedMs = Date.now();
    const key = typeof message['method'] === 'string' ? idKey(message['id']) : undefined;
    if (key === undefined) {
      this.connection.send(line);
      response.writeHead(202, this.#headers).end();
      return;
    }
    const streams = /text\/event-stream/.test(response.req.headers.accept ?? '');
    const reply = new Reply(response, { headers: this.#headers, modern: false, streams });
    const token = idKey(rpcMeta(message)['progressToken']);
    this.#posts.set(key, { reply, token });
    // In this era a disconnect does not cancel the request; its answer is then dropped.
    reply.onGone(() => this.#posts.delete(key));
    this.connection.send(line);
  }

  /** Opens the client's own stream; only one is allowed. */
  listen(response: ServerResponse): void {
    this.lastUsedMs = Date.now();
    if (this.#stream !== undefined) {
      rejectFront(response, { status: 409, code: -32000, message: 'Conflict: one stream per session' });
      return;
    }
    this.#stream = response;
    openStream(response, this.#headers);
    response.once('close', () => {
      this.#stream = undefined;
    });
    const held = this.#held;
    this.#held = [];
    for (const line of held) writeEvent(response, line);
  }

  /** Resolves when the client's server has ended. Open requests are answered with an error. */
  async ended(): Promise<void> {
    await this.connection.ended();
    for (const [key, { reply }] of this.#posts)
      reply.finish(errorLine(key, INTERNAL_ERROR, 'the server has ended'));
    this.#posts.clear();
    this.#stream?.end();
  }

  get busy(): boolean {
    return this.#posts.size > 0 || this.#stream !== undefined;
  }

  async close(): Promise<void> {
    this.#stream?.end();
    await this.#connection?.close();
  }

  get #headers(): Readonly<Record<string, string>> {
    return { 'mcp-session-id': this.id };
  }

  #route(line: Buffer): void {
    const message = parseLine(line);
    const key = idKey(fieldOf(message, 'id'));
    const method = fieldOf(message, 'method');
    if (method === undefined && key !== undefined) {
      const post = this.#posts.get(key);
      this.#posts.delete(key);
      post?.reply.finish(line);
      return;
    }
    if (isRecord(message) && method === 'notifications/progress') {
      const token = idKey(fieldOf(message, 'params.progressToken'));
      const post = [...this.#posts.values()].find((open) => open.token === token);
      if (post !== undefined) {
        post.reply.event(line);
        return;
      }
    }
    this.#tell(line, key !== undefined);
  }

  #tell(line: Buffer, asks: boolean): void {
    const newest = [...this.#posts.values()].at(-1)?.reply;
    if (newest !== undefined && (asks || this.#stream === undefined)) newest.event(line);
    else if (this.#stream !== undefined) writeEvent(this.#stream, line);
    else {
      this.#held.push(line);
      if (this.#held.length > HELD) this.#held.shift();
    }
  }
}
