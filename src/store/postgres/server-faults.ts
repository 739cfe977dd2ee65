import { errorText, Fault } from '../../model/fault.ts';

/**
 * The state of a query when its connection failed. `unsent`: the server has not received it.
 * `unanswered`: the server may have run it.
 */
type Loss = 'unsent' | 'unanswered';

export function isLost(error: unknown): boolean {
  return lossOf(error) !== undefined;
}

export function lossOf(error: unknown): Loss | undefined {
  if (!(error instanceof Fault)) return undefined;
  return error.reason === 'unsent' || error.reason === 'unanswered' ? error.reason : undefined;
}

/** Reasons that prove that the server refused an earlier try of the same record too. */
const DECIDED: ReadonlySet<string | undefined> = new Set(['rejected', 'too-long', 'lease', 'lost']);

/**
 * True if the error of a record shows that an earlier try, whose answer was lost, failed as well.
 * Other errors do not: a server that has become read-only may have recorded the earlier try.
 */
export function isDecided(error: unknown): boolean {
  return error instanceof Fault && DECIDED.has(error.reason);
}

/** True for errors that the server reported, which have a code of five characters. The connection stays usable. */
export function isServerError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'severity' in error && 'code' in error && !isEnd(String(error.code));
}

/**
 * Error codes for an unknown or duplicate name of a prepared statement. A connection pooler causes
 * them, because it runs a client's queries on different connections.
 */
export const STATEMENT_NAMES: ReadonlySet<string> = new Set(['26000', '42P05']);

/** Error code: the caller had given up waiting when the server got the record, or the server's clock was set. */
export const TOO_LATE = 'LF003';

/** Error code: the server is a standby, or it accepted no writes when this connection began. */
export const READ_ONLY = '25006';

/**
 * True for error codes that end a connection. 57P: the server is shutting down, or has ended the
 * connection. 08: a pooler has lost its own connection to the server; the statement may have run.
 */
function isEnd(code: string): boolean {
  return code.startsWith('57P') || code.startsWith('08');
}

/**
 * The fault for a missing table, function or schema. The next start by the owner of the schema
 * creates what is missing.
 */
const MISSING = {
  reason: 'missing',
  text: 'tables of the fleet store do not exist: start Lookfirst again, as the owner of the schema',
};

const WORDS: Readonly<Record<string, { readonly reason: string; readonly text: string }>> = {
  LF001: {
    reason: 'lease',
    text: 'another process took over the lock of this file: read the file again, then retry',
  },
  LF002: {
    reason: 'lost',
    text: 'the fleet store was restored from a backup while in use: start Lookfirst again',
  },
  [TOO_LATE]: {
    reason: 'late',
    text: 'the fleet store got this change too late, perhaps because a clock was set: try again',
  },
  '55P03': {
    reason: 'busy',
    text: 'another process has held a lock in the fleet store for too long: try again',
  },
  '40P01': { reason: 'busy', text: 'two processes blocked each other in the fleet store: try again' },
  '53300': {
    reason: 'busy',
    text: 'the fleet store has no free connection: raise its limit, or put PgBouncer in front of it',
  },
  '22': { reason: 'rejected', text: 'the fleet store rejected a value of this record' },
  '23': { reason: 'rejected', text: 'the fleet store rejected a value of this record' },
  '54000': { reason: 'too-long', text: 'a session id or the path of a root is too long for the fleet store' },
  '57014': { reason: 'timeout', text: 'the fleet store cancelled a statement: raise its statement_timeout' },
  '42P01': MISSING,
  '42883': MISSING,
  '3F000': MISSING,
  '28': { reason: 'refused', text: 'the fleet store refused the user name or password: check its URL' },
  '3D': { reason: 'unopenable', text: 'the database of the fleet store does not exist: create it' },
  '42501': {
    reason: 'read-only',
    text: 'the user of the fleet store has no permission for this: give it the rights of a writer (docs/fleet.md)',
  },
  '53100': { reason: 'full', text: 'the disk of the fleet store is full: make room there' },
  [READ_ONLY]: { reason: 'read-only', text: 'the fleet store is read-only: connect to its primary server' },
};

/** Errors that are recognised by their messages: they occur while a connection is being opened. */
const MESSAGES: readonly (readonly [RegExp, { readonly reason: string; readonly text: string }])[] = [
  [
    /client password must be a (?:non-empty )?string/,
    {
      reason: 'refused',
      text: 'the fleet store asks for a password: put it into its URL, or into the environment variable PGPASSWORD',
    },
  ],
  [
    /no encryption$/,
    {
      reason: 'encryption',
      text: 'the fleet store refuses this connection, perhaps because it is not encrypted: add sslmode=verify-full to its URL, or allow this user and machine in its pg_hba.conf',
    },
  ],
  [
    /does not support SSL/,
    {
      reason: 'encryption',
      text: 'the URL of the fleet store asks for an encrypted connection, which the server does not offer: turn on its setting ssl, or use sslmode=disable on a network that is yours alone',
    },
  ],
];

/** Errors of Node about the certificate of the server. */
const CERTIFICATE = /^(?:ERR_TLS_CERT|CERT_|.*_(?:CERT|CERT_.*|SIGNATURE|CRL|CRL_.*)$)/;
const UNTRUSTED = {
  reason: 'certificate',
  text: 'the certificate of the fleet store is not trusted: add sslmode=verify-full and sslrootcert=FILE to its URL, with the file of the authority that signed it',
};

/**
 * Converts an error of the driver to a Fault. `url`: the URL without its password, for errors while
 * connecting.
 */
export function faultOf(cause: unknown, loss: Loss, url?: string): Fault {
  if (cause instanceof Fault) return cause;
  const message = errorText(cause);
  const known = knownError(cause, message);
  const at = url === undefined ? '' : `, ${url}`;
  if (known !== undefined)
    return new Fault('STORE_FAILED', `${known.text} (${message}${at})`, { cause, reason: known.reason });
  if (isServerError(cause))
    return new Fault('STORE_FAILED', `the fleet store failed: ${message}${at}`, { cause, reason: 'failed' });
  if (url !== undefined)
    return new Fault(
      'STORE_FAILED',
      `the fleet store cannot be reached: check that it is running, and its URL (${message}${at})`,
      { cause, reason: loss },
    );
  const what = loss === 'unsent' ? 'cannot be reached' : 'does not answer';
  return new Fault('STORE_FAILED', `the fleet store ${what}: ${message}`, { cause, reason: loss });
}

function knownError(
  cause: unknown,
  message: string,
): { readonly reason: string; readonly text: string } | undefined {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const [, said] = MESSAGES.find(([pattern]) => pattern.test(message)) ?? [];
  if (said !== undefined) return said;
  if ('severity' in Object(cause)) return WORDS[code] ?? WORDS[code.slice(0, 2)];
  return CERTIFICATE.test(code) ? UNTRUSTED : undefined;
}
