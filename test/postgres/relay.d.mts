/** A network between a client and a server on a Unix socket: slow, frozen or cut, as a test wants it. */
export interface Relay {
  readonly port: number;
  /** Passes nothing on and ends no connection, as a network does whose cable was pulled. */
  frozen: boolean;
  /** How often a client has sent something after an answer: queries that are sent together are one round trip. */
  trips: number;
  /** Ends every connection. */
  cut(): void;
  close(): Promise<void>;
}

/** `delayMs`: how much longer every round trip takes. */
export function startRelay(socket: string, delayMs?: number): Promise<Relay>;
