import type { JsonRecord } from './record.ts';

/** The shapes of transcripts that can be read. */
export const FORMAT_NAMES = [
  'thread-events',
  'anthropic-messages',
  'claude-code',
  'openai-agents',
  'codex',
  'gemini',
  'ai-sdk',
  'langchain',
  'mcp-log',
] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

/** A conversation: its records, a document that holds them, or the text or bytes of either, one record per line or one document. */
export type Transcript = string | Uint8Array | readonly unknown[] | JsonRecord;

/** Lines, records and calls that were left out, by reason. */
export interface Skipped {
  readonly count: number;
  readonly reasons: Readonly<Record<string, number>>;
}

export interface ResumeOptions {
  /** Default: told from the records themselves. */
  readonly format?: FormatName | undefined;
  /** Working directory where the transcript names none; default: the first root. */
  readonly cwd?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a session took in from a transcript. */
export interface Resumed {
  /** Files whose sightings the disk confirms. */
  readonly confirmed: number;
  /** Files that were seen, but not as they are now: they license no overwrite. */
  readonly unverified: number;
  readonly skipped: Skipped;
}
