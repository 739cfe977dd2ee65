import type { JsonRecord } from '../../model/record.ts';
import { type HookAnswer, SILENT } from '../event.ts';

export function payloadText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Returns `{ [name]: value }` if the value is text. Else returns `{}`, because hosts omit fields or
 * send null.
 */
export function optionalText<Name extends string>(name: Name, value: unknown): { [K in Name]?: string } {
  const text = payloadText(value);
  return (text === undefined ? {} : { [name]: text }) as { [K in Name]?: string };
}

/**
 * The session id in the first of `fields` that holds one, followed by the sub-agent's id if the
 * event has one.
 */
export function sessionOf(payload: JsonRecord, ...fields: readonly string[]): string | undefined {
  const id = fields.map((field) => payloadText(payload[field])).find((text) => text !== undefined);
  const agent = payloadText(payload['agent_id']);
  return id === undefined || agent === undefined ? id : `${id}/${agent}`;
}

/** The folders that a host calls its workspace, if the field lists any. */
export function workspaceRoots(value: unknown): { readonly workspaceRoots?: readonly string[] } {
  return Array.isArray(value) ? { workspaceRoots: value.filter((root) => typeof root === 'string') } : {};
}

/** The denial that every host obeys, for any event: exit 2 with the reason on stderr. */
export function deniedOnStderr(reason: string): HookAnswer {
  return { ...SILENT, stderr: `${reason}\n`, exitCode: 2 };
}
