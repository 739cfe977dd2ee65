import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { type HeaderParameter, headerMismatch, headerParameters } from './http-headers.ts';
import { INVALID_PARAMS, isModern, metaOf, paramsOf } from './rpc.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

export interface Problem {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonRecord;
}

/**
 * What an HTTP server of the revision without sessions must check and a server on stdio does not: the envelope, the
 * version, and that the headers say what the body says. Versions and tools are learnt from the answers that pass.
 */
export class ModernCheck {
  readonly #parameters = new Map<string, readonly HeaderParameter[]>();
  #versions: readonly string[] | undefined;

  /** Takes any result of the server. */
  learn(result: unknown): void {
    const versions = fieldOf(result, 'supportedVersions');
    if (Array.isArray(versions)) this.#versions = versions.filter((version) => typeof version === 'string');
    const tools = fieldOf(result, 'tools');
    for (const tool of Array.isArray(tools) ? tools : []) {
      const name = fieldOf(tool, 'name');
      if (typeof name === 'string')
        this.#parameters.set(name, headerParameters(fieldOf(tool, 'inputSchema')));
    }
  }

  /** What is wrong with a request; undefined: nothing. */
  problemWith(message: JsonRecord, headers: Readonly<Record<string, unknown>>): Problem | undefined {
    const meta = metaOf(message);
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
