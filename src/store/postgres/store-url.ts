import { Fault } from '../../model/fault.ts';

const DEFAULT_SCHEMA = 'lookfirst';

/** Splits a URL into the driver's address and our own part: `?schema=NAME`. */
export function readUrl(url: string): { readonly address: string; readonly schema: string } {
  let parsed: URL;
  try {
    // Add the host `localhost` to a URL with a user but no host. PostgreSQL's own programs accept
    // such a URL, but `new URL` does not.
    parsed = new URL(url.replace(/^(\w+:\/\/[^/?#]*@)(?=[/?#]|$)/, '$1localhost'));
  } catch {
    // Leave out the cause: it holds the URL and its password.
    throw new Fault(
      'CONFIG_INVALID',
      'the URL of the store cannot be read: use postgres://user@host/database',
    );
  }
  const schema = parsed.searchParams.get('schema') ?? DEFAULT_SCHEMA;
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema))
    throw new Fault(
      'CONFIG_INVALID',
      `a schema name has only lower-case letters, digits and _: ${JSON.stringify(schema)}`,
    );
  parsed.searchParams.delete('schema');
  setEncryption(parsed.searchParams);
  return { address: parsed.href, schema };
}

/**
 * Values of `sslmode` that the driver treats as `verify-full`. It prints a warning for the first
 * three, so they are all replaced by `verify-full`.
 */
const VERIFIED: ReadonlySet<string> = new Set(['prefer', 'require', 'verify-ca', 'verify-full']);
const OTHER_MODES: ReadonlySet<string> = new Set(['disable', 'allow', 'no-verify']);

/**
 * Sets `sslmode` to `verify-full` if its value is in `VERIFIED`. Refuses unknown values: with them,
 * the driver would not encrypt.
 */
function setEncryption(parameters: URLSearchParams): void {
  const mode = parameters.get('sslmode');
  if (mode === null || parameters.has('uselibpqcompat')) return;
  if (VERIFIED.has(mode)) parameters.set('sslmode', 'verify-full');
  else if (!OTHER_MODES.has(mode))
    throw new Fault(
      'CONFIG_INVALID',
      `sslmode=${JSON.stringify(mode)} in the URL of the store is unknown: use verify-full, no-verify or disable`,
    );
}
