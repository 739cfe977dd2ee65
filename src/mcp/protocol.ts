/** Constants and errors of the Model Context Protocol that both transports need. */

/** Revisions supported by `initialize`, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export type LegacyVersion = (typeof LEGACY_VERSIONS)[number];

/** Revisions without `initialize`, served request by request. */
export const MODERN_VERSIONS = ['2026-07-28'] as const;

/** The only revision in which one line may contain several messages. */
export const BATCH_VERSION: LegacyVersion = '2025-03-26';

/**
 * `legacy`: revisions negotiated by `initialize`; `modern`: 2026-07-28, where every request carries
 * its own envelope.
 */
export type Era = 'legacy' | 'modern';

/** The name and version of a client or server. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

export const PROTOCOL_VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
export const CLIENT_INFO_KEY = 'io.modelcontextprotocol/clientInfo';
export const CLIENT_CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
export const SERVER_INFO_KEY = 'io.modelcontextprotocol/serverInfo';
export const SUBSCRIPTION_ID_KEY = 'io.modelcontextprotocol/subscriptionId';

/**
 * Tools only: their list never changes while the server runs, and there are no resources or
 * prompts. `logging` is declared because some legacy clients set a log level unconditionally;
 * nothing is logged over the protocol.
 */
export const CAPABILITIES = {
  legacy: { tools: {}, logging: {} },
  modern: { tools: {} },
} as const;

/** A protocol error caused by the client program, not by the model. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

export const parseError = (why: string): RpcError => new RpcError(-32700, `Parse error: ${why}`);
export const invalidRequest = (why: string): RpcError => new RpcError(-32600, `Invalid request: ${why}`);
export const methodNotFound = (): RpcError => new RpcError(-32601, 'Method not found');
export const invalidParams = (why: string, data?: unknown): RpcError => new RpcError(-32602, why, data);
export const internalError = (): RpcError => new RpcError(-32603, 'Internal error');
export const unsupportedVersion = (requested: string): RpcError =>
  new RpcError(-32022, `Unsupported protocol version: ${requested}`, {
    supported: MODERN_VERSIONS,
    requested,
  });
