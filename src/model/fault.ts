/** Our own failures. Append-only; pinned by a test. */
export const FAULT_CODES = ['IO_FAILED', 'STORE_FAILED', 'CONFIG_INVALID', 'MISUSE'] as const;
export type FaultCode = (typeof FAULT_CODES)[number];

/**
 * We could not do our job. Thrown, never returned; every caller treats it as a refusal.
 * The message names what was tried; `path` is the path as the caller wrote it, never a handle path.
 */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly path: string | undefined;
  /** Which of several causes of one code, for programs: `missing`, `relative`, … */
  readonly reason: string | undefined;

  constructor(
    code: FaultCode,
    message: string,
    options: { cause?: unknown; path?: string; reason?: string } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'Fault';
    this.code = code;
    this.path = options.path;
    this.reason = options.reason;
  }
}
