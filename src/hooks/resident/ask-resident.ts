import { lstatSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { makeStateSubfolder, type ResidentPlace } from '../../config/resident-place.ts';
import { isMissing, isTaken } from '../../model/fault.ts';
import { isRecord, parseJson } from '../../model/record.ts';
import { type HookAnswer, SILENT } from '../event.ts';

/**
 * The place of the resident (the background process that answers hook calls), and the process that
 * calls it.
 */
export interface Asked extends ResidentPlace {
  /** The file from which the calling program was started. */
  readonly program: string;
  readonly uid: number;
  /** The working directory of the calling process. */
  readonly cwd: string;
}

/** A hook call for the resident process. In the process itself, its fields are not checked yet. */
export interface ResidentCall {
  /** The name of the client that made the hook call, as in `lookfirst hook NAME`. */
  readonly client: string;
  /** The text that the client wrote to stdin. */
  readonly text: string;
  /** Settings of the call, by header name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** In the resident process: the name of its socket, for more calls to the same process. */
  readonly socket?: string;
}

/**
 * If the resident process has not answered after this time, the caller answers the call itself. The
 * hook script waits for the same time.
 */
const ANSWER_MS = 6_000;
const PROBE_MS = 2_000;

/**
 * Sends a hook call to the resident of the same program and returns its answer. Undefined if no
 * resident answers, or if the caller must answer the call itself.
 */
export async function askResident(
  asked: Asked,
  { client, text, headers }: ResidentCall,
): Promise<HookAnswer | undefined> {
  const sent = { ...headers, 'x-lookfirst-program': realProgram(asked.program) };
  const answer = await inFolder(asked, () => send(asked.pointer, { client, text, headers: sent }));
  if (answer?.status === 200) return { ...SILENT, stdout: answer.text };
  return answer?.status === 422 ? denialIn(answer.text) : undefined;
}

/**
 * The denial in the body of an answer. If the resident could not handle the call, the body is empty
 * and the result undefined. The caller then answers the call itself.
 */
function denialIn(body: string): HookAnswer | undefined {
  const value = parseJson(body);
  if (!isRecord(value)) return undefined;
  const { stdout, stderr } = value;
  if (typeof stdout !== 'string' || typeof stderr !== 'string') return undefined;
  return { stdout, stderr, exitCode: 2 };
}

/** True if a resident process of the same program answers. */
export async function isResidentAlive(asked: Asked): Promise<boolean> {
  return (await inFolder(asked, () => isAliveHere(asked.pointer, realProgram(asked.program)))) === true;
}

/**
 * True if a resident of the same program answers through `pointer`, a link in the current folder
 * that leads to its socket.
 */
export async function isAliveHere(pointer: string, program: string): Promise<boolean> {
  const headers = { 'x-lookfirst-program': program };
  return (await send(pointer, { headers }))?.status === 200;
}

/** If a resident process has not answered for this long after its start, the start has failed. */
const START_MS = 10_000;
/**
 * Name of the file that exists while a resident starts. The file contains the id of the new
 * process.
 */
const STARTING = 'starting';

/**
 * Starts a resident process by calling `start`, unless another caller is doing so. `start` returns
 * the process id.
 */
export function startOnce({ folder }: ResidentPlace, start: () => number | undefined): void {
  const path = join(folder, STARTING);
  makeStateSubfolder(folder);
  try {
    writeFileSync(path, '', { flag: 'wx' });
  } catch (error) {
    if (!isTaken(error)) throw error;
    if (isStarting(path)) return;
  }
  writeFileSync(path, String(start() ?? ''));
}

function isStarting(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || Math.abs(Date.now() - stats.mtimeMs) > START_MS) return false;
  const pid = readFileSync(path, 'utf8');
  // An empty file means that the caller that created it has not started the process yet.
  return pid === '' || isRunning(pid);
}

/** True while a process runs. False for a killed process whose exit status no process has collected. */
function isRunning(pid: string): boolean {
  try {
    process.kill(Number(pid), 0);
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch (error) {
    // A missing file can only be /proc/PID/stat, which macOS does not have. `kill` has then found
    // the process, so it runs.
    return isMissing(error);
  }
}

/** Removes the file `starting`, because a resident answers now or its start has failed. */
export function endStart(): void {
  rmSync(STARTING, { force: true });
}

/**
 * The path of the program without links. The hook script and the resident compare programs by this
 * path, because npm installs links with other names.
 */
export function realProgram(program: string): string {
  return realpathSync(program);
}

/**
 * Runs `work` in the folder that contains the sockets of resident processes, because the path of a
 * socket has at most 107 bytes. Undefined if the folder does not belong to this user.
 */
async function inFolder<T>({ folder, uid, cwd }: Asked, work: () => Promise<T>): Promise<T | undefined> {
  if (lstatSync(folder, { throwIfNoEntry: false })?.uid !== uid) return undefined;
  process.chdir(folder);
  try {
    return await work();
  } finally {
    process.chdir(cwd);
  }
}

/**
 * Sends a call, or without a client only the headers, and returns the whole answer. Undefined if no
 * answer came in time, or if the request failed.
 */
function send(
  pointer: string,
  { client, text, headers }: Partial<ResidentCall> & Pick<ResidentCall, 'headers'>,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  return new Promise((resolve) => {
    const nothing = (): void => resolve(undefined);
    try {
      const signal = AbortSignal.timeout(client === undefined ? PROBE_MS : ANSWER_MS);
      const method = client === undefined ? 'GET' : 'POST';
      const path = `/${client ?? ''}`;
      const outgoing = request({ socketPath: pointer, path, method, headers: bytesOf(headers), signal });
      outgoing.on('error', nothing);
      outgoing.on('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', nothing);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') }),
        );
      });
      outgoing.end(text);
    } catch {
      // `request` throws if a folder's name contains control characters, which a header cannot
      // carry.
      nothing();
    }
  });
}

/**
 * The headers without undefined values, with one character for each UTF-8 byte, because Node writes
 * each character as one Latin-1 byte.
 */
function bytesOf(headers: ResidentCall['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Buffer.from(value, 'utf8').toString('latin1')]],
    ),
  );
}
