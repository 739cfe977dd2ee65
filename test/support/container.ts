import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { giveAway } from './nobody.ts';
import { Served } from './served.ts';
import type { Scratch } from './tree.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const IMAGE = 'lookfirst-test';
const USER = '65534';

/** A container engine that works on this machine, or undefined. */
const ENGINE = ['docker', 'podman'].find(
  (name) => spawnSync(name, ['info'], { stdio: 'ignore' }).status === 0,
);
const SANDBOX = existsSync('/usr/bin/bwrap') ? '/usr/bin/bwrap' : undefined;

/** How the container's entry point can run on this machine. */
export const CONTAINER: 'engine' | 'sandbox' | 'none' =
  ENGINE !== undefined ? 'engine' : SANDBOX !== undefined ? 'sandbox' : 'none';

/**
 * Starts the container image on a workspace. Without a container engine, runs the image's entry
 * point in a sandbox that imitates the container: the same paths, an ordinary user and a read-only
 * system.
 */
export async function startContainer(places: Scratch, user: string = USER): Promise<Served> {
  // For a container engine, give the files to the container's user. A sandbox needs no new owner,
  // because it maps our user to the container's user.
  if (ENGINE !== undefined)
    giveAway(places.root, ...readdirSync(places.root).map((name) => join(places.root, name)));
  const served = ENGINE === undefined ? inSandbox(places, user) : inEngine(ENGINE, places, user);
  await served.hello();
  return served;
}

/** The exit status and the error of the entry point when it runs as root. */
export function asRoot(places: Scratch): { readonly status: number | null; readonly stderr: string } {
  const [program, args] =
    ENGINE === undefined
      ? [SANDBOX ?? expect.fail('no sandbox'), sandboxArguments(places, '0')]
      : [ENGINE, ['run', '--rm', '--user', '0', image(ENGINE)]];
  return spawnSync(program, args, { encoding: 'utf8', input: '' });
}

function inEngine(engine: string, { root }: Scratch, user: string): Served {
  const args = ['run', '-i', '--rm', '--user', `${user}:${user}`, '-v', `${root}:/workspace`, image(engine)];
  return Served.through(engine, args);
}

function image(engine: string): string {
  execFileSync(engine, ['build', '-t', IMAGE, '-f', 'packaging/Dockerfile', '.'], { cwd: project });
  return IMAGE;
}

function inSandbox(places: Scratch, user: string): Served {
  return Served.through(SANDBOX ?? expect.fail('no sandbox'), sandboxArguments(places, user));
}

function sandboxArguments({ root, home }: Scratch, user: string): string[] {
  const system = ['/usr', '/bin', '/lib', '/lib64', '/sbin'].flatMap((path) => ['--ro-bind-try', path, path]);
  return [
    ...system,
    ...['--ro-bind', process.execPath, '/opt/node/node'],
    ...['--ro-bind', project, '/opt/lookfirst'],
    ...['--bind', root, '/workspace', '--bind', home, '/state'],
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--chdir', '/workspace'],
    ...['--unshare-all', '--die-with-parent', '--uid', user, '--gid', user],
    ...['--clearenv', '--setenv', 'PATH', '/opt/node:/usr/bin:/bin'],
    ...['/bin/sh', '/opt/lookfirst/packaging/container-entry.sh', 'serve', '/workspace'],
  ];
}
