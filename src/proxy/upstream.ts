/** The way an upstream ended: with an exit code, or by a signal. */
export interface UpstreamEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Callbacks of an upstream. */
export interface UpstreamEvents {
  onLine(line: Buffer): void;
  log(text: string): void;
}

/** The server behind the proxy. */
export interface Upstream {
  /** Starts the upstream; called once, before anything else. */
  open(events: UpstreamEvents): void;
  send(line: Buffer): void;
  /** True while the upstream does not keep up with its input. */
  readonly full: boolean;
  whenDrained(then: () => void): void;
  /** Pauses reading the upstream's output; `resume` continues. */
  pause(): void;
  resume(): void;
  /** Ends the upstream's input and lets it finish. `busy` returns true while an answer is missing. */
  close(busy: () => boolean): void;
  /** Forwards a signal, and ensures that the upstream ends. */
  stop(signal: NodeJS.Signals): void;
  /** Resolves when the upstream has ended and all of its output was delivered. */
  readonly ended: Promise<UpstreamEnd>;
}

/** The server behind the gate: a command to start, or a URL. */
export interface UpstreamChoice {
  readonly command?: string;
  readonly args?: readonly string[];
  /** Instead of a command: the URL of a Streamable HTTP server that sees the same files as we do. */
  readonly url?: string;
  /** Headers sent with every request to `url`, such as its authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Time for the server to end by itself before it gets a signal; default 1 s. */
  readonly graceMs?: number;
}
