import { join } from 'node:path';
import { whyNodeIsTooOld } from '../../config/node-version.ts';
import { resolvePolicy } from '../../config/resolve-policy.ts';
import { errorText, HOME_CURE } from '../../model/fault.ts';
import { isWithin } from '../../model/path.ts';
import {
  exchangeFiles,
  fleetHealth,
  folderHealth,
  homeHealth,
  isFullDisk,
  lockHealth,
  storeHealth,
} from '../../records/health.ts';
import { canonicalPath } from '../../records/scope.ts';
import { byteSize, countOf } from '../../report/amounts.ts';
import { placesOf, policySourcesOf } from '../../session/configured.ts';
import type { Cli } from '../cli.ts';
import type { Stage } from '../stage.ts';

type FolderHealth = ReturnType<typeof folderHealth>;

/**
 * The result of one check. `ok`: it works. `warn`: it works with restrictions. `fail`: it does not
 * work.
 */
export interface DoctorCheck {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
}

export function ok(name: string, message: string): DoctorCheck {
  return { name, status: 'ok', message };
}

export function warn(name: string, message: string): DoctorCheck {
  return { name, status: 'warn', message };
}

export function fail(name: string, message: string): DoctorCheck {
  return { name, status: 'fail', message };
}

/** With less free space than this, the old content of a changed file may not fit. */
const LITTLE_BYTES = 100 << 20;
export const HOME = 'state folder';

export function checkNode(): DoctorCheck[] {
  const tooOld = whyNodeIsTooOld(process.versions.node);
  return [tooOld === undefined ? ok('node', `v${process.versions.node}`) : fail('node', tooOld)];
}

/**
 * Checks that the state folder is private and writable, has room, and is out of the agent's reach.
 */
export function checkHome(cli: Cli): DoctorCheck[] {
  const { home } = placesOf(cli, cli.flags);
  const { exists, writable, isPrivate, freeBytes, setAside } = homeHealth(home);
  if (!writable) return [fail(HOME, `${home} cannot be written; ${HOME_CURE}`)];
  const there = exists ? '' : ' (created at the first start)';
  const checks = [ok(HOME, `${home}${there}, ${byteSize(freeBytes)} free`)];
  if (!isPrivate)
    checks.push(
      warn(
        HOME,
        'other users can read it; the next start makes it private (0700) if it contains nothing else',
      ),
    );
  checks.push(...checkRoom(freeBytes));
  for (const name of setAside) checks.push(warn(HOME, setAsideText(name)));
  if (isWithin(canonicalPath(cli.cwd, home).absolute, canonicalPath(cli.cwd, '.').absolute))
    checks.push(
      warn(HOME, 'it is inside this folder, where a shell can reach it: set LOOKFIRST_HOME to another place'),
    );
  return checks;
}

function setAsideText(name: string): string {
  const what = name.includes('.older-')
    ? `the database of an older Lookfirst was set aside as ${name}: its changes can no longer be undone`
    : `a damaged database was set aside as ${name}: its journal is lost`;
  return `${what}; delete it when you no longer need it`;
}

/** Checks whether the records of a change still fit on the disk. */
export function checkRoom(freeBytes: number): DoctorCheck[] {
  if (isFullDisk(freeBytes))
    return [
      fail(
        HOME,
        'there is no room left, so every change fails; lookfirst gc may free some, otherwise delete other files on this disk',
      ),
    ];
  return freeBytes < LITTLE_BYTES ? [warn(HOME, 'there is little room left; lookfirst gc frees some')] : [];
}

/** Checks that the store opens and that its journal is unaltered. */
export async function* checkStore(cli: Cli): AsyncGenerator<DoctorCheck> {
  const report = await storeHealth(placesOf(cli, cli.flags));
  if (report.ok) yield ok('store', `${countOf(report.entries, 'entry')} in an unbroken chain`);
  else yield fail('store', `journal entry ${report.seq} was ${report.problem}`);
}

/**
 * `doctor` warns if the clock of this machine differs by more than this from the clock of the
 * store's server: entries of several machines would then be hard to order.
 */
const MAX_CLOCK_MS = 2000;
/**
 * A longer round trip to a shared store is reported as slow. Each edit waits for two round trips.
 */
const MAX_LATENCY_MS = 20;

/**
 * Checks a store that several machines share: connection, latency, schema, rights, clock and size.
 */
export async function* checkFleet(cli: Cli): AsyncGenerator<DoctorCheck> {
  const health = await fleetHealth(placesOf(cli, cli.flags).store);
  if (health !== undefined) yield* fleetChecks(health);
}

type FleetReport = NonNullable<Awaited<ReturnType<typeof fleetHealth>>>;

function fleetChecks(health: FleetReport): readonly DoctorCheck[] {
  const { server, latencyMs, clockAheadMs, schema, connections, maxConnections } = health;
  const latency = `PostgreSQL ${server}, ${latencyMs.toFixed(1)} ms a round trip, ${connections} of ${maxConnections} connections`;
  const version =
    schema.version === 0 ? 'the schema is created at the first start' : `schema version ${schema.version}`;
  const clock = `the clock here is ${Math.abs(clockAheadMs)} ms ${clockAheadMs < 0 ? 'behind' : 'ahead of'} the server's`;
  return [
    latencyMs > MAX_LATENCY_MS
      ? warn('fleet', `${latency}: every edit waits for two round trips`)
      : ok('fleet', latency),
    schema.version === 0 || schema.version === schema.known
      ? ok('fleet', version)
      : fail('fleet', `${version} does not fit this Lookfirst, which knows version ${schema.known}`),
    WRITING[health.writing],
    Math.abs(clockAheadMs) > MAX_CLOCK_MS ? warn('fleet', `${clock}: set it by NTP`) : ok('fleet', clock),
    ok(
      'fleet',
      `the database takes ${byteSize(health.databaseBytes)}; Lookfirst cannot see how much space is free on its disk`,
    ),
  ];
}

/** Whether this user can record changes in the fleet's store. */
const WRITING: Readonly<Record<FleetReport['writing'], DoctorCheck>> = {
  allowed: ok('fleet', 'changes can be recorded'),
  server: fail('fleet', 'the server is read-only, so every change is refused: connect to its primary server'),
  user: warn(
    'fleet',
    'this user can read the journal and record nothing: for changes, give it the rights of a writer (docs/fleet.md)',
  ),
};

export function checkPolicy(cli: Cli): DoctorCheck[] {
  const sources = policySourcesOf(cli, cli.flags);
  const policy = resolvePolicy(sources);
  const rules = policy.bypass.map((rule) => (typeof rule === 'string' ? rule : JSON.stringify(rule)));
  const remarks = [
    ...(rules.length === 0 ? [] : [`changes that need no read: ${rules.join(', ')}`]),
    ...(sources.file?.warnings ?? []),
  ];
  const said = [`preset ${policy.preset}, staleness ${policy.staleness}`, ...remarks].join('; ');
  return [remarks.length === 0 ? ok('policy', said) : warn('policy', said)];
}

/**
 * Path patterns of folders in which a synchronising program changes files, with the program's name.
 */
const SYNCED: readonly (readonly [RegExp, string])[] = [
  [/(^|[\\/])Dropbox([\\/]|$)/i, 'Dropbox'],
  [/(^|[\\/])OneDrive[^\\/]*([\\/]|$)/i, 'OneDrive'],
  [/[\\/](Mobile Documents|iCloud ?Drive)([\\/]|$)/i, 'iCloud'],
  [/[\\/]Library[\\/]CloudStorage[\\/]/i, 'a cloud folder'],
  [/(^|[\\/])Google ?Drive([\\/]|$)/i, 'Google Drive'],
];

/** Checks which guarantees the file system of this folder allows. */
export function checkFolder(cli: Cli): DoctorCheck[] {
  const { guarantee, clock, root } = folderHealth(cli.cwd);
  return [GUARANTEES[guarantee], CLOCKS[clock], ...checkSync(root)];
}

const GUARANTEES: Readonly<Record<FolderHealth['guarantee'], DoctorCheck>> = {
  walk: ok('containment', 'every path is opened step by step through directory handles'),
  'best-effort': warn(
    'containment',
    'paths are checked, then used: a program that swaps folders in between can win (LIMITS.md)',
  ),
};

const CLOCKS: Readonly<Record<FolderHealth['clock'], DoctorCheck>> = {
  own: ok('clock', 'file times come from this machine; unchanged files need no hashing'),
  elsewhere: warn(
    'clock',
    'file times come from elsewhere (network or user file system): every check hashes the file',
  ),
  unreadable: fail('clock', 'this folder cannot be read'),
};

function checkSync(root: string): DoctorCheck[] {
  const found = SYNCED.find(([pattern]) => pattern.test(root));
  if (found === undefined) return [];
  return [warn('sync folder', `${found[1]} also writes here; its changes are shown as outside changes`)];
}

/**
 * Tries two kernel functions that every change uses, in a temporary folder: exchanging two files in
 * one step, and locking a file.
 */
export function checkKernel(stage: Stage): DoctorCheck[] {
  return [checkExchange(stage), LOCKS[lockHealth(join(stage.state, 'doctor-lock'))]];
}

function checkExchange(stage: Stage): DoctorCheck {
  const name = 'atomic exchange';
  const weaker = 'files are renamed and linked instead, and a name is missing for an instant';
  stage.put('one.txt', 'one');
  stage.put('two.txt', 'two');
  try {
    if (!exchangeFiles(join(stage.workspace, 'one.txt'), join(stage.workspace, 'two.txt')))
      return warn(name, `fs-native-extensions has no build here; ${weaker}`);
  } catch (error) {
    return warn(name, `not on this file system (${errorText(error)}); ${weaker}`);
  }
  const isSwapped = stage.text('one.txt') === 'two' && stage.text('two.txt') === 'one';
  return isSwapped
    ? ok(name, 'a file changes in one step')
    : fail(name, 'a trial exchange of two files failed');
}

const LOCKS: Readonly<Record<ReturnType<typeof lockHealth>, DoctorCheck>> = {
  kernel: ok('locks', 'by the kernel: the locks of a killed process are released at once'),
  files: warn('locks', 'by lock files: a killed process is detected by its process id'),
  refused: fail('locks', 'a lock that no process holds could not be taken'),
};
