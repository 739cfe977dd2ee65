import type { Received } from './received.ts';

/** A waiter for one answer. */
export interface Awaiting {
  /** True if the client must not get the answer before `take`, which may hold it back or rewrite it. */
  readonly holds: boolean;
  /** Receives the answer, and forwards it to the client unless that has already happened. */
  take(received: Received): void;
}

/** The client and the upstream, as an interception sees them. */
export interface Wire {
  toUpstream(line: Buffer): void;
  toClient(line: Buffer): void;
  /** Registers a waiter for the upstream's answer to this id. */
  expect(key: string, awaiting: Awaiting): void;
  /** Removes the waiter: answers to this id go to the client again. */
  forget(key: string): void;
}
