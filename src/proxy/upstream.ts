/** How an upstream ended: by its own exit code, or by a signal. */
export interface UpstreamEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What an upstream tells. */
export interface UpstreamEvents {
  onLine(line: Buffer): void;
  /** Takes its output as it comes, instead of lines; an upstream that has no such output tells lines all the same. */
  onBytes?(chunk: Buffer): void;
  log(text: string): void;
}

/** The server behind the proxy. */
export interface Upstream {
  /** Starts it; called once, before anything else. */
  open(events: UpstreamEvents): void;
  send(line: Buffer): void;
  /** True while the upstream does not keep up with what is sent to it. */
  readonly full: boolean;
  whenDrained(then: () => void): void;
  /** Stops and goes on reading from it. */
  pause(): void;
  resume(): void;
  /** Nothing more will be sent: lets it finish. `busy` tells whether it still owes an answer. */
  close(busy: () => boolean): void;
  /** Passes a signal on, and sees to it that the upstream ends. */
  stop(signal: NodeJS.Signals): void;
  /** Resolves when it has ended and everything it said was handed on. */
  readonly ended: Promise<UpstreamEnd>;
}
