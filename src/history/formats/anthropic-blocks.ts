import { isRecord, type JsonRecord, stringIn } from '../../model/record.ts';
import type { Fold } from '../fold.ts';
import { textOf } from '../json-value.ts';
import type { RecordedResult } from '../tool-result.ts';

/** Working directory, time and message id of a message's blocks. */
export interface BlockPlace {
  readonly cwd?: string | undefined;
  readonly atMs?: number | undefined;
  readonly message?: string | undefined;
}

/** The blocks of a message's content; a plain string has no relevant blocks. */
export function blocksOf(message: JsonRecord): readonly JsonRecord[] {
  const content = message['content'];
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

export function isCall(block: JsonRecord): boolean {
  return block['type'] === 'tool_use' || block['type'] === 'mcp_tool_use';
}

export function isResult(block: JsonRecord): boolean {
  return block['type'] === 'tool_result' || block['type'] === 'mcp_tool_result';
}

export function callBlock(fold: Fold, block: JsonRecord, place: BlockPlace): void {
  const id = stringIn(block, 'id');
  const name = stringIn(block, 'name');
  if (id === undefined || name === undefined) return;
  const { cwd, atMs, message } = place;
  fold.call({ id, name, args: block['input'], cwd, atMs, message });
}

/** Reads a result block; the call succeeded if `is_error` is absent or false. */
export function resultOf(block: JsonRecord, place: BlockPlace): RecordedResult | undefined {
  const id = stringIn(block, 'tool_use_id');
  if (id === undefined) return undefined;
  const { atMs, message } = place;
  return { id, ok: block['is_error'] !== true, flagged: true, text: textOf(block['content']), atMs, message };
}
