/** The connection of one HTTP client, or of all clients without a session, to the server behind the front. */
export interface Link {
  /** Passes on one message of a client. `arrivedAt`: the `performance.now()` time of its request. */
  send(line: Buffer, arrivedAt: number): void;
  /** Resolves when the server has ended, by itself or through `close`. */
  ended(): Promise<void>;
  close(): Promise<void>;
}

/** Passes one message of the server to the client. Returns false if the client does not get it. */
export type ToClient = (line: Buffer) => boolean;
