import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { paramsOf, rpcMeta } from './rpc.ts';

export type Headers = Record<string, string>;

/** A tool parameter that a server also wants as a header. */
export interface HeaderParameter {
  readonly path: readonly string[];
  readonly header: string;
}

/** The parameter that the `Mcp-Name` header repeats, by method. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** The headers that revision 2026-07-28 requires for a request; empty for earlier revisions. */
export function modernHeaders(message: JsonRecord, parameters: readonly HeaderParameter[]): Headers {
  const version = rpcMeta(message)['io.modelcontextprotocol/protocolVersion'];
  const method = message['method'];
  if (typeof version !== 'string' || typeof method !== 'string') return {};
  const headers: Headers = { 'mcp-protocol-version': version, 'mcp-method': method };
  const params = paramsOf(message);
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = field === undefined ? undefined : params[field];
  if (typeof name === 'string') headers['mcp-name'] = headerValue(name);
  for (const { path, header } of parameters) {
    const text = scalarText(valueAt(params['arguments'], path));
    if (text !== undefined) headers[`mcp-param-${header.toLowerCase()}`] = headerValue(text);
  }
  return headers;
}

/** The parameters with an `x-mcp-header` mark in a tool's input schema. */
export function headerParameters(schema: unknown, path: readonly string[] = []): HeaderParameter[] {
  const properties = fieldOf(schema, 'properties');
  if (!isRecord(properties)) return [];
  return Object.entries(properties).flatMap(([key, property]) => {
    const header = isRecord(property) ? property['x-mcp-header'] : undefined;
    const here = [...path, key];
    const own =
      typeof header === 'string' && /^[\w!#$%&'*+\-.^`|~]+$/.test(header) ? [{ path: here, header }] : [];
    return [...own, ...headerParameters(property, here)];
  });
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) value = isRecord(value) ? value[key] : undefined;
  return value;
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined;
}

/**
 * The first mismatch between the headers and the body of a request of MCP revision 2026-07-28;
 * undefined if there is none.
 */
export function headerMismatch(
  headers: Readonly<Record<string, unknown>>,
  message: JsonRecord,
  parameters: readonly HeaderParameter[],
): string | undefined {
  for (const [name, wanted] of Object.entries(modernHeaders(message, parameters))) {
    const given = headers[name];
    if (given === undefined) return `the header ${name} is missing`;
    if (typeof given !== 'string' || decoded(given) !== decoded(wanted))
      return `the header ${name} does not match the body`;
  }
  return undefined;
}

/** Decodes a header value; undefined if it is marked as base64 but is not. */
function decoded(value: string): string | undefined {
  const base64 = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (base64 === undefined) return value.trim();
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  return Buffer.from(base64, 'base64').toString('utf8');
}

/** Encodes a text for a header: printable ASCII unchanged, anything else as marked base64. */
function headerValue(text: string): string {
  const plain = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}

/** Remembers the header parameters of each tool in a list of tools. */
export function learnParameters(known: Map<string, readonly HeaderParameter[]>, tools: unknown): void {
  for (const tool of Array.isArray(tools) ? tools : []) {
    const name = fieldOf(tool, 'name');
    if (typeof name === 'string') known.set(name, headerParameters(fieldOf(tool, 'inputSchema')));
  }
}
