import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { onTestFinished } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { serve } from '../../src/main.ts';
import { environment, ordinaryProgram, PROGRAM } from './command-line.ts';
import type { OrdinaryUser } from './nobody.ts';
import { RawClient } from './raw-client.ts';
import type { Scratch } from './tree.ts';

/** The answer of a tool. */
export interface Answer {
  readonly ok: boolean;
  readonly text: string;
  /** The value of `_meta["dev.lookfirst/outcome"]` in the answer. */
  readonly outcome: Record<string, unknown>;
  readonly result: Record<string, unknown>;
}

/** A server under test, as a process or in this process, and a client that uses no SDK. */
export class Served {
  readonly client: RawClient;

  private constructor(client: RawClient) {
    this.client = client;
  }

  /** Starts `lookfirst serve ROOT ARGS` and initializes the connection. */
  static async start(
    places: Scratch,
    args: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Served> {
    const served = Served.launch(places, ['serve', places.root, ...args], env);
    await served.hello();
    return served;
  }

  /** Like `start`, in this process: for tests of what a server answers, not of how it starts and ends. */
  static async here(places: Scratch, args: readonly string[] = [], client = 'test'): Promise<Served> {
    const served = Served.launchHere(places, [places.root, ...args]);
    await served.hello(client);
    return served;
  }

  /** Runs `lookfirst serve ARGS` in this process. */
  static launchHere(
    places: Scratch,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Served {
    return new Served(new RawClient([], {}, servingHere(places, args, { env })));
  }

  /** Runs `lookfirst proxy ARGS` in this process, and initializes the connection. */
  static async proxyHere(places: Scratch, args: readonly string[]): Promise<Served> {
    const served = new Served(new RawClient([], {}, proxyingHere(places, args)));
    await served.hello();
    return served;
  }

  /** Runs a program that starts a server, and returns a client of that server. */
  static through(
    program: string,
    args: readonly string[],
    options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
  ): Served {
    return new Served(new RawClient(args, { program, ...options }));
  }

  /** Starts the built program with these arguments, as a process. */
  static launch(
    places: Scratch,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    user: OrdinaryUser = {},
  ): Served {
    const [program = '', ...first] = user.uid === undefined ? PROGRAM : ordinaryProgram();
    const around = { env: environment(places, env), cwd: places.base };
    return new Served(new RawClient([...first, ...args], { program, ...around, ...user }));
  }

  async hello(name = 'test'): Promise<Record<string, unknown>> {
    const { result = {} } = await this.client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name, version: '1' },
    });
    this.client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return result;
  }

  async call(name: string, args: object = {}, meta?: object): Promise<Answer> {
    const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
    const { result, error } = await this.client.request('tools/call', params);
    if (result === undefined) throw new Error(`${name}: ${error?.message}`);
    return answerIn(result);
  }

  async tools(): Promise<Record<string, unknown>[]> {
    const { result } = await this.client.request('tools/list');
    return (result?.['tools'] ?? []) as Record<string, unknown>[];
  }

  /** Ends the input, waits until the process has ended, and returns its exit code. */
  async stop(): Promise<unknown> {
    this.client.child.stdin.end();
    return (await this.client.exit()).code;
  }
}

/** A tool's answer, from the result of a call. */
export function answerIn(result: Record<string, unknown>): Answer {
  const blocks = (result['content'] ?? []) as { text?: string }[];
  const outcome =
    ((result['_meta'] ?? {}) as Record<string, Record<string, unknown>>)['dev.lookfirst/outcome'] ?? {};
  return {
    ok: result['isError'] !== true,
    text: blocks.map((block) => block.text ?? '').join('\n'),
    outcome,
    result,
  };
}

/**
 * Runs `lookfirst proxy` over stdio in this process. Returns an object that has the streams and the
 * `close` event of a child process.
 */
function proxyingHere(places: Scratch, args: readonly string[]): ChildProcessWithoutNullStreams {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const child = Object.assign(new EventEmitter(), streams, { kill: () => streams.stdin.end() });
  void runHere(places, ['proxy', ...args], {
    streams,
    runProxy: async (plan) => (await import('../../src/proxy/open-proxy.ts')).openProxy(plan, streams),
  }).then((code) => child.emit('close', code, null));
  // The client uses only the parts of a child process that `child` has.
  return child as unknown as ChildProcessWithoutNullStreams;
}

interface ServerPlaces {
  readonly env?: Readonly<Record<string, string>>;
  /** The current folder of the server; default: the parent of the workspace. */
  readonly cwd?: string;
}

/**
 * The connection of an official client to a server in this process, until the test ends. A client
 * over stdio reads and writes the same kind of lines as a server, so the server's transport also
 * works for a client.
 */
export function connectionHere(
  places: Scratch,
  args: readonly string[],
  around: ServerPlaces = {},
): StdioServerTransport {
  const server = servingHere(places, args, around);
  const { stdin, stdout, stderr } = server;
  stderr.resume();
  const ended = once(server, 'close');
  onTestFinished(async () => {
    stdin.end();
    await ended;
  });
  return new StdioServerTransport(stdout, stdin);
}

/**
 * Runs `lookfirst serve` in this process. Returns an object that has the streams and the `close`
 * event of a child process.
 */
function servingHere(
  places: Scratch,
  args: readonly string[],
  around: ServerPlaces,
): ChildProcessWithoutNullStreams {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const signals = new EventEmitter();
  // A server over stdio ends when its input ends, a server over HTTP when it gets a signal.
  const kill = (): void => {
    streams.stdin.end();
    signals.emit('SIGTERM');
  };
  const child = Object.assign(new EventEmitter(), streams, { kill });
  void runHere(places, ['serve', ...args], {
    streams,
    ...around,
    runServer: (plan) => serve(plan, { input: streams.stdin, output: streams.stdout, signals }),
  }).then((code) => child.emit('close', code, null));
  // The client uses only the parts of a child process that `child` has.
  return child as unknown as ChildProcessWithoutNullStreams;
}

type CliOptions = Parameters<typeof runCli>[0];

/** Runs a command line in this process that serves over `streams`. */
function runHere(
  places: Scratch,
  args: readonly string[],
  {
    streams,
    env,
    cwd = places.base,
    ...servers
  }: Pick<CliOptions, 'streams'> & Partial<Pick<CliOptions, 'runServer' | 'runProxy'>> & ServerPlaces,
): Promise<number> {
  const elsewhere = () => Promise.reject(new Error('runs as a process'));
  return runCli({
    args,
    streams,
    env: environment(places, env),
    cwd,
    platform: process.platform,
    homeFolder: places.base,
    self: [process.execPath, PROGRAM[1] ?? ''],
    ...{ runServer: elsewhere, runProxy: elsewhere, runViewer: elsewhere },
    ...servers,
  });
}
