/** A PostgreSQL server for one test file. It listens on a Unix socket only. */
export interface PostgresServer {
  /** The folder of the socket. */
  readonly folder: string;
  readonly socket: string;
  /** The URL of a database schema. Without `schema`, each call returns the URL of a new schema. */
  url(schema?: string): string;
  /** Ends the server at once, as a power cut would, without waiting for clients. */
  kill(): Promise<void>;
  /** Starts the server again after {@link kill}. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** `on`: a commit waits for the disk, as in real use. Only benchmarks need this. Default: `off`. */
  readonly fsync?: 'on' | 'off';
  /**
   * The server also listens on this port of 127.0.0.1, for encrypted connections with a password. Its certificate is
   * `server.crt` in its folder, and signed by itself.
   */
  readonly tlsPort?: number;
}

/**
 * Starts a server, or returns the reason why this machine has none. With `CI=true` a missing server is an error, so
 * that the tests of the fleet store are never skipped unnoticed.
 */
export function startServer(options?: ServerOptions): Promise<PostgresServer | string>;
