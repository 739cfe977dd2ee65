import { Fault } from '../../model/fault.ts';

/** SQL for the server's clock, in milliseconds. */
export const SERVER_CLOCK = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

/** A row by column name. */
export type Row = Readonly<Record<string, unknown>>;

export type PgValue = string | number | null | Uint8Array | readonly string[] | readonly Uint8Array[];

export interface PgQuery {
  readonly text: string;
  readonly values: readonly PgValue[];
  /** The server parses and plans a named statement once per connection. */
  readonly name?: string;
  /** Deadline of this query, instead of the connection's. */
  readonly query_timeout?: number;
}

interface Answer {
  readonly rows: readonly Row[];
}

/** The part of the `pg` client that we use, and our own method `ask`, which sends a query. */
export interface PgClient {
  /** The id of the server process, as reported when the connection was made. */
  readonly processID?: number | null;
  /** An internal field of the driver. Other versions may not have it. */
  readonly connection?: { readonly stream?: { cork?(): void; uncork?(): void; destroy?(): void } };
  connect(): Promise<unknown>;
  ask(query: PgQuery): Promise<Answer>;
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

/** A query object of the driver. The client reads these fields when it sends the query. */
interface DriverQuery {
  name?: string;
  query_timeout?: number;
}

interface PgDriver {
  readonly Client: new (options: PgOptions) => Omit<PgClient, 'ask'> & { query(query: DriverQuery): unknown };
  readonly Query: new (
    text: string,
    values: readonly PgValue[],
    done: (error: unknown, answer: Answer) => void,
  ) => DriverQuery;
  readonly types: PgOptions['types'];
}

/** Type id of bigint columns. They are read as numbers, because our values stay far below 2^53. */
const INT8 = 20;

/** Loads `pg`, which only users of this store install. Throws a Fault if the package is missing. */
export async function loadPostgres(driver = 'pg'): Promise<(options: Omit<PgOptions, 'types'>) => PgClient> {
  const { Client, Query, types } = await installedDriver(driver);
  class AskingClient extends Client {
    /**
     * Sends a query. Builds the query object itself: letting the client build it from a plain
     * description would take a quarter of the client's time.
     */
    ask({ text, values, name, query_timeout }: PgQuery): Promise<Answer> {
      return new Promise((resolve, reject) => {
        const query = new Query(text, values, (error, answer) => (error ? reject(error) : resolve(answer)));
        if (name !== undefined) query.name = name;
        if (query_timeout !== undefined) query.query_timeout = query_timeout;
        this.query(query);
      });
    }
  }
  const parsers = {
    getTypeParser: (oid: number, format?: string): ((text: string) => unknown) =>
      oid === INT8 ? Number : types.getTypeParser(oid, format),
  };
  return (options) => new AskingClient({ ...options, types: parsers });
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
