import { createSecretKey } from 'node:crypto';
import { basename } from 'node:path';
import { LocalLocks } from '../../lock/locks.ts';
import { isWithin } from '../../model/path.ts';
import type { Durability } from '../../model/policy.ts';
import { FileBlobs } from '../blobs/file-blobs.ts';
import { localOwner, type Owner } from '../owner.ts';
import { revisionsUnder } from '../revisions.ts';
import type { FleetOptions, OpenedState, RecordedState } from '../state.ts';
import type { Store } from '../store.ts';
import { type ConnectionOptions, PostgresConnection, SERVER_CLOCK } from './connection.ts';
import { Heart, LeasedLocks } from './heart.ts';
import { checkWorkspaceName, existingMachineOf, machineOf, Names } from './names.ts';
import { PostgresImages } from './postgres-images.ts';
import { PostgresStore } from './postgres-store.ts';
import { makeSchema, SCHEMA_VERSION, versionOf } from './schema.ts';

/** A root of this machine and the name of its workspace. */
type MachinePlace = Names['places'][number];

/** Opens the store of a `postgres:` URL, and creates its schema if there is none. */
export async function openPostgresStore(url: string, options: ConnectionOptions = {}): Promise<Store> {
  const db = await PostgresConnection.open(url, options);
  try {
    await makeSchema(db);
    return new PostgresStore(db, { names: new Names(), owner: 'store', sharedRoots: [] });
  } catch (error) {
    await db.close();
    throw error;
  }
}

interface PostgresStateOptions {
  readonly home: string;
  readonly durability: Durability;
  readonly fleet: FleetOptions;
  readonly connection?: ConnectionOptions;
}

/**
 * Opens the state of a fleet (machines that share one database) for a process that makes changes.
 */
export async function openPostgresState(url: string, options: PostgresStateOptions): Promise<OpenedState> {
  const { home, durability, fleet } = options;
  const machine = machineOf(home);
  const db = await PostgresConnection.open(url, options.connection);
  try {
    await makeSchema(db);
    const names = new Names(machine);
    // Queries that are sent together take one round trip.
    const [places, { key, aheadMs }] = await Promise.all([
      servedPlaces(db, machine, fleet),
      readKeyAndClock(db),
    ]);
    names.places = namedPlaces(places, fleet.readAs);
    names.folders = fleet.roots;
    const owner = fleetOwner(db, machine);
    const heart = new Heart(db, { owner: owner.id, machine });
    const sharedRoots = sharedRootsOf(places, fleet);
    const store = new PostgresStore(db, {
      names,
      owner: owner.id,
      heart,
      durability,
      summarisesReads: true,
      sharedRoots,
      deadline: () => db.deadline,
      warnings: [...clockWarnings(aheadMs), ...nameWarnings(places, fleet)],
    });
    const local = new LocalLocks({ home, owner: owner.tag, isAlive: owner.isTagAlive });
    const locks =
      sharedRoots.length === 0
        ? local
        : new LeasedLocks({ local, db, names, heart, owner: owner.id, sharedRoots });
    const files = new FileBlobs(home, { durability });
    const images = new PostgresImages({ local: files, db, machine, secrets: fleet.imageSecrets });
    const close = async (): Promise<void> => {
      heart.stop();
      images.flush();
      try {
        await store.close();
      } finally {
        locks.close();
      }
    };
    const revisionOf = revisionsUnder(createSecretKey(key));
    return { store, images, locks, owner, revisionOf, shared: true, close };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/**
 * Opens a fleet's records for user commands, without heartbeats and leases. Writes nothing to the
 * state folder. The `roots` in `name` are used only if the workspace is not known on this machine
 * yet.
 */
export async function openPostgresRecords(
  url: string,
  home: string,
  {
    name,
    folders = [],
  }: { readonly name?: FleetOptions['saveAs']; readonly folders?: readonly string[] } = {},
): Promise<RecordedState> {
  const machine = existingMachineOf(home);
  const db = await PostgresConnection.open(url);
  try {
    await makeSchema(db);
    const names = new Names(machine);
    names.places = namedPlaces(await readPlaces(db, machine), name);
    names.folders = folders;
    const owner = `records@${machine}`;
    const store = new PostgresStore(db, { names, owner, sharedRoots: [] });
    const local = new FileBlobs(home, { durability: 'none' });
    const fleet = { machine, workspaceOf: (root: string) => names.workspaceOf(root) };
    return {
      store,
      images: new PostgresImages({ local, db, machine, secrets: 'here' }),
      fleet,
    };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/**
 * The roots of a workspace, each with its name in the fleet. The first root has the workspace's
 * name. The other roots have this name followed by `+` and their folder name.
 */
function placesOf({
  roots,
  workspace,
  sharedWorkspace,
}: Pick<FleetOptions, 'roots' | 'workspace' | 'sharedWorkspace'>): readonly MachinePlace[] {
  if (workspace === undefined) return [];
  checkWorkspaceName(workspace);
  const names = new Set<string>();
  return roots.map((root, index) => {
    const name = index === 0 ? workspace : `${workspace}+${basename(root).replace(/[^\w.@+-]/g, '_')}`;
    return { root, workspace: addedTo(names, name), isShared: sharedWorkspace === true };
  });
}

/** Adds a name to the set and returns it. If the set has the name already, the name gets a number first. */
function addedTo(names: Set<string>, wanted: string): string {
  let name = wanted;
  for (let n = 2; names.has(name); n++) name = `${wanted}+${n}`;
  names.add(name);
  return name;
}

/**
 * The saved places (roots with workspace names) of this machine. If no saved place has the given
 * workspace name, the given roots get it.
 */
function namedPlaces(saved: readonly MachinePlace[], name: FleetOptions['saveAs']): readonly MachinePlace[] {
  if (name === undefined || saved.some(({ workspace }) => workspace === name.workspace)) return saved;
  const given = placesOf(name);
  return [...saved.filter(({ root }) => !given.some((place) => place.root === root)), ...given];
}

/**
 * Saves the workspace names that the options give, and which of these workspaces are shared.
 * Returns all named roots of this machine.
 */
async function servedPlaces(
  db: PostgresConnection,
  machine: string,
  fleet: FleetOptions,
): Promise<readonly MachinePlace[]> {
  await savePlaces(db, machine, placesOf({ ...fleet, ...fleet.saveAs }));
  const places = await readPlaces(db, machine);
  if (fleet.sharedWorkspace !== true) return places;
  const around = fleet.roots.flatMap((root) => placeAround(places, root) ?? []);
  const unshared = around.filter(({ isShared }) => !isShared);
  if (unshared.length === 0) return places;
  await savePlaces(
    db,
    machine,
    unshared.map((place) => ({ ...place, isShared: true })),
  );
  return readPlaces(db, machine);
}

/** The root with a workspace name that is or contains `root`. Undefined if there is none. */
function placeAround(places: readonly MachinePlace[], root: string): MachinePlace | undefined {
  const [nearest] = places
    .filter((place) => isWithin(root, place.root))
    .sort((a, b) => b.root.length - a.root.length);
  return nearest;
}

/**
 * The folders of this machine that need leases: the shared folders, and the given roots inside
 * them. The roots are listed too, because a change in progress is found by its root. With
 * `sharedWorkspace`, all given roots need leases.
 */
function sharedRootsOf(
  places: readonly MachinePlace[],
  { roots, sharedWorkspace }: FleetOptions,
): readonly string[] {
  const shared = places.filter(({ isShared }) => isShared).map(({ root }) => root);
  const isNeeded = (root: string): boolean => shared.some((folder) => isWithin(root, folder));
  return [...new Set([...shared, ...(sharedWorkspace === true ? roots : roots.filter(isNeeded))])];
}

/**
 * Warnings about shared roots without a workspace name. Other machines do not see the leases of
 * such a root, because its stored name contains this machine's id.
 */
function nameWarnings(
  places: readonly MachinePlace[],
  { roots, sharedWorkspace }: FleetOptions,
): readonly string[] {
  if (sharedWorkspace !== true) return [];
  const unnamed = roots.filter((root) => placeAround(places, root) === undefined);
  return unnamed.map(
    (root) =>
      `other machines are not locked out of ${root}, because its workspace has no name. Give every machine the same --workspace NAME`,
  );
}

async function savePlaces(
  db: PostgresConnection,
  machine: string,
  places: readonly MachinePlace[],
): Promise<void> {
  if (places.length === 0) return;
  const rows = places.map(({ root, workspace, isShared }) => ({ r: root, n: workspace, s: isShared }));
  await db.call('lf_place', { machine, places: rows });
}

/**
 * The saved places (roots with workspace names) of this machine. A workspace counts as shared if
 * any machine has saved it as shared.
 */
async function readPlaces(db: PostgresConnection, machine: string): Promise<readonly MachinePlace[]> {
  const rows = await db.query(
    `select root, workspace, workspace in (select workspace from ${db.schema}.places where shared) as shared
      from ${db.schema}.places where machine = $1`,
    [machine],
  );
  return rows.map((row) => ({
    root: String(row['root']),
    workspace: String(row['workspace']),
    isShared: row['shared'] === true,
  }));
}

/** A smaller difference of clocks is not worth a warning. */
const CLOCK_TOLERANCE_MS = 60_000;

/**
 * The key for revisions, which all machines share. Also the time by which this machine's clock is
 * certainly ahead of the server's (negative: behind).
 */
async function readKeyAndClock(
  db: PostgresConnection,
): Promise<{ readonly key: Uint8Array; readonly aheadMs: number }> {
  const askedMs = Date.now();
  const [row] = await db.query(`select revision_key, ${SERVER_CLOCK} as now from ${db.schema}.meta`);
  const serverMs = Number(row?.['now']);
  db.noteClock(serverMs);
  // The server read its clock at some moment between the question and the answer. Only a server
  // time outside that interval proves that the clocks differ.
  const aheadMs = Math.max(askedMs - serverMs, 0) || Math.min(Date.now() - serverMs, 0);
  // The cast is safe: a bytea column of the one row that the first migration wrote.
  return { key: row?.['revision_key'] as Uint8Array, aheadMs };
}

function clockWarnings(aheadMs: number): readonly string[] {
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  if (Math.abs(aheadMs) < CLOCK_TOLERANCE_MS) return [];
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  return [
    `the clock of this machine is ${minutes} min ${side} that of the fleet store: times in the log, claims and expiring reads are wrong by as much. Set the clock`,
  ];
}

/**
 * The identity of this process among the machines of a fleet, with checks whether other processes
 * are alive. The kernel knows the processes of this machine. For a process of another machine, its
 * last heartbeat decides.
 */
function fleetOwner(db: PostgresConnection, machine: string): Owner {
  const local = localOwner();
  return {
    id: `${local.id}@${machine}`,
    tag: local.tag,
    isTagAlive: local.isTagAlive,
    isAlive: async (id) => {
      const [process = '', at] = id.split('@');
      if (at === machine) return local.isAlive(process);
      const text = `select 1 from ${db.schema}.owners where id = $1 and until > clock_timestamp()`;
      return (await db.query(text, [id])).length > 0;
    },
  };
}

/** The condition of a store that several machines share, seen from this machine. */
interface FleetHealth {
  /** The server's version. */
  readonly server: string;
  /** Median of a few round trips. */
  readonly latencyMs: number;
  /** Milliseconds by which this machine's clock is ahead of the server's. */
  readonly clockAheadMs: number;
  readonly schema: { readonly version: number; readonly known: number };
  /**
   * `allowed`: this user can write. `server`: the server is a standby or set to read-only. `user`:
   * the role may not call the functions that write.
   */
  readonly writing: 'allowed' | 'server' | 'user';
  readonly databaseBytes: number;
  readonly connections: number;
  readonly maxConnections: number;
}

const ROUND_TRIPS = 5;

/** Measures the connection and queries the server's data. An unreachable server is a Fault. */
export async function inspectFleet(url: string): Promise<FleetHealth> {
  const db = await PostgresConnection.open(url);
  try {
    const schema = { version: await versionOf(db), known: SCHEMA_VERSION };
    const times: number[] = [];
    for (let n = 0; n < ROUND_TRIPS; n++) {
      const started = performance.now();
      await db.query('select 1');
      times.push(performance.now() - started);
    }
    const latencyMs = times.sort((a, b) => a - b)[ROUND_TRIPS >> 1] ?? 0;
    const askedMs = Date.now();
    const [row] = await db.query(`select current_setting('server_version') as server,
      ${SERVER_CLOCK} as now, pg_database_size(current_database()) as bytes,
      case when current_setting('transaction_read_only') = 'on' then 'server'
        when not has_function_privilege(to_regproc('${db.schema}.lf_record'), 'execute') then 'user'
        else 'allowed' end as writing,
      (select count(*) from pg_stat_activity where backend_type = 'client backend') as connections,
      current_setting('max_connections')::int as most`);
    return {
      server: String(row?.['server']),
      latencyMs,
      clockAheadMs: Math.round(askedMs + latencyMs / 2 - Number(row?.['now'])),
      schema,
      // The cast is safe: the query gives one of these words.
      writing: row?.['writing'] as FleetHealth['writing'],
      databaseBytes: Number(row?.['bytes']),
      connections: Number(row?.['connections']),
      maxConnections: Number(row?.['most']),
    };
  } finally {
    await db.close();
  }
}
