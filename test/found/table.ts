import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { environment, lookfirst, PROGRAM, type Ran, type RunOptions } from '../support/command-line.ts';
import { type Answer, Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

/**
 * A workspace with a server, and functions that call the server or run `lookfirst` commands there.
 */
export interface Table extends Scratch {
  readonly server: Served;
  call(tool: string, args?: object): Promise<Answer>;
  /** Another server process on the same workspace and state. */
  another(args?: readonly string[], env?: Readonly<Record<string, string>>): Promise<Served>;
  run(args: readonly string[], options?: RunOptions): Promise<Ran>;
  path(name: string): string;
  /** Writes a file from outside, as an editor would. */
  put(name: string, content: string | Uint8Array): void;
  text(name: string): string;
}

export interface Setting {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly policy?: object;
}

/**
 * Makes the files and starts a server on them: as a process of the built program if `env` is given,
 * otherwise in this process.
 */
export async function table(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  { args = [], env = {}, policy }: Setting = {},
): Promise<Table> {
  const places = prepared(files, policy);
  const isPlain = Object.keys(env).length === 0;
  const server = await (isPlain ? Served.here(places, args) : Served.start(places, args, env));
  return {
    ...places,
    server,
    call: (tool, given) => server.call(tool, given),
    another: (more = [], also = {}) => Served.start(places, more, also),
  };
}

/** A workspace without a server. */
export function prepared(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  policy?: object,
): Omit<Table, 'server' | 'call' | 'another'> {
  const places = scratch();
  const path = (name: string): string => join(places.root, name);
  const put = (name: string, content: string | Uint8Array): void => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), content);
  };
  for (const [name, content] of Object.entries(files)) put(name, content);
  if (policy !== undefined) writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify(policy));
  return {
    ...places,
    path,
    put,
    text: (name) => readFileSync(path(name), 'utf8'),
    run: (given, options) => lookfirst(places, given, options),
  };
}

/** Starts a server through a shell script, in which `"$@"` is the command of the server. */
export async function within(places: Scratch, script: string): Promise<Served> {
  const command = ['-c', script, 'sh', ...PROGRAM, 'serve', places.root];
  const served = Served.through('/bin/sh', command, { env: environment(places), cwd: places.base });
  await served.hello();
  return served;
}

const mount = (folder: string): string =>
  `exec unshare -Urm sh -c 'mount -t tmpfs -o size=8m lookfirst-test "${folder}" && exec "$@"' sh "$@"`;

/** True if this user may mount a small disk. */
export const CAN_MOUNT: boolean =
  spawnSync('sh', ['-c', mount('/mnt'), 'sh', 'true'], { stdio: 'ignore' }).status === 0;

/**
 * Starts a server for which `folder` is a disk of 8 MB. `disk` is the path at which the test
 * reaches that disk.
 */
export async function withSmallDisk(
  places: Scratch,
  folder: string,
): Promise<{ server: Served; disk: string; fill(except: number): void }> {
  const server = await within(places, mount(folder));
  // Only the server sees the mounted disk. Other processes reach it through the server's entry in
  // /proc.
  const disk = join('/proc', String(server.client.child.pid), 'root', folder);
  const fill = (except: number): void => {
    const { bavail, bsize } = statfsSync(disk);
    try {
      writeFileSync(join(disk, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - except)));
    } catch {
      // Ignore that too little space was left: the disk is full, as it should be.
    }
  };
  return { server, disk, fill };
}

/**
 * The environment of a server in which another program or a failing disk interferes at an exact
 * moment of a change. See moment.mjs for the names.
 */
export function moment(name: string, file = ''): Record<string, string> {
  const preload = join(import.meta.dirname, 'moment.mjs');
  return { NODE_OPTIONS: `--import=${preload}`, LOOKFIRST_MOMENT: JSON.stringify([name, file]) };
}

/** Checks that a call succeeded. */
export function done(answer: Answer): Answer {
  expect(answer.outcome, answer.text).toMatchObject({ ok: true });
  return answer;
}

/** Checks that a call was refused with this code. */
export function refused(answer: Answer, code: string): Answer {
  expect(answer.outcome, answer.text).toMatchObject({ ok: false, code });
  return answer;
}

/** Starts the proxy of the build under test in front of a server. */
export async function proxied(
  places: Scratch,
  server: readonly string[],
  args: readonly string[] = [],
): Promise<Served> {
  const proxy = ['proxy', '--root', places.root, ...args, '--', process.execPath, ...server];
  const served = Served.launch(places, proxy);
  await served.hello();
  return served;
}
