import { Fault, type FaultCode } from '../model/fault.ts';
import type { NextStep } from '../model/verdict.ts';
import type { ToolAnswer } from './tool-answer.ts';

/** The `reason` field of the Fault that is thrown if ripgrep is missing. */
const NO_RIPGREP = 'ripgrep';

/** Errors that persist until the user fixes their cause. */
const FOR_A_PERSON: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'EBUSY',
  'ENOSPC',
  'EDQUOT',
  'EIO',
  'ESTALE',
]);

/**
 * The answer for a tool that threw. The model normally gets a fixed sentence. The error's message
 * goes only to the log, because it may contain paths and contents of other sessions. Exceptions:
 * ripgrep is missing, or the operating system reported an error for a path.
 */
export function failureAnswer(tool: string, error: unknown): ToolAnswer {
  const code: FaultCode = error instanceof Fault ? error.code : 'IO_FAILED';
  if (error instanceof Fault && error.reason === NO_RIPGREP) {
    // The message contains no text of other sessions, so the model may see it. Only the user can
    // fix the cause.
    const text = `${tool} cannot work here: ${error.message} [${code}]. Until that is fixed, list folders and read files instead.`;
    return failed(text, { code, next: 'ask_human' });
  }
  if (error instanceof Fault && code === 'IO_FAILED' && error.path !== undefined && isErrno(error.reason))
    return systemError(tool, error);
  const unchanged = error instanceof Fault && error.unchanged;
  const cause = error instanceof Fault ? knownCause(error) : undefined;
  const what = cause === undefined ? `${tool} failed inside the server` : `${tool} failed: ${cause}`;
  if (!unchanged) {
    const text =
      `${what} [${code}]. Treat the call as refused; whether anything changed is unknown. ` +
      'Read the file again before you continue.';
    return failed(text, { code, next: 'read_again' });
  }
  const next = error.reason === 'busy' ? 'retry_later' : 'ask_human';
  const then = next === 'retry_later' ? 'Try again in a moment' : 'Tell the user';
  return failed(`${what} [${code}]. Nothing was changed. ${then}.`, { code, next });
}

/** The answer if the operating system reported an error for a path. */
function systemError(tool: string, { message, code, reason, unchanged }: Fault): ToolAnswer {
  const next = FOR_A_PERSON.has(reason) ? 'ask_human' : 'read_again';
  const state = unchanged ? 'Nothing was changed' : 'Treat the call as refused';
  const then = next === 'ask_human' ? 'Tell the user' : 'Read the file again before you continue';
  return failed(`${tool} failed: ${message} [${code}]. ${state}. ${then}.`, { code, next });
}

function isErrno(reason: string | undefined): boolean {
  return reason !== undefined && /^E[A-Z0-9]+$/.test(reason);
}

function failed(text: string, { code, next }: { code: FaultCode; next: NextStep }): ToolAnswer {
  return { ok: false, text, outcome: { ok: false, code, next } };
}

/** Formats an error for the log. A fault explains itself; any other error is a bug and includes its stack. */
export function describe(error: unknown): string {
  if (error instanceof Fault) return `${error.message} [${error.code}]`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Explanations of STORE_FAILED that contain no path. The key is the fault's `reason`: an errno, or
 * a word that the store uses.
 */
const STORE_CAUSES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk of the state folder is full',
  EDQUOT: 'the disk quota of the state folder is used up',
  EACCES: 'the state folder cannot be written',
  EPERM: 'the state folder cannot be written',
  EROFS: 'the state folder is on a read-only file system',
  EMFILE: 'too many files are open',
  full: 'the disk of the state folder is full',
  busy: 'another process kept the state database locked for too long',
  'read-only': 'the state database cannot be written',
  unopenable: 'the state database cannot be opened',
  damaged: 'the state database is damaged',
  unsent: 'the fleet store cannot be reached',
  unanswered: 'the fleet store does not answer',
  refused: 'the fleet store refused the user name or password',
  encryption: 'the fleet store and its URL disagree about encryption',
  certificate: 'the certificate of the fleet store is not trusted',
  lease: 'another machine may be writing to this shared workspace',
  elsewhere: 'the earlier content is stored only on another machine',
  newer: 'the store was written by a newer Lookfirst, and this one must be updated',
  older: 'the store was written by an older Lookfirst',
  missing: 'the tables of the fleet store are gone, and Lookfirst must be started again',
  timeout: 'the fleet store cancelled a statement that took too long',
  rejected: 'the fleet store rejected a value that Lookfirst wanted to store',
  failed: 'the fleet store reported an error',
  lost: 'the state database was removed, replaced or truncated while in use, and Lookfirst must be started again',
};

/** The cause of a store failure, for a model or user who must not see paths of other sessions; undefined if unknown. */
export function storeCause({ code, reason = '' }: Fault): string | undefined {
  return code === 'STORE_FAILED' && Object.hasOwn(STORE_CAUSES, reason) ? STORE_CAUSES[reason] : undefined;
}

/** The cause that the model may see; undefined if only the log may name it. */
function knownCause(fault: Fault): string | undefined {
  const isClosed = fault.code === 'MISUSE' && fault.reason === 'closed';
  return isClosed ? 'this session is closed' : storeCause(fault);
}
