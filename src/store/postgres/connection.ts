import { channel } from 'node:diagnostics_channel';
import { errorText, Fault } from '../../model/fault.ts';
import { withoutPassword } from '../state.ts';
import {
  faultOf,
  isDecided,
  isLost,
  isServerError,
  lossOf,
  READ_ONLY,
  STATEMENT_NAMES,
  TOO_LATE,
} from './server-faults.ts';

/** Every call ends within this time, whatever the network does. */
const DEADLINE_MS = 5000;
/** Deadline for statements that work on whole tables. */
const MAINTENANCE_MS = 60_000;
/** After a failed connection, calls fail at once for this time, so that they do not queue up. */
const RETRY_MS = 500;
/** An unused connection is closed after this time: a fleet has more processes than a server has connections. */
const IDLE_MS = 30_000;
/** If starting the store takes longer than this, the user is informed about the reason. */
const SILENT_MS = 1000;
/** The channel for messages about waiting. The program prints them; a library must not write to the terminal. */
const WAITING = channel('lookfirst:waiting');

export interface ConnectionOptions {
  readonly deadlineMs?: number;
  /** Called for each round trip, with the query. For tests and measurements. */
  readonly onQuery?: (text: string) => void;
}

/** The connection on which a record was last sent. */
interface RecordPlace {
  sentOn: PgClient | undefined;
}

/**
 * One connection, opened on demand and again after it was lost. Queries are sent immediately and answered in order, so
 * several sent together cost one round trip. No query outlives its deadline.
 */
export class PostgresConnection {
  readonly url: string;
  /** The quoted name of our schema. Every query names it, because a pooler does not keep a search path. */
  readonly schema: string;
  readonly #connectTo: () => PgClient;
  readonly #deadlineMs: number;
  readonly #onQuery: (text: string) => void;
  #client: Promise<PgClient> | undefined;
  /**
   * The last failure to connect. `at` is a `performance.now()` time, because the machine's clock
   * may be set back.
   */
  #failure: { readonly error: Fault; readonly at: number } | undefined;
  /** The records that are not answered yet, in the order in which they must arrive. */
  readonly #records = new Set<RecordPlace>();
  /** Callbacks of records that wait until an earlier record is sent. */
  readonly #waiting: (() => void)[] = [];
  #idle: NodeJS.Timeout | undefined;
  #running = 0;
  #closed = false;
  #away = false;
  /** The server's clock minus `performance.now()`, never too great. Undefined if it is not known. */
  #clockMs: number | undefined;
  /** The client, once it is known that no pooler is between it and the server. */
  #direct: PgClient | undefined;

  private constructor(
    url: string,
    connectTo: (url: string, deadlineMs: number) => PgClient,
    options: ConnectionOptions,
  ) {
    const { address, schema } = readUrl(url);
    const { deadlineMs = DEADLINE_MS, onQuery = (): void => {} } = options;
    this.url = withoutPassword(url);
    this.schema = `"${schema}"`;
    this.#deadlineMs = deadlineMs;
    this.#onQuery = onQuery;
    this.#connectTo = () => connectTo(address, deadlineMs);
  }

  static async open(url: string, options: ConnectionOptions = {}): Promise<PostgresConnection> {
    const connect = await loadPostgres();
    const connectTo = (connectionString: string, deadlineMs: number): PgClient =>
      connect({
        connectionString,
        pipeline: true,
        connectionTimeoutMillis: deadlineMs,
        query_timeout: deadlineMs,
        application_name: 'lookfirst',
      });
    return new PostgresConnection(url, connectTo, options);
  }

  /**
   * Runs one statement and returns its rows. If the connection is lost before the answer, the statement is sent once
   * more. So it must be safe to run twice.
   */
  query(text: string, values: readonly PgValue[] = []): Promise<readonly Row[]> {
    return this.#run({ text, values });
  }

  /**
   * Like `query`, for a statement that is sent again and again: the server parses and plans it once. `name` identifies
   * the text.
   */
  repeat(name: string, text: string, values: readonly PgValue[]): Promise<readonly Row[]> {
    return this.#run({ name, text, values });
  }

  /** Calls one of our functions that takes a JSON object. Returns its result. */
  async call(name: string, argument: object): Promise<unknown> {
    const text = `select ${this.schema}.${name}($1::text::jsonb) as result`;
    const [row] = await this.query(text, [JSON.stringify(argument)]);
    return row?.['result'];
  }

  /**
   * Like `query`, for a record. The server ignores a record that has a lower number than its last
   * one. So this method sends records in the order of its calls, even if some must be sent again.
   * With a `name`, the server plans the statement once.
   */
  record(text: string, values: readonly PgValue[], name?: string): Promise<readonly Row[]> {
    const query = name === undefined ? { text, values } : { name, text, values };
    const place: RecordPlace = { sentOn: undefined };
    this.#records.add(place);
    return this.#run(query, place).finally(() => {
      this.#records.delete(place);
      this.#wake();
    });
  }

  /** Like `query`, with a longer deadline: for clean-ups and updates of the schema. */
  maintain(text: string, values: readonly PgValue[] = []): Promise<readonly Row[]> {
    return this.#run({ text, values, query_timeout: Math.max(MAINTENANCE_MS, this.#deadlineMs) });
  }

  async #run(query: PgQuery, place?: RecordPlace): Promise<readonly Row[]> {
    if (this.#closed) throw closedFault();
    const deadline = performance.now() + (query.query_timeout ?? this.#deadlineMs);
    try {
      return await this.#send(query, place);
    } catch (error) {
      if (!isLost(error) || performance.now() >= deadline) throw error;
      const again = this.#send(query, place).catch((second: unknown) => {
        // If the first try got no answer, the statement may have run. Report the first error then,
        // unless the second one shows whether the statement has run.
        const isOpen = place === undefined ? lossOf(second) === 'unsent' : !isDecided(second);
        throw lossOf(error) === 'unanswered' && isOpen ? error : second;
      });
      return within(again, deadline - performance.now());
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#disconnect();
  }

  /** The server's clock, read by an answer that has just arrived. */
  noteClock(serverMs: number): void {
    this.#clockMs = serverMs - performance.now();
  }

  /** The time on the server's clock at which a query that is sent now ends; undefined if it is not known. */
  get deadline(): number | undefined {
    return this.#clockMs && Math.floor(this.#clockMs + performance.now() + this.#deadlineMs);
  }

  /** True from the first lost query until the next answered one. */
  get isAway(): boolean {
    return this.#away;
  }

  async #send({ name, ...query }: PgQuery, place?: RecordPlace): Promise<readonly Row[]> {
    let client = await this.#connected();
    while (place !== undefined && this.#isEarly(place, client)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      client = await this.#connected();
    }
    if (place !== undefined) this.#markSent(place, client);
    clearTimeout(this.#idle);
    this.#running += 1;
    this.#onQuery(query.text);
    try {
      const isNamed = name !== undefined && this.#direct === client;
      const { rows } = await client.query(isNamed ? { name, ...query } : query);
      this.#away = false;
      return rows;
    } catch (error) {
      this.#noteError(error, client);
      throw faultOf(error, 'unanswered');
    } finally {
      this.#running -= 1;
      if (this.#running === 0 && !this.#closed) this.#closeWhenIdle();
    }
  }

  #noteError(error: unknown, client: PgClient): void {
    if (!isServerError(error)) {
      this.#away = true;
      this.#drop(client);
    } else if (STATEMENT_NAMES.has(error.code)) this.#direct = undefined;
    else if (error.code === TOO_LATE) this.#clockMs = undefined;
    else if (error.code === READ_ONLY) this.#leave(client);
  }

  /** True if an earlier record without an answer must be sent on this connection first. */
  #isEarly(place: RecordPlace, client: PgClient): boolean {
    for (const earlier of this.#records) {
      if (earlier === place) return false;
      if (earlier.sentOn !== client) return true;
    }
    return false;
  }

  #markSent(place: RecordPlace, client: PgClient): void {
    // Do not send the record if its deadline has passed: its caller has already got an error.
    if (!this.#records.has(place)) throw unansweredFault();
    place.sentOn = client;
    this.#wake();
  }

  /** Lets the records that wait for an earlier one check again whether it is their turn. */
  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #connected(): Promise<PgClient> {
    // A query that is lost while the store is being closed is not sent again.
    if (this.#closed) return Promise.reject(closedFault());
    if (this.#client !== undefined) return this.#client;
    const failure = this.#failure;
    if (failure !== undefined && performance.now() - failure.at < RETRY_MS)
      return Promise.reject(failure.error);
    const connecting = this.#connect();
    this.#client = connecting;
    connecting.catch(() => {
      if (this.#client === connecting) this.#client = undefined;
    });
    return connecting;
  }

  async #connect(): Promise<PgClient> {
    const client = this.#newClient();
    client.on('error', () => this.#drop(client));
    client.on('end', () => this.#drop(client));
    try {
      await client.connect();
      this.#failure = undefined;
      this.#findPooler(client);
      return client;
    } catch (cause) {
      const error = faultOf(cause, 'unsent', this.url);
      this.#away = true;
      this.#failure = { error, at: performance.now() };
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  #newClient(): PgClient {
    try {
      return this.#connectTo();
    } catch (cause) {
      // The driver reads the certificate files that the URL names, and throws if it cannot.
      throw new Fault('CONFIG_INVALID', `${this.url} names a file that cannot be read: ${errorText(cause)}`, {
        cause,
      });
    }
  }

  /**
   * Allows named statements if no pooler is in use. A pooler may give each transaction to another
   * server process, which does not know the names. Without a pooler, the process that answers is
   * the one that accepted the connection. Callers do not wait for this check.
   */
  #findPooler(client: PgClient): void {
    client.query({ text: `select pg_backend_pid() as pid, ${SERVER_CLOCK} as now`, values: [] }).then(
      ({ rows: [row] }) => {
        this.noteClock(Number(row?.['now']));
        if (row?.['pid'] === client.processID) this.#direct = client;
      },
      () => undefined,
    );
  }

  /**
   * Ends a connection after a read-only error: the server is not the primary server any more. A new
   * connection may lead to the new primary server.
   */
  #leave(client: PgClient): void {
    this.#drop(client);
    void client.end().catch(() => undefined);
  }

  /** Drops a connection. The next query opens a new one. */
  #drop(client: PgClient): void {
    void this.#client?.then(
      (current) => {
        if (current === client) this.#client = undefined;
      },
      () => undefined,
    );
  }

  #closeWhenIdle(): void {
    this.#idle = setTimeout(() => void this.#disconnect(), IDLE_MS);
    this.#idle.unref();
  }

  async #disconnect(): Promise<void> {
    clearTimeout(this.#idle);
    const client = this.#client;
    this.#client = undefined;
    const ended = Promise.resolve(client?.then((each) => each.end()));
    // If the server does not confirm the end of the connection in time, destroy the socket:
    // otherwise it would keep this process running.
    await within(ended, this.#deadlineMs).catch(() =>
      client?.then(
        (each) => each.connection?.stream?.destroy?.(),
        () => undefined,
      ),
    );
  }
}

export function closedFault(): Fault {
  return new Fault('MISUSE', 'the store was closed');
}

/** Publishes a sentence for the user if the work is not done after a second. */
export async function explained<T>(work: Promise<T>, sentence: string): Promise<T> {
  const timer = setTimeout(() => WAITING.publish(sentence), SILENT_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

function unansweredFault(): Fault {
  return new Fault('STORE_FAILED', 'the fleet store does not answer', { reason: 'unanswered' });
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unansweredFault()), Math.max(ms, 0));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const DEFAULT_SCHEMA = 'lookfirst';

/** Splits a URL into the driver's address and our own part: `?schema=NAME`. */
function readUrl(url: string): { readonly address: string; readonly schema: string } {
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

/** SQL for the server's clock, in milliseconds. */
export const SERVER_CLOCK = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

/** A row by column name. */
export type Row = Readonly<Record<string, unknown>>;

export type PgValue = string | number | null | Uint8Array | readonly string[] | readonly Uint8Array[];

interface PgQuery {
  readonly text: string;
  readonly values: readonly PgValue[];
  /** The server parses and plans a named statement once per connection. */
  readonly name?: string;
  /** Deadline of this query, instead of the connection's. */
  readonly query_timeout?: number;
}

/** The part of the `pg` client that we use. */
interface PgClient {
  /** The id of the server process, as reported when the connection was made. */
  readonly processID?: number | null;
  /** An internal field of the driver. Other versions may not have it. */
  readonly connection?: { readonly stream?: { destroy?(): void } };
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<{ readonly rows: readonly Row[] }>;
  end(): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
}

interface PgOptions {
  readonly connectionString: string;
  /** Allows several queries in flight; the server answers them in order. */
  readonly pipeline: true;
  readonly connectionTimeoutMillis: number;
  /** The client's own deadline, because a frozen network gives no error. */
  readonly query_timeout: number;
  readonly application_name: string;
  readonly types: { getTypeParser(oid: number, format?: string): (text: string) => unknown };
}

interface PgDriver {
  readonly Client: new (options: PgOptions) => PgClient;
  readonly types: PgOptions['types'];
}

/** Type id of bigint columns. They are read as numbers, because our values stay far below 2^53. */
const INT8 = 20;

/** Loads `pg`, which only users of this store install. Throws a Fault if the package is missing. */
export async function loadPostgres(driver = 'pg'): Promise<(options: Omit<PgOptions, 'types'>) => PgClient> {
  const { Client, types } = await installedDriver(driver);
  const parsers = {
    getTypeParser: (oid: number, format?: string): ((text: string) => unknown) =>
      oid === INT8 ? Number : types.getTypeParser(oid, format),
  };
  return (options) => new Client({ ...options, types: parsers });
}

const DRIVER_MISSING =
  'a postgres: store needs the package pg: run "npm install pg" where lookfirst is installed, or start it with "npx -y -p lookfirst -p pg lookfirst ..."';

// The name is a parameter, because a literal would fail: the package has no type declarations, and
// bundlers would try to resolve it.
async function installedDriver(name: string): Promise<PgDriver> {
  try {
    const loaded = (await import(name)) as { readonly default: PgDriver };
    return loaded.default;
  } catch (cause) {
    throw new Fault('CONFIG_INVALID', DRIVER_MISSING, { cause, reason: 'driver' });
  }
}
