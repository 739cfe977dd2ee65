import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, lstatSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { makeStateSubfolder, type ResidentPlace } from '../../config/resident-place.ts';
import { errnoOf } from '../../model/fault.ts';
import { readBody } from '../../wire/http.ts';
import type { HookAnswer } from '../event.ts';
import { endStart, isAliveHere, type ResidentCall } from './ask-resident.ts';

interface ResidentOptions {
  readonly place: ResidentPlace;
  /**
   * The file from which this program was started. Calls for another program are refused, and a
   * changed file ends the resident.
   */
  readonly program: string;
  readonly idleMs: number;
  /** The interval at which the resident process checks whether it must end; see `runResident`. */
  readonly checkMs: number;
  /** Undefined if the caller must do without this process. */
  answer(call: ResidentCall): Promise<HookAnswer | undefined>;
  /** True while programs run that will call this process, and no other, when they end. */
  isBusy(): boolean;
}

/**
 * Maximum size of a call, so that the resident does not run out of memory. The caller answers
 * larger calls itself.
 */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** A resident that ends waits this long between two checks whether it has done its work. */
const DRAIN_MS = 100;

/**
 * Answers hook calls over a Unix socket. Ends when no call has come for `idleMs`, when another
 * process replaces this one, or when the program file changes. Returns immediately if another
 * resident process of the same program is alive. Changes the working directory of the process.
 */
export async function runResident(options: ResidentOptions): Promise<'yielded' | 'ended'> {
  const { place, program } = options;
  makeStateSubfolder(place.folder);
  chmodSync(place.folder, 0o700);
  process.chdir(place.folder);
  const version = versionOf(program);
  const socket = `r-${process.pid}-${randomBytes(4).toString('hex')}.sock`;
  const calls: Calls = { underWay: 0, lastMs: Date.now() };
  const server = createServer(async (incoming, outgoing) => {
    calls.underWay += 1;
    await serve({ ...options, socket }, incoming, outgoing);
    calls.underWay -= 1;
    calls.lastMs = Date.now();
  });
  await once(server.listen(socket), 'listening');
  chmodSync(socket, 0o600);
  if (await isAliveHere(place.pointer, program)) {
    await close(server, socket);
    endStart();
    return 'yielded';
  }
  publish(place.pointer, socket);
  endStart();
  await removeDeadSockets();
  await untilOver(options, { calls, socket, version });
  retract(place.pointer, socket);
  while (calls.underWay > 0 || options.isBusy()) await setTimeout(DRAIN_MS);
  await close(server, socket);
  return 'ended';
}

/** The number of calls that are being answered, and when the last answer was given. */
interface Calls {
  underWay: number;
  lastMs: number;
}

async function serve(
  options: ResidentOptions & { readonly socket: string },
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  try {
    const headers = headersOf(incoming);
    if (headers['x-lookfirst-program'] !== options.program) {
      outgoing.writeHead(409).end();
      return;
    }
    if (incoming.method === 'GET') {
      outgoing.writeHead(200).end();
      return;
    }
    const body = await readBody(incoming, MAX_BODY_BYTES);
    if (body === undefined) throw new Error('the call is too large');
    const text = body.toString('utf8');
    const { socket } = options;
    const answer = await options.answer({ client: (incoming.url ?? '/').slice(1), text, headers, socket });
    if (answer === undefined) {
      outgoing.writeHead(409).end();
      return;
    }
    const { status, text: output } = sent(answer);
    const bytes = Buffer.from(output);
    outgoing.writeHead(status, { 'content-length': bytes.length }).end(bytes);
  } catch (error) {
    process.stderr.write(`lookfirst: hook call failed: ${String(error)}\n`);
    if (!outgoing.headersSent) outgoing.writeHead(500);
    outgoing.end();
  }
}

/**
 * The HTTP status and body for an answer. The hook script can only print a body to stdout. If the
 * answer also needs stderr or an exit code, the status is 422: the script then starts Node, which
 * answers the call again. A caller that already runs in Node takes a denial from the body instead,
 * so that the call is not judged twice.
 */
function sent(answer: HookAnswer): { readonly status: number; readonly text: string } {
  const { stdout, stderr, exitCode } = answer;
  if (exitCode === 0 && stderr === '') return { status: 200, text: stdout };
  return { status: 422, text: isVerdict(answer) ? JSON.stringify(answer) : '' };
}

/** True for a denial that the host reads on stdout. After a failure of Lookfirst, stdout is empty. */
function isVerdict({ stdout, exitCode }: HookAnswer): boolean {
  return exitCode === 2 && stdout !== '';
}

function headersOf(incoming: IncomingMessage): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    // Node decodes header bytes as Latin-1, but paths in them are UTF-8.
    if (typeof value === 'string') headers[name] = Buffer.from(value, 'latin1').toString('utf8');
  }
  return headers;
}

async function close(server: Server, socket: string): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  await closed;
  rmSync(socket, { force: true });
}

/** Sockets younger than this are not removed, because their resident may not listen yet. */
const MIN_SOCKET_AGE_MS = 60_000;

/** Removes the sockets that killed residents have left in the current folder. */
async function removeDeadSockets(): Promise<void> {
  const now = Date.now();
  for (const name of readdirSync('.')) {
    const stats = /^r-.*\.sock/.test(name) ? lstatSync(name, { throwIfNoEntry: false }) : undefined;
    if (stats === undefined || stats.mtimeMs > now - MIN_SOCKET_AGE_MS) continue;
    if (stats.isSymbolicLink() || (await refuses(name))) rmSync(name, { force: true });
  }
}

/** True if no process listens on a socket. */
function refuses(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socket, () => {
      probe.destroy();
      resolve(false);
    });
    probe.on('error', (error) => resolve(errnoOf(error) === 'ECONNREFUSED'));
  });
}

/** Publishes the socket in one step: callers always find the former resident or this one. */
function publish(pointer: string, socket: string): void {
  const temporary = `${socket}.pointer`;
  symlinkSync(socket, temporary);
  renameSync(temporary, pointer);
}

function retract(pointer: string, socket: string): void {
  if (targetOf(pointer) === socket) rmSync(pointer, { force: true });
}

function targetOf(pointer: string): string | undefined {
  try {
    return readlinkSync(pointer);
  } catch {
    return undefined;
  }
}

/**
 * Resolves when the resident has been idle for `idleMs`, when another resident has replaced it, or
 * when its program file has changed.
 */
async function untilOver(
  { place, program, idleMs, checkMs, isBusy }: ResidentOptions,
  { calls, socket, version }: { readonly calls: Calls; readonly socket: string; readonly version: string },
): Promise<void> {
  do await setTimeout(checkMs);
  while (
    (isBusy() || calls.underWay > 0 || Date.now() - calls.lastMs < idleMs) &&
    targetOf(place.pointer) === socket &&
    versionOf(program) === version
  );
}

/** A text that changes when an upgrade replaces the program file. */
function versionOf(program: string): string {
  try {
    const { ino, size, mtimeMs } = lstatSync(program);
    return `${ino}:${size}:${mtimeMs}`;
  } catch {
    return 'gone';
  }
}
