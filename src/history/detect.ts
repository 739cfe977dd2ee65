import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { FORMAT_NAMES, type FormatName } from '../model/transcript.ts';
import type { Format } from './format.ts';
import { ANTHROPIC_MESSAGES } from './formats/anthropic-messages.ts';
import { CLAUDE_CODE } from './formats/claude-code.ts';
import { CODEX } from './formats/codex.ts';
import { GEMINI } from './formats/gemini.ts';
import { MCP_LOG } from './formats/mcp-log.ts';
import { OPENAI_AGENTS } from './formats/openai-agents.ts';
import { THREAD_EVENTS } from './formats/thread-events.ts';

/**
 * The formats in the order of the search. A record may look like two formats, so formats with
 * distinctive records come first.
 */
const FORMATS: readonly Format[] = [
  MCP_LOG,
  CODEX,
  CLAUDE_CODE,
  GEMINI,
  THREAD_EVENTS,
  ANTHROPIC_MESSAGES,
  OPENAI_AGENTS,
];

/** The format with this name. Throws CONFIG_INVALID for an unknown name. */
export function formatNamed(name: string): Format {
  const format = FORMATS.find((one) => one.name === name);
  if (format === undefined)
    throw new Fault(
      'CONFIG_INVALID',
      `there is no transcript format ${name}; the known formats are ${known()}`,
    );
  return format;
}

/** The first format that is sure that the record belongs to it; undefined if no format is sure. */
export function formatOfRecord(record: JsonRecord): Format | undefined {
  return FORMATS.find((format) => format.claim(record) === 'sure');
}

/**
 * Detects the format of a transcript by its first records. A plain conversation without tools fits
 * several formats, and each of them can read it. If none fits, throws CONFIG_INVALID with a
 * description of the first record.
 */
export function detectFormat(records: readonly unknown[]): FormatName {
  const objects = records.filter(isRecord);
  for (const record of objects) {
    const format = formatOfRecord(record);
    if (format !== undefined) return format.name;
  }
  const plain = FORMATS.find((format) => objects.some((record) => format.claim(record) === 'maybe'));
  if (plain !== undefined) return plain.name;
  throw new Fault(
    'CONFIG_INVALID',
    `not a transcript of a known format: ${seen(records)}; the known formats are ${known()}`,
  );
}

function seen(records: readonly unknown[]): string {
  const [first] = records;
  if (records.length === 0) return 'it has no line that is valid JSON and at most 64 MB long';
  if (!isRecord(first))
    return `its first record is ${Array.isArray(first) ? 'an array' : JSON.stringify(first)?.slice(0, 40)}`;
  const keys = Object.keys(first)
    .slice(0, 8)
    .map((key) => key.slice(0, 40));
  const type = first['type'] ?? first['role'];
  const named = typeof type === 'string' ? ` of type ${JSON.stringify(type.slice(0, 40))}` : '';
  return `its first record${named} has ${keys.length === 0 ? 'no keys' : `the keys ${keys.join(', ')}`}`;
}

function known(): string {
  return FORMAT_NAMES.join(', ');
}
