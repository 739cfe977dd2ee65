import { errorText, Fault } from '../../model/fault.ts';

/** `unsent`: the server has not received the query. `unanswered`: the server may have run it. */
type Loss = 'unsent' | 'unanswered';

export function isLost(error: unknown): boolean {
  return lossOf(error) !== undefined;
}

export function lossOf(error: unknown): Loss | undefined {
  if (!(error instanceof Fault)) return undefined;
  return error.reason === 'unsent' || error.reason === 'unanswered' ? error.reason : undefined;
}

/** True for errors that the server reported, which have a code of five characters. The connection stays usable. */
export function isServerError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'severity' in error && 'code' in error && !isShutdown(String(error.code));
}

/** Unknown or duplicate names of statements: a pooler is in between that could not be recognised. */
export const STATEMENT_NAMES: ReadonlySet<string> = new Set(['26000', '42P05']);

/** The server is a standby, or this connection began while the server took no writes. */
export const READ_ONLY = '25006';

/** Class 57P: the server is shutting down, or ended this connection. */
function isShutdown(code: string): boolean {
  return code.startsWith('57P');
}

const WORDS: Readonly<Record<string, { readonly reason: string; readonly text: string }>> = {
  LF001: { reason: 'lease', text: 'another process took over the lease of this file' },
  LF002: {
    reason: 'lost',
    text: 'the fleet store went back in time: it was restored from a backup while in use',
  },
  LF003: { reason: 'outdated', text: 'another process has written for this session' },
  '55P03': { reason: 'busy', text: 'another process holds a lock in the fleet store for too long' },
  '40P01': { reason: 'busy', text: 'two processes blocked each other in the fleet store: try again' },
  '53300': {
    reason: 'busy',
    text: 'the fleet store has no free connection: raise its limit, or put PgBouncer in front of it',
  },
  '22': { reason: 'rejected', text: 'the fleet store cannot hold a value of this record' },
  '23': { reason: 'rejected', text: 'the fleet store cannot hold a value of this record' },
  '54000': { reason: 'too-long', text: 'a session id or the path of a root is too long for the fleet store' },
  '57014': { reason: 'timeout', text: 'the fleet store cancelled a statement: raise its statement_timeout' },
  '42P01': { reason: 'missing', text: 'a table of the fleet store does not exist' },
  '28': { reason: 'refused', text: 'the fleet store refused the user name or password: check its URL' },
  '3D': { reason: 'unopenable', text: 'the database of the fleet store does not exist: create it' },
  '42501': {
    reason: 'read-only',
    text: 'the user of the fleet store has no permission for this: give it the rights of a writer (docs/fleet.md)',
  },
  '53100': { reason: 'full', text: 'the disk of the fleet store is full: make room there' },
  [READ_ONLY]: { reason: 'read-only', text: 'the fleet store is read-only: connect to its primary server' },
};

/** Matches the driver's error if the server requires a password and the URL has none. */
const NO_PASSWORD = /client password must be a (?:non-empty )?string/;

export function faultOf(cause: unknown, loss: Loss): Fault {
  if (cause instanceof Fault) return cause;
  const message = errorText(cause);
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const known = 'severity' in Object(cause) ? (WORDS[code] ?? WORDS[code.slice(0, 2)]) : undefined;
  if (known !== undefined)
    return new Fault('STORE_FAILED', `${known.text} (${message})`, { cause, reason: known.reason });
  if (isServerError(cause))
    return new Fault('STORE_FAILED', `the fleet store failed: ${message}`, { cause, reason: 'failed' });
  if (NO_PASSWORD.test(message))
    return new Fault(
      'STORE_FAILED',
      'the fleet store asks for a password: put it into its URL, or into the environment variable PGPASSWORD',
      { cause, reason: 'refused' },
    );
  const what = loss === 'unsent' ? 'cannot be reached' : 'does not answer';
  return new Fault('STORE_FAILED', `the fleet store ${what}: ${message}`, { cause, reason: loss });
}
