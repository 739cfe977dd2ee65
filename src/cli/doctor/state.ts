import { join } from 'node:path';
import { resolvePolicy } from '../../config/resolve-policy.ts';
import { errorText, HOME_CURE } from '../../model/fault.ts';
import {
  exchangeFiles,
  type FolderHealth,
  fleetHealth,
  folderHealth,
  homeHealth,
  isFullDisk,
  lockHealth,
  storeHealth,
} from '../../records/health.ts';
import { canonicalPath, isInScope } from '../../records/scope.ts';
import { byteSize, countOf } from '../../report/amounts.ts';
import { placesOf, policySourcesOf, type StateFlags } from '../../session/configured.ts';
import type { Cli } from '../cli.ts';
import type { Stage } from '../stage.ts';

/** With less free space than this, the old content of a changed file may not fit. */
const LITTLE_BYTES = 100 << 20;
const HOME = 'state folder';
const OLDEST_NODE = [20, 19] as const;

export function checkNode(): DoctorCheck {
  const running = process.versions.node;
  const [major = 0, minor = 0] = running.split('.').map(Number);
  const [wantMajor, wantMinor] = OLDEST_NODE;
  const isNew = major > wantMajor || (major === wantMajor && minor >= wantMinor);
  return isNew
    ? ok('node', `v${running}`)
    : fail('node', `v${running}: needs ${OLDEST_NODE.join('.')} or newer`);
}

/**
 * Checks that the state folder is private and writable, has room, and is out of the agent's reach.
 */
export function checkHome(cli: Cli, flags: StateFlags): DoctorCheck[] {
  try {
    return checkHomeFolder(cli, placesOf(cli, flags).home);
  } catch (error) {
    return [fail(HOME, errorText(error))];
  }
}

function checkHomeFolder(cli: Cli, home: string): DoctorCheck[] {
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
  for (const name of setAside)
    checks.push(
      warn(
        HOME,
        `a damaged database was set aside as ${name}: its journal is lost; delete it when you no longer need it`,
      ),
    );
  if (isInScope(canonicalPath(cli.cwd, home).absolute, canonicalPath(cli.cwd, '.').absolute))
    checks.push(
      warn(HOME, 'it is inside this folder, where a shell can reach it: set LOOKFIRST_HOME to another place'),
    );
  return checks;
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
export async function checkStore(cli: Cli, flags: StateFlags): Promise<DoctorCheck> {
  try {
    const report = await storeHealth(placesOf(cli, flags));
    if (report.ok) return ok('store', `${countOf(report.entries, 'entry')} in an unbroken chain`);
    return fail('store', `journal entry ${report.seq} was ${report.problem}`);
  } catch (error) {
    return fail('store', errorText(error));
  }
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
export async function* checkFleet(cli: Cli, flags: StateFlags): AsyncGenerator<DoctorCheck> {
  try {
    const health = await fleetHealth(placesOf(cli, flags).store);
    if (health !== undefined) yield* fleetChecks(health);
  } catch (error) {
    yield fail('fleet', errorText(error));
  }
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
    writingCheck(health.writing),
    Math.abs(clockAheadMs) > MAX_CLOCK_MS ? warn('fleet', `${clock}: set it by NTP`) : ok('fleet', clock),
    ok(
      'fleet',
      `the database takes ${byteSize(health.databaseBytes)}; Lookfirst cannot see how much space is free on its disk`,
    ),
  ];
}

function writingCheck(writing: FleetReport['writing']): DoctorCheck {
  switch (writing) {
    case 'allowed':
      return ok('fleet', 'changes can be recorded');
    case 'server':
      return fail(
        'fleet',
        'the server is read-only, so every change is refused: connect to its primary server',
      );
    case 'user':
      return warn(
        'fleet',
        'this user can read the journal and record nothing: for changes, give it the rights of a writer (docs/fleet.md)',
      );
    default:
      return writing satisfies never;
  }
}

export function checkPolicy(cli: Cli, flags: StateFlags): DoctorCheck {
  try {
    const sources = policySourcesOf(cli, flags);
    const policy = resolvePolicy(sources);
    const { warnings = [] } = sources.file ?? {};
    const rules = policy.bypass.map((rule) => (typeof rule === 'string' ? rule : JSON.stringify(rule)));
    const open = rules.length === 0 ? '' : `; changes that need no read: ${rules.join(', ')}`;
    const said = `preset ${policy.preset}, staleness ${policy.staleness}${open}`;
    if (warnings.length > 0) return warn('policy', `${said}; ${warnings.join('; ')}`);
    return open === '' ? ok('policy', said) : warn('policy', said);
  } catch (error) {
    return fail('policy', errorText(error));
  }
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
  try {
    const health = folderHealth(cli.cwd);
    return [checkGuarantee(health), checkClock(health), ...checkSync(health.root)];
  } catch (error) {
    return [fail('containment', errorText(error))];
  }
}

function checkGuarantee({ guarantee }: FolderHealth): DoctorCheck {
  if (guarantee === 'walk')
    return ok('containment', 'every path is opened step by step through directory handles');
  return warn(
    'containment',
    'paths are checked, then used: a program that swaps folders in between can win (LIMITS.md)',
  );
}

function checkClock({ clock }: FolderHealth): DoctorCheck {
  switch (clock) {
    case 'own':
      return ok('clock', 'file times come from this machine; unchanged files need no hashing');
    case 'foreign':
      return warn(
        'clock',
        'file times come from elsewhere (network or user file system): every check hashes the file',
      );
    case 'unreadable':
      return fail('clock', 'this folder cannot be read');
    default:
      return clock satisfies never;
  }
}

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
  return [checkExchange(stage), checkLocks(stage)];
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

function checkLocks(stage: Stage): DoctorCheck {
  const name = 'locks';
  const health = lockHealth(join(stage.state, 'doctor-lock'));
  switch (health) {
    case 'kernel':
      return ok(name, 'by the kernel: the locks of a killed process are released at once');
    case 'files':
      return warn(name, 'by lock files: a killed process is detected by its process id');
    case 'refused':
      return fail(name, 'a lock that no process holds could not be taken');
    default:
      return health satisfies never;
  }
}

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
