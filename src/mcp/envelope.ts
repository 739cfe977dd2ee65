import { isRecord, type JsonRecord } from '../model/record.ts';
import { canElicit } from './approval.ts';
import {
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  type Implementation,
  invalidParams,
  MODERN_VERSIONS,
  PROTOCOL_VERSION_KEY,
  type RpcError,
  unsupportedVersion,
} from './protocol.ts';

/** The `_meta` fields that revision 2026-07-28 requires in every request. */
export type Envelope =
  /** The request names no revision: a legacy message. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'modern';
      readonly clientInfo: Implementation | undefined;
      /** The client can show a form to its user. */
      readonly canElicit: boolean;
    }
  | { readonly kind: 'invalid'; readonly error: RpcError };

/** Parses the envelope. An invalid envelope is an error, never a legacy message. */
export function envelopeOf(params: JsonRecord): Envelope {
  const meta = metaOf(params);
  if (!(PROTOCOL_VERSION_KEY in meta)) return { kind: 'none' };
  const version = meta[PROTOCOL_VERSION_KEY];
  if (typeof version !== 'string') return broken(PROTOCOL_VERSION_KEY, 'expected a string');
  if (!isRecord(meta[CLIENT_CAPABILITIES_KEY]))
    return broken(
      CLIENT_CAPABILITIES_KEY,
      CLIENT_CAPABILITIES_KEY in meta ? 'expected an object' : 'missing',
    );
  const info = meta[CLIENT_INFO_KEY];
  const clientInfo = implementationOf(info);
  if (info !== undefined && clientInfo === undefined)
    return broken(CLIENT_INFO_KEY, 'expected a name and a version');
  if (!MODERN_VERSIONS.some((known) => known === version))
    return { kind: 'invalid', error: unsupportedVersion(version) };
  return { kind: 'modern', clientInfo, canElicit: canElicit(meta[CLIENT_CAPABILITIES_KEY]) };
}

/** The `_meta` of a request, `{}` if it has none. */
export function metaOf(params: JsonRecord): JsonRecord {
  const meta = params['_meta'];
  return isRecord(meta) ? meta : {};
}

/** A client's name and version; undefined unless it gave both. */
export function implementationOf(value: unknown): Implementation | undefined {
  if (!isRecord(value)) return undefined;
  const { name, version, title } = value;
  if (typeof name !== 'string' || typeof version !== 'string') return undefined;
  return typeof title === 'string' ? { name, version, title } : { name, version };
}

function broken(key: string, problem: string): Envelope {
  const text = `Invalid _meta envelope for protocol revision 2026-07-28: ${key}: ${problem}`;
  return { kind: 'invalid', error: invalidParams(text, { envelope: { key, problem } }) };
}
