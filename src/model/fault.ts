/** Our own failures. Append-only; pinned by a test. */
export const FAULT_CODES = ['IO_FAILED', 'STORE_FAILED', 'CONFIG_INVALID', 'MISUSE'] as const;
export type FaultCode = (typeof FAULT_CODES)[number];

interface FaultOptions {
  readonly cause?: unknown;
  readonly path?: string;
  readonly reason?: string;
  readonly unchanged?: boolean;
}

/** The same error, with the knowledge that nothing was changed. Errors that are no Faults stay as they are. */
export function nothingChanged(error: unknown): unknown {
  if (!(error instanceof Fault) || error.unchanged) return error;
  const { code, message, path, reason } = error;
  return new Fault(code, message, {
    cause: error,
    unchanged: true,
    ...(path === undefined ? {} : { path }),
    ...(reason === undefined ? {} : { reason }),
  });
}

/**
 * We could not do our job. Thrown, never returned; every caller treats it as a refusal.
 * The message names what was tried; `path` is the path as the caller wrote it, never a handle path.
 */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly path: string | undefined;
  /** Which of several causes of one code, for programs: `missing`, `relative`, … */
  readonly reason: string | undefined;
  /** True if it is known that no file was changed, or that everything was taken back. */
  readonly unchanged: boolean;

  constructor(code: FaultCode, message: string, options: FaultOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'Fault';
    this.code = code;
    this.path = options.path;
    this.reason = options.reason;
    this.unchanged = options.unchanged ?? false;
  }
}
