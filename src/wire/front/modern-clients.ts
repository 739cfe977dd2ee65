import type { ServerResponse } from 'node:http';
import { fieldOf, isRecord, type JsonRecord } from '../../model/record.ts';
import { type HeaderParameter, headerMismatch, learnParameters } from '../http-headers.ts';
import {
  errorLine,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  idKey,
  isModern,
  lineOf,
  paramsOf,
  parseLine,
  rpcMeta,
} from '../rpc.ts';
import type { Link, ToClient } from './link.ts';
import type { Posted } from './posted.ts';
import { Reply } from './reply.ts';

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

interface OpenPost {
  readonly reply: Reply;
  readonly id: unknown;
  readonly token: unknown;
}

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

interface Problem {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonRecord;
}

/**
 * All clients of MCP revision 2026-07-28, which has no sessions. They share one link to the server.
 * Their ids and progress tokens may be equal, so each request gets an id of ours, and its answer
 * gets the client's id back.
 */
export class ModernClients {
  readonly #open: () => Link;
  readonly #posts = new Map<number, OpenPost>();
  readonly check: ModernCheck = new ModernCheck();
  #link: Link | undefined;
  #next = 1;

  constructor(open: (toClient: ToClient) => Link) {
    this.#open = () => open((line) => this.#route(line));
  }

  post({ line, message, arrivedAt }: Posted, response: ServerResponse): void {
    const link = this.#link ?? this.#start();
    if (idKey(message['id']) === undefined) {
      // Drop a cancellation: it names the client's id, but the server knows ours, so it could cancel
      // another client's call. In this revision a client cancels by disconnecting.
      if (message['method'] !== 'notifications/cancelled') link.send(line, arrivedAt);
      response.writeHead(202).end();
      return;
    }
    const ours = this.#next++;
    const reply = new Reply(response, { headers: {}, modern: true, streams: false });
    this.#posts.set(ours, { reply, id: message['id'], token: rpcMeta(message)['progressToken'] });
    reply.onGone(() => {
      if (!this.#posts.delete(ours)) return;
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: ours } };
      link.send(lineOf(cancel), performance.now());
    });
    link.send(lineOf(withIds(message, ours)), arrivedAt);
  }

  async close(): Promise<void> {
    await this.#link?.close();
  }

  /**
   * Starts the server. When it ends, open requests are answered with an error, and the next request
   * starts it again.
   */
  #start(): Link {
    const link = this.#open();
    this.#link = link;
    void link.ended().then(() => {
      this.#link = undefined;
      for (const { reply, id } of this.#posts.values())
        reply.finish(errorLine(JSON.stringify(id), INTERNAL_ERROR, 'the server has ended'));
      this.#posts.clear();
    });
    return link;
  }

  #route(line: Buffer): boolean {
    const message = parseLine(line);
    if (!isRecord(message)) return false;
    const ours = ownerOf(message);
    const post = ours === undefined ? [...this.#posts.values()].at(-1) : this.#posts.get(ours);
    if (post === undefined) return false;
    const text = lineOf(restored(message, post));
    if (message['method'] !== undefined) {
      post.reply.event(text);
      return true;
    }
    this.#posts.delete(ours ?? 0);
    this.check.learn(message['result']);
    post.reply.finish(text);
    return true;
  }
}

/** Replaces the request's id, and its progress token if it has one, by ours. */
function withIds(message: JsonRecord, ours: number): JsonRecord {
  const meta = rpcMeta(message);
  const params = paramsOf(message);
  if (meta['progressToken'] === undefined) return { ...message, id: ours };
  return { ...message, id: ours, params: { ...params, _meta: { ...meta, progressToken: ours } } };
}

/**
 * Finds the request to which a message from the server belongs. Returns the id that we gave to that
 * request; undefined if the message names no such id.
 */
function ownerOf(message: JsonRecord): number | undefined {
  const meta = rpcMeta(message)[SUBSCRIPTION];
  const about =
    message['method'] === undefined ? message['id'] : (meta ?? fieldOf(message, 'params.progressToken'));
  return typeof about === 'number' ? about : undefined;
}

/** Replaces our id and progress token in a message from the server by the client's own. */
function restored(message: JsonRecord, post: OpenPost): JsonRecord {
  if (message['method'] === undefined) {
    const result = message['result'];
    const meta = fieldOf(result, '_meta');
    if (!isRecord(result) || !isRecord(meta) || meta[SUBSCRIPTION] === undefined)
      return { ...message, id: post.id };
    return { ...message, id: post.id, result: { ...result, _meta: { ...meta, [SUBSCRIPTION]: post.id } } };
  }
  const params = paramsOf(message);
  const meta = rpcMeta(message);
  return {
    ...message,
    params: {
      ...params,
      ...(params['progressToken'] === undefined ? {} : { progressToken: post.token }),
      ...(meta[SUBSCRIPTION] === undefined ? {} : { _meta: { ...meta, [SUBSCRIPTION]: post.id } }),
    },
  };
}

/**
 * The checks that an HTTP server of MCP revision 2026-07-28 must make: the envelope, the version, and that headers
 * match the body. The supported versions and tools are learned from answers that pass through.
 */
class ModernCheck {
  readonly #parameters = new Map<string, readonly HeaderParameter[]>();
  #versions: readonly string[] | undefined;

  /** Learns versions and tools from any result of the server. */
  learn(result: unknown): void {
    const versions = fieldOf(result, 'supportedVersions');
    if (Array.isArray(versions)) this.#versions = versions.filter((version) => typeof version === 'string');
    learnParameters(this.#parameters, fieldOf(result, 'tools'));
  }

  /** The problem with a request; undefined if there is none. */
  problemWith(message: JsonRecord, headers: Readonly<Record<string, unknown>>): Problem | undefined {
    const meta = rpcMeta(message);
    if (!isModern(message) || !isRecord(meta[CAPABILITIES])) {
      const missing = isModern(message) ? CAPABILITIES : VERSION;
      return { code: INVALID_PARAMS, message: `the request has no ${missing} in its _meta` };
    }
    const tool = paramsOf(message)['name'];
    const parameters = typeof tool === 'string' ? (this.#parameters.get(tool) ?? []) : [];
    const wrong = headerMismatch(headers, message, parameters);
    if (wrong !== undefined) return { code: HEADER_MISMATCH, message: wrong };
    const requested = meta[VERSION];
    const supported = this.#versions;
    if (supported === undefined || supported.some((version) => version === requested)) return undefined;
    return {
      code: UNSUPPORTED_VERSION,
      message: 'Unsupported protocol version',
      data: { supported, requested },
    };
  }
}
