/** A network in front of a server on a Unix socket. A test can slow it down, freeze it or cut it. */
export interface Relay {
  readonly port: number;
  /** Passes nothing on and ends no connection, like a network with an unplugged cable. */
  frozen: boolean;
  /** Passes queries on, but not their answers. */
  deaf: boolean;
  /**
   * The number of times that a client has sent something after an answer. Queries that are sent together are one round
   * trip.
   */
  trips: number;
  /** Ends every connection. */
  cut(): void;
  /** Ends every connection with the message of a pooler whose server has crashed. */
  crash(): void;
  close(): Promise<void>;
}

/** `delayMs` lengthens every round trip. A `pooler` hides which process of the server answers. */
export function startRelay(socket: string, delayMs?: number, kind?: 'network' | 'pooler'): Promise<Relay>;
