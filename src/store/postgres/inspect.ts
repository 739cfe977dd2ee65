import { PostgresConnection } from './connection.ts';
import { schemaVersions } from './schema.ts';

/** The condition of a fleet store, seen from this machine. */
export interface FleetHealth {
  /** The server's version. */
  readonly server: string;
  /** Median of a few round trips. */
  readonly latencyMs: number;
  /** Milliseconds by which this machine's clock is ahead of the server's. */
  readonly clockAheadMs: number;
  readonly schema: { readonly version: number; readonly newest: number };
  readonly databaseBytes: number;
  readonly connections: number;
  readonly maxConnections: number;
}

const ROUND_TRIPS = 5;

/** Measures the connection and queries the server's data. An unreachable server is a Fault. */
export async function inspectFleet(url: string): Promise<FleetHealth> {
  const db = await PostgresConnection.open(url);
  try {
    const schema = await schemaVersions(db);
    const times: number[] = [];
    for (let n = 0; n < ROUND_TRIPS; n++) {
      const started = performance.now();
      await db.query('select 1');
      times.push(performance.now() - started);
    }
    const latencyMs = times.sort((a, b) => a - b)[ROUND_TRIPS >> 1] ?? 0;
    const askedMs = Date.now();
    const [row] = await db.query(`select current_setting('server_version') as server,
      (extract(epoch from clock_timestamp()) * 1000)::bigint as now, pg_database_size(current_database()) as bytes,
      (select count(*) from pg_stat_activity where backend_type = 'client backend') as connections,
      current_setting('max_connections')::int as most`);
    return {
      server: String(row?.['server']),
      latencyMs,
      clockAheadMs: Math.round(askedMs + latencyMs / 2 - Number(row?.['now'])),
      schema,
      databaseBytes: Number(row?.['bytes']),
      connections: Number(row?.['connections']),
      maxConnections: Number(row?.['most']),
    };
  } finally {
    await db.close();
  }
}
