import { randomBytes } from 'node:crypto';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { Fault } from '../model/fault.ts';
import type { JsonRecord } from '../model/record.ts';
import { defined } from '../model/record.ts';
import type { HostSession } from '../session/gated-session.ts';
import { Sessions } from '../session/sessions.ts';
import type { ProxyPlan } from '../tools/proxy-plan.ts';
import { released, SessionPool, sessionSelector, subAgentChoice } from '../tools/session-choice.ts';
import { EndSignals } from '../wire/end-signals.ts';
import { holdBack, LineReader, LineWriter, MAX_MESSAGE_BYTES } from '../wire/line-streams.ts';
import { errorLine, INVALID_REQUEST } from '../wire/rpc.ts';
import { type GateOptions, gateFor } from './gate-settings.ts';
import { Pump } from './pump.ts';
import type { Upstream, UpstreamChoice, UpstreamEnd } from './upstream.ts';
import { upstreamFor } from './upstream-for.ts';

/**
 * Opens a workspace and runs the proxy over it until the client or the server ends. Resolves to the
 * exit code.
 */
export async function openProxy(options: ProxyPlan, streams: ProxyStreams = process): Promise<number> {
  const sessions = await Sessions.open(options.workspace);
  try {
    options.opened(sessions);
    const gate = gateOf(options, sessions);
    if (options.http !== undefined) return await serve(options.http, gate);
    const { stdin, stdout, stderr } = streams;
    return await runProxy({ ...gate, stdin, stdout, stderr });
  } finally {
    await sessions.close();
  }
}

type Gate = GateOptions & {
  readonly command?: string;
  readonly args: readonly string[];
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
};

function gateOf(options: ProxyPlan, sessions: Sessions): Gate {
  const { url, headers, unknownTools, tables } = options;
  const [command, ...args] = options.command;
  const { policy, workspace } = sessions.world;
  return {
    ...defined({ command, url }),
    args,
    headers,
    unknownTools,
    tables,
    session: sessionChooser(options, sessions),
    wording: policy.preset,
    quotes: policy.quotes,
    readOnly: policy.readOnly,
    root: workspace.roots[0] ?? '',
  };
}

async function serve(
  { port, token, listening }: NonNullable<ProxyPlan['http']>,
  gate: Gate,
): Promise<number> {
  const { serveProxy } = await import('./front-http.ts');
  const used = token ?? randomBytes(24).toString('base64url');
  const front = await serveProxy({
    ...gate,
    ...(port === undefined ? {} : { port }),
    token: used,
    stderr: process.stderr,
  });
  listening({ url: front.url, token: used });
  const signals = new EndSignals(process);
  await signals.first;
  await front.close();
  signals.close();
  return 0;
}

/** Chooses one session per conversation, as Lookfirst's own MCP server does. */
function sessionChooser(
  options: ProxyPlan,
  sessions: Sessions,
): (meta: JsonRecord, sessionHint?: string) => Promise<HostSession> {
  const pool = new SessionPool(sessions);
  // HTTP clients did not start this process, so its environment does not describe them. Only
  // LOOKFIRST_SESSION may choose their session.
  const env =
    options.http === undefined ? options.env : { LOOKFIRST_SESSION: options.env['LOOKFIRST_SESSION'] };
  const nameless = options.http === undefined ? 'process' : 'call';
  const select = sessionSelector({ session: options.session, env, nameless });
  return async (meta, sessionHint) => {
    const named = select({ meta, sessionHint });
    const choice = (await subAgentChoice(sessions.world.store, named, meta)) ?? named;
    if (choice.kind === 'invalid') throw new Fault('MISUSE', choice.reason);
    const lease = pool.lease(choice);
    return (await lease.session).forHost(() => void released(lease));
  };
}

/** The streams of a proxy over stdio. */
interface ProxyStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Options for the proxy in front of one server, for one client. */
export interface ProxyOptions extends GateOptions, UpstreamChoice, ProxyStreams {
  readonly maxLineBytes?: number;
  /**
   * Signals that end the proxy and are forwarded to the server. Default: the signals with which
   * clients usually end a server.
   */
  readonly signals?: readonly NodeJS.Signals[];
}

/**
 * Runs the gate in front of a server until the client or the server ends. Resolves to the exit
 * code: the server's own, or 128 plus the number of its signal. Rejects if the server cannot be
 * started.
 */
export async function runProxy(options: ProxyOptions): Promise<number> {
  const log = (text: string): void => void options.stderr.write(`lookfirst: ${text}\n`);
  const upstream = upstreamFor(options, options.maxLineBytes ?? MAX_MESSAGE_BYTES);
  const client = new LineWriter(options.stdout);
  const toClient = (line: Buffer): true => {
    client.write(line);
    return true;
  };
  const pump = new Pump({ toUpstream: (line) => upstream.send(line), toClient }, gateFor(options, log));
  const arriving = new ArrivingAnswers(pump, () => holdBack(upstream, client));
  upstream.open({
    onLine: (line) => arriving.take(() => pump.fromUpstream(line)),
    log,
  });
  const reader = readClient(options, { upstream, client, pump });
  const unhook = passSignals(options, upstream);
  try {
    const end = await upstream.ended;
    arriving.passAll();
    await pump.close();
    const isOwnFailure = end.code !== null && end.code !== 0 && !options.stdin.readableEnded;
    if (isOwnFailure)
      log(`the server ended with exit code ${end.code}; run its command alone to see why [IO_FAILED]`);
    return codeOf(end);
  } finally {
    unhook();
    reader.pause();
    await client.flushed();
  }
}

/**
 * Delays the server's answers until every client message that arrived earlier is handled, so that
 * recorded times follow the order of arrival. Node may read the two pipes in any order. So an
 * answer waits for two immediates, between which Node polls both pipes again.
 */
class ArrivingAnswers {
  readonly #pump: Pick<Pump, 'listens'>;
  readonly #passed: () => void;
  #waiting: (() => void)[] = [];

  constructor(pump: Pick<Pump, 'listens'>, passed: () => void) {
    this.#pump = pump;
    this.#passed = passed;
  }

  take(pass: () => void): void {
    const isFirst = this.#waiting.push(pass) === 1;
    if (isFirst && !this.#pump.listens) this.passAll();
    else if (isFirst) setImmediate(() => setImmediate(() => this.passAll()));
  }

  passAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const pass of waiting) pass();
    if (waiting.length > 0) this.#passed();
  }
}

function readClient(
  options: ProxyOptions,
  ends: { readonly upstream: Upstream; readonly client: LineWriter; readonly pump: Pump },
): LineReader {
  const { upstream, client, pump } = ends;
  const maxBytes = options.maxLineBytes ?? MAX_MESSAGE_BYTES;
  // Close the server only after all received input has been passed to it.
  const leave = (): void => void pump.idle().then(() => upstream.close(() => pump.unanswered > 0));
  options.stdout.once('close', leave);
  const reader: LineReader = new LineReader(options.stdin, {
    maxBytes,
    onLine: (line) => {
      pump.fromClient(line);
      holdBack(reader, upstream);
    },
    onTooLong: () =>
      client.write(errorLine('null', INVALID_REQUEST, `a message may have at most ${maxBytes} bytes`)),
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
