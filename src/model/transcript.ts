import type { JsonRecord } from './record.ts';

/** Transcript formats that Lookfirst can read. */
export const FORMAT_NAMES = [
  'thread-events',
  'anthropic-messages',
  'claude-code',
  'openai-agents',
  'codex',
  'gemini',
  'mcp-log',
] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

/**
 * A conversation: its records, a document that contains the records, or one of these as text or
 * bytes.
 */
export type Transcript = string | Uint8Array | readonly unknown[] | JsonRecord;

/** Number of skipped lines, records and calls, by reason. */
interface Skipped {
  readonly count: number;
  readonly reasons: Readonly<Record<string, number>>;
}

export interface ResumeOptions {
  /** The transcript's format. Default: detected from the records. */
  readonly format?: FormatName | undefined;
  /** Working directory if the transcript names none; default: the first root. */
  readonly cwd?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The result of importing a transcript into a session. */
export interface Resumed {
  /** Number of files whose content is still what the transcript showed. */
  readonly confirmed: number;
  /**
   * Number of files that changed since the transcript showed them. The session may not overwrite
   * them before it reads them.
   */
  readonly unverified: number;
  readonly skipped: Skipped;
}
