import { lstatSync, realpathSync } from 'node:fs';
import { request } from 'node:http';
import type { ResidentPlace } from '../../config/resident-place.ts';

/** The resident to ask. */
export interface Asked extends ResidentPlace {
  /** The file from which the asking program was started. */
  readonly program: string;
  readonly uid: number;
  /** The working directory of the asking process. */
  readonly cwd: string;
}

/** A hook call for the resident process. */
interface Question {
  /** The name of the host, as on the command line. */
  readonly client: string;
  /** The text that the host wrote to stdin. */
  readonly text: string;
  /** Settings of the call, by the names of their headers. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** After this time the caller answers the call itself. The script waits as long. */
const ANSWER_MS = 6_000;
const PROBE_MS = 2_000;

/**
 * The text that the hook must print, by the resident of the same program. Undefined if none is alive, or if it leaves
 * the call to its caller.
 */
export async function askResident(
  asked: Asked,
  { client, text, headers }: Question,
): Promise<string | undefined> {
  const answer = await inFolder(asked, () =>
    send(asked.pointer, {
      path: `/${client}`,
      headers: { ...headers, 'x-lookfirst-program': realProgram(asked.program) },
      body: Buffer.from(text),
      timeoutMs: ANSWER_MS,
    }),
  );
  return answer?.status === 200 ? answer.text : undefined;
}

/** True if a resident of the same program answers. */
export async function isResidentAlive(asked: Asked): Promise<boolean> {
  return (await inFolder(asked, () => isAliveHere(asked.pointer, realProgram(asked.program)))) === true;
}

/** True if a resident of the same program answers behind a pointer in the current folder. */
export async function isAliveHere(pointer: string, program: string): Promise<boolean> {
  const headers = { 'x-lookfirst-program': program };
  const answer = await send(pointer, { path: '/', headers, timeoutMs: PROBE_MS });
  return answer?.status === 200;
}

/** The path by which the script and the resident know a program. npm links it under other names. */
export function realProgram(program: string): string {
  return realpathSync(program);
}

/** Works in the folder of the residents, because a socket's path has at most 107 bytes. Undefined if it is not this user's. */
async function inFolder<T>({ folder, uid, cwd }: Asked, work: () => Promise<T>): Promise<T | undefined> {
  if (lstatSync(folder, { throwIfNoEntry: false })?.uid !== uid) return undefined;
  process.chdir(folder);
  try {
    return await work();
  } finally {
    process.chdir(cwd);
  }
}

interface Message {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Without a body the message is a GET. */
  readonly body?: Buffer;
  readonly timeoutMs: number;
}

/** The whole answer, or undefined if none came in time. */
function send(
  pointer: string,
  { path, headers, body, timeoutMs }: Message,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  return new Promise((resolve) => {
    const nothing = (): void => resolve(undefined);
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const method = body === undefined ? 'GET' : 'POST';
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
      outgoing.end(body);
    } catch {
      // A header cannot carry control characters, which are legal in the name of a folder.
      nothing();
    }
  });
}

/** Paths are UTF-8, and Node writes the characters of a header as Latin-1. */
function bytesOf(headers: Message['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Buffer.from(value, 'utf8').toString('latin1')]],
    ),
  );
}
