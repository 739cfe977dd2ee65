import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { errnoOf, Fault } from '../model/fault.ts';
import { LineReader, LineWriter } from '../wire/line-streams.ts';
import type { Upstream, UpstreamChoice, UpstreamEnd, UpstreamEvents } from './upstream.ts';

interface StdioUpstreamOptions extends Pick<UpstreamChoice, 'args' | 'cwd' | 'env' | 'graceMs'> {
  readonly command: string;
  readonly maxBytes: number;
  /** The destination of the server's standard error. */
  readonly stderr: Writable;
}

/**
 * After the end of its input, a server with unanswered requests gets this much time before the
 * first signal.
 */
const BUSY_LIMIT_MS = 10_000;
const LADDER: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGKILL'];

/**
 * A server started as a child process, without a shell. It gets our whole environment, unless the
 * option `env` replaces it. It leads its own process group, so that its child processes end with
 * it.
 */
export class StdioUpstream implements Upstream {
  readonly ended: Promise<UpstreamEnd>;
  readonly #options: StdioUpstreamOptions;
  readonly #graceMs: number;
  #child: ChildProcess | undefined;
  #writer: LineWriter | undefined;
  #reader: LineReader | undefined;
  #lastHeard = Date.now();
  #timer: NodeJS.Timeout | undefined;
  #resolve: (end: UpstreamEnd) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(options: StdioUpstreamOptions) {
    this.#options = options;
    this.#graceMs = options.graceMs ?? 1000;
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  open(events: UpstreamEvents): void {
    const { command, args = [], cwd, env = process.env, stderr } = this.#options;
    const inherits = stderr === process.stderr;
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ['pipe', 'pipe', inherits ? 'inherit' : 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    this.#child = child;
    child.on('error', (cause) => {
      // Node reports ENOENT for a missing program and for a missing working directory.
      const folder = cwd === undefined ? '' : `, or no folder ${cwd}`;
      const reasons: Readonly<Record<string, string>> = {
        ENOENT: `there is no program ${command}${folder}`,
        EACCES: `this user may not run ${command}; chmod +x it if it is a program`,
      };
      const why = reasons[errnoOf(cause) ?? ''] ?? cause.message;
      this.#reject(new Fault('CONFIG_INVALID', `the server cannot be started: ${why}`, { cause }));
    });
    const { stdin, stdout } = child;
    if (stdin === null || stdout === null) return;
    if (!inherits) child.stderr?.pipe(stderr, { end: false });
    this.#writer = new LineWriter(stdin);
    const silent = this.#read(stdout, events);
    const endGroup = (): void => this.#signalGroup('SIGKILL');
    process.once('exit', endGroup);
    child.once('exit', (code, signal) => {
      clearTimeout(this.#timer);
      // End the other processes of the server's group, which may still hold our pipe open.
      this.#climb(LADDER);
      void silent.then(() => {
        clearTimeout(this.#timer);
        process.removeListener('exit', endGroup);
        this.#signalGroup('SIGKILL');
        this.#resolve({ code, signal });
      });
    });
  }

  send(line: Buffer): void {
    this.#writer?.write(line);
  }

  get full(): boolean {
    return this.#writer?.full ?? false;
  }

  whenDrained(then: () => void): void {
    if (this.#writer === undefined) then();
    else this.#writer.whenDrained(then);
  }

  pause(): void {
    this.#reader?.pause();
  }

  resume(): void {
    this.#reader?.resume();
  }

  close(busy: () => boolean): void {
    this.#writer?.end();
    const started = Date.now();
    this.#lastHeard = started;
    const look = (): void => {
      const now = Date.now();
      const quiet = now - this.#lastHeard >= this.#graceMs;
      if (quiet && (!busy() || now - started >= BUSY_LIMIT_MS)) this.#climb(LADDER);
      else this.#timer = setTimeout(look, Math.min(this.#graceMs, 100));
    };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(look, this.#graceMs);
  }

  stop(signal: NodeJS.Signals): void {
    this.#writer?.end();
    this.#climb([signal, ...LADDER.filter((next) => next !== signal)]);
  }

  #read(stdout: Readable, events: UpstreamEvents): Promise<void> {
    stdout.on('data', () => {
      this.#lastHeard = Date.now();
    });
    return new Promise((resolve) => {
      this.#reader = new LineReader(stdout, {
        maxBytes: this.#options.maxBytes,
        onLine: (line) => events.onLine(line),
        onTooLong: () => {
          events.log(
            `the server sent a message of over ${this.#options.maxBytes} bytes, so the proxy stops it`,
          );
          this.stop('SIGTERM');
        },
        onEnd: resolve,
      });
    });
  }

  /** Sends the signals one after the other, with time to react to each. */
  #climb(signals: readonly NodeJS.Signals[]): void {
    clearTimeout(this.#timer);
    const [first, ...rest] = signals;
    if (first === undefined) return;
    this.#signalGroup(first);
    this.#timer = setTimeout(() => this.#climb(rest), this.#graceMs);
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      if (process.platform === 'win32') this.#child?.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // Ignore the error: the group has already ended.
    }
  }
}
