import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { Fault } from '../model/fault.ts';
import { type GateOptions, gateFor } from './gate-options.ts';
import { holdBack, LineReader, LineWriter, MAX_LINE_BYTES } from './lines.ts';
import { Pump } from './pump.ts';
import { Relay } from './relay.ts';
import { errorLine, INVALID_REQUEST } from './rpc.ts';
import type { Upstream, UpstreamEnd } from './upstream.ts';
import { HttpUpstream } from './upstream-http.ts';
import { StdioUpstream } from './upstream-stdio.ts';

/** What runs in front of one server for one client. */
export interface ProxyOptions extends GateOptions {
  readonly command?: string;
  readonly args?: readonly string[];
  /** Instead of a command: the address of a Streamable HTTP server that sees the same files as we do. */
  readonly url?: string;
  /** Sent with every request to `url`, such as its authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly maxLineBytes?: number;
  /** How long the server has to end by itself; default 1 s. */
  readonly graceMs?: number;
  /** Signals that end the proxy are passed on to the server; default: those a client sends. */
  readonly signals?: readonly NodeJS.Signals[];
}

/**
 * Puts the gate in front of a server until either side ends; resolves to the exit code to end with: the server's own,
 * 128 and its number for a signal. Rejects with what kept the server from starting.
 */
export async function runProxy(options: ProxyOptions): Promise<number> {
  const log = (text: string): void => void options.stderr.write(`lookfirst: ${text}\n`);
  const upstream = upstreamFor(options);
  const client = new LineWriter(options.stdout);
  const pump = new Pump(
    { toUpstream: (line) => upstream.send(line), toClient: (line) => client.write(line) },
    gateFor(options, log),
  );
  const relay = new Relay(pump, client, {
    maxBytes: options.maxLineBytes ?? MAX_LINE_BYTES,
    onTooLong: () => {
      log('the server sent a message that is too long; ending it');
      upstream.stop('SIGTERM');
    },
  });
  upstream.open({
    onLine: (line) => {
      pump.fromUpstream(line);
      holdBack(upstream, client);
    },
    onBytes: (chunk) => {
      relay.push(chunk);
      holdBack(upstream, client);
    },
    log,
  });
  const reader = readClient(options, { upstream, client, pump });
  const unhook = passSignals(options, upstream);
  try {
    const end = await upstream.ended;
    await pump.close();
    return codeOf(end);
  } finally {
    unhook();
    reader.pause();
    await client.flushed();
  }
}

function upstreamFor(options: ProxyOptions): Upstream {
  const { command, args = [], url, cwd, env, graceMs, stderr, maxLineBytes = MAX_LINE_BYTES } = options;
  if (url !== undefined)
    return new HttpUpstream({ url, headers: options.headers ?? {}, maxBytes: maxLineBytes });
  if (command === undefined) throw new Fault('MISUSE', 'the proxy needs a command or an address');
  return new StdioUpstream({
    command,
    args,
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...(graceMs === undefined ? {} : { graceMs }),
    maxLineBytes,
    stderr: stderr === process.stderr ? 'inherit' : stderr,
  });
}

function readClient(
  options: ProxyOptions,
  ends: { readonly upstream: Upstream; readonly client: LineWriter; readonly pump: Pump },
): LineReader {
  const { upstream, client, pump } = ends;
  const maxBytes = options.maxLineBytes ?? MAX_LINE_BYTES;
  // What came before the end of the input still has to reach the server.
  const leave = (): void => void pump.idle().then(() => upstream.close(() => pump.unanswered > 0));
  options.stdout.once('close', leave);
  const reader: LineReader = new LineReader(options.stdin, {
    maxBytes,
    onLine: (line) => {
      pump.fromClient(line);
      holdBack(reader, upstream);
    },
    onTooLong: () =>
      client.write(errorLine('null', INVALID_REQUEST, `a message may have ${maxBytes} bytes at most`)),
    onEnd: leave,
  });
  return reader;
}

function passSignals(options: ProxyOptions, upstream: Upstream): () => void {
  const signals = options.signals ?? (['SIGINT', 'SIGTERM', 'SIGHUP'] as const);
  const stop = (signal: NodeJS.Signals): void => upstream.stop(signal);
  for (const signal of signals) process.on(signal, stop);
  return () => {
    for (const signal of signals) process.removeListener(signal, stop);
  };
}

function codeOf(end: UpstreamEnd): number {
  if (end.code !== null) return end.code;
  return end.signal === null ? 1 : 128 + constants.signals[end.signal];
}
