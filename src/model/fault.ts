import { defined } from './record.ts';

/** Codes of Lookfirst's own failures. Append-only; pinned by a test. */
export const FAULT_CODES = ['IO_FAILED', 'STORE_FAILED', 'CONFIG_INVALID', 'MISUSE'] as const;
export type FaultCode = (typeof FAULT_CODES)[number];

interface FaultOptions {
  readonly cause?: unknown;
  readonly path?: string;
  readonly reason?: string;
  readonly unchanged?: boolean;
}

/** Marks a Fault with "no file was changed" and returns it. Returns other errors as they are. */
export function nothingChanged(error: unknown): unknown {
  if (!(error instanceof Fault) || error.unchanged) return error;
  const { code, message, path, reason } = error;
  return new Fault(code, message, {
    cause: error,
    unchanged: true,
    ...defined({ path, reason }),
  });
}

/**
 * Lookfirst itself failed. Thrown, never returned; every caller treats it as a refusal. The message
 * names the attempted operation. `path` is the path as the caller wrote it, never the internal path
 * of an open folder.
 */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly path: string | undefined;
  /** Distinguishes several causes of one code, for programs: `missing`, `relative`, … */
  readonly reason: string | undefined;
  /** True if no file was changed, or if every change was reverted. */
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

/** The errno name of a system error (`ENOENT`, `EACCES`, …), or undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined;
}

/** True only for "no such file or directory". No other errno proves that a name is free. */
export function isMissing(error: unknown): boolean {
  return errnoOf(error) === 'ENOENT';
}

/** True for "a file or directory with this name already exists". */
export function isTaken(error: unknown): boolean {
  return errnoOf(error) === 'EEXIST';
}

/** The result of `work`, or undefined if a file or folder that it needs does not exist. Other errors are thrown. */
export function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The result of `work`, or undefined if one of its system calls fails. Other errors are thrown. */
export function unlessErrno<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** The result of `work`, or of `otherwise` if the store fails. Other errors are thrown. */
export async function unlessStoreFails<T, U>(work: () => Promise<T>, otherwise: () => U): Promise<T | U> {
  try {
    return await work();
  } catch (error) {
    mustBeOfStore(error);
    return otherwise();
  }
}

/** Throws the error again, unless it says that the store failed. */
export function mustBeOfStore(error: unknown): undefined {
  if (!(error instanceof Fault && error.code === 'STORE_FAILED')) throw error;
}

/** The remedy if the state folder cannot be written. */
export const HOME_CURE = 'set LOOKFIRST_HOME to a folder that this user may write';

/**
 * The message of any thrown value for users, with a code. An error that is neither a Fault nor of the system is a bug.
 * Holds no stack, which means nothing in bundled code; NODE_DEBUG=lookfirst prints it.
 */
export function failureText(error: unknown): string {
  if (error instanceof Fault) return `${error.message} [${error.code}]`;
  if (errnoOf(error) !== undefined) return `${errorText(error)} [IO_FAILED]`;
  return `${errorText(error)}: this is a bug, please report it (NODE_DEBUG=lookfirst shows its place) [BUG]`;
}

/** The message of any thrown value. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
