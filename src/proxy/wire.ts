import type { Received } from './received.ts';

/** Somebody who waits for an answer. */
export interface Awaiting {
  /** The client must not have the answer before it was taken: it may be kept back or rewritten. */
  readonly holds: boolean;
  /** Takes the answer, and hands it on to the client unless it has been forwarded. */
  take(received: Received): void;
}

/** The two ends between which messages pass, as an interception sees them. */
export interface Wire {
  toUpstream(line: Buffer): void;
  toClient(line: Buffer): void;
  /** The upstream's answer to this id is taken by somebody. */
  expect(key: string, awaiting: Awaiting): void;
  /** Answers to this id go to the client again. */
  forget(key: string): void;
}
