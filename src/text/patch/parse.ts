import type { Patch } from '../../model/session.ts';
import type { ParsedPatch } from './hunk.ts';
import { parseUnified } from './unified-patch.ts';
import { parseV4a } from './v4a.ts';

/** Parses a patch into changes, or returns the reason why it is invalid. */
export function parsePatch(format: Patch['format'], text: string): ParsedPatch {
  if (typeof text !== 'string') return { ok: false, reason: 'the text of a patch must be a string' };
  if (format === 'v4a') return parseV4a(text);
  if (format === 'unified') return parseUnified(text);
  return { ok: false, reason: 'the format of a patch must be "v4a" or "unified"' };
}
