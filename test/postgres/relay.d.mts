/** A network between a client and a server on a Unix socket that a test can slow down, freeze or cut. */
export interface Relay {
  readonly port: number;
  /** Passes nothing on and ends no connection, like a network with an unplugged cable. */
  frozen: boolean;
  /** How often a client has sent something after an answer. Queries that are sent together are one round trip. */
  trips: number;
  /** Ends every connection. */
  cut(): void;
  close(): Promise<void>;
}

/** `delayMs`: how much longer every round trip takes. A `pooler` hides which process of the server answers. */
export function startRelay(socket: string, delayMs?: number, kind?: 'network' | 'pooler'): Promise<Relay>;
