import { randomBytes } from 'node:crypto';
import { Fault } from '../../model/fault.ts';
import { explained, type PostgresConnection } from './connection.ts';
import { DAY_MS, MIGRATION_LOCK, serverFunctions } from './server-functions.ts';

/**
 * Number of days for which partitions are made ahead. A process that runs for days makes the next ones when it records.
 */
const DAYS_AHEAD = 3;

/**
 * Migration n brings a schema from version n to n + 1. Append-only: a released migration is never edited.
 *
 * - `entries` and `touches` have a partition per day, so that retention drops tables instead of rows. Filter fields of
 *   entries are columns, as in the SQLite store.
 * - `chains` has one hash chain per writer: only its writer appends to it, so commits of a fleet
 *   never wait for each other. `known` lists other chains and their newest links at the time when a
 *   chain began. The first link of the new chain builds on the hash of that list.
 * - Functions run with the rights of the schema's owner: a writer needs no right to change or delete rows.
 */
const MIGRATIONS: readonly ((schema: string) => string)[] = [
  tables,
  onlyFunctions,
  chainsByHour,
  onlyFunctions,
  plainHour,
  onlyFunctions,
  onlyFunctions,
  withdrawnChanges,
  sharedWorkspaces,
  onlyFunctions,
  onlyFunctions,
  onlyFunctions,
  viewsOfSessions,
];

function tables(s: string): string {
  return `
create table ${s}.meta (id int primary key check (id = 1), version int not null, revision_key bytea not null);
create table ${s}.places (
  machine text collate "C" not null, root text collate "C" not null, workspace text collate "C" not null,
  primary key (machine, root));
create table ${s}.owners (
  id text collate "C" primary key, machine text collate "C" not null, until timestamptz not null);
create sequence ${s}.versions;
create table ${s}.sessions (
  id text collate "C" primary key, root text collate "C" not null, record text not null, last_ms bigint not null,
  writer text collate "C" not null, version bigint not null default nextval('${s}.versions'));
create index on ${s}.sessions (root);
create table ${s}.sightings (
  session text collate "C" not null, key text collate "C" not null, seen text not null, machine text collate "C" not null,
  primary key (session, key)) with (fillfactor = 80);
create sequence ${s}.entry_numbers;
create table ${s}.entries (
  seq bigint not null, at_ms bigint not null, kind text collate "C" not null, session text collate "C" not null,
  root text collate "C" not null, path text collate "C", change text collate "C", rest text not null, hash text not null,
  chain text collate "C" not null, n bigint not null, tx xid8 not null default pg_current_xact_id(),
  primary key (chain, n, at_ms)) partition by range (at_ms);
create index on ${s}.entries (seq);
create index on ${s}.entries (session, seq);
create index on ${s}.entries (change) where change is not null;
create index on ${s}.entries (kind, seq) where kind in ('change', 'refusal', 'turn');
create index on ${s}.entries (tx);
create table ${s}.touches (
  key text collate "C" not null, seq bigint not null, at_ms bigint not null,
  primary key (key, seq, at_ms)) partition by range (at_ms);
create table ${s}.entries_other partition of ${s}.entries default;
create table ${s}.touches_other partition of ${s}.touches default;
create table ${s}.chains (
  chain text collate "C" primary key, machine text collate "C" not null, n bigint not null, hash text not null,
  record bigint not null, seq bigint not null, checkpoint_n bigint not null, checkpoint_hash text not null,
  checkpoint_seq bigint not null, known text not null, last_ms bigint not null, closed boolean not null default false
) with (fillfactor = 50);
create index on ${s}.chains (seq);
create table ${s}.pending (
  change text collate "C" primary key, machine text collate "C" not null, roots text[] collate "C" not null,
  keys text[] collate "C" not null, announced text not null, n bigint generated always as identity);
create table ${s}.images (
  sha256 text collate "C" primary key, size bigint not null, body bytea, machine text collate "C" not null,
  since_ms bigint not null);
alter table ${s}.images alter body set storage external;
create sequence ${s}.fences;
create table ${s}.leases (
  slot bigint not null, holder text collate "C" not null, sharing text collate "C" not null, fence bigint not null,
  until timestamptz not null, primary key (slot, fence));
insert into ${s}.meta values (1, 1, '\\x${randomBytes(32).toString('hex')}');`;
}

/**
 * The step of a version that changed only server functions: nothing to do, because every update
 * replaces all of them.
 */
function onlyFunctions(): string {
  return '';
}

/**
 * The migration that indexes chains by the hour of their last entry, because every record updates
 * the row of its chain. With an index over the exact time, each update would write to all indexes
 * of the table.
 */
function chainsByHour(s: string): string {
  return `
drop index ${s}.chains_seq_idx;
alter table ${s}.chains add column hour bigint not null generated always as (last_ms / 3600000) stored;
create index on ${s}.chains (hour);`;
}

/**
 * The migration that makes the hour of a chain's last entry a plain column. A generated column
 * slowed down every record, because the server prepares its expression for each statement.
 */
function plainHour(s: string): string {
  return `
alter table ${s}.chains alter column hour drop expression;
drop function if exists ${s}.lf_append(${s}.chains, jsonb, jsonb), ${s}.lf_chain_start(text, text),
  ${s}.lf_checkpoint(text, bigint), ${s}.lf_prune_reads(bigint);`;
}

/**
 * The migration that keeps the row of a withdrawn change for a while, because the announcement may
 * arrive after the withdrawal.
 */
function withdrawnChanges(s: string): string {
  return `alter table ${s}.pending add column withdrawn_ms bigint;`;
}

/**
 * The migration that stores which workspaces are shared, so that processes take leases there even
 * if they were started without `sharedWorkspace`.
 */
function sharedWorkspaces(s: string): string {
  return `alter table ${s}.places add column shared boolean not null default false;`;
}

/**
 * The migration that stores every view as a row of its own. The rows of newer transactions bring a
 * process up to date, so sessions need no last writer and no version.
 */
function viewsOfSessions(s: string): string {
  return `
create table ${s}.views (
  n bigint generated always as identity primary key, session text collate "C" not null, key text collate "C" not null,
  seen text not null, machine text collate "C" not null, tx xid8 not null default pg_current_xact_id());
create index on ${s}.views (session, tx);
insert into ${s}.views (session, key, seen, machine)
  select session, case when key like E'\\x01#%' then seen::json->8->>'key' else key end, seen, machine from ${s}.sightings;
drop table ${s}.sightings;
alter table ${s}.sessions drop column writer, drop column version;
drop sequence ${s}.versions;
drop function if exists ${s}.lf_check_basis(jsonb);`;
}

/**
 * Seconds for which a starting process waits while another one updates the schema. Less than
 * `MAINTENANCE_MS`, the deadline of the statement.
 */
const LOCK_S = 50;

/** Updates the schema to the newest version. A newer schema, or missing rights to create one, is a Fault. */
export async function migratePostgres(db: PostgresConnection): Promise<void> {
  const version = await explained(versionOf(db), `waiting for an answer of the fleet store ${db.url}`);
  mustBeKnown(version);
  if (version === MIGRATIONS.length) return;
  const s = db.schema;
  const steps = MIGRATIONS.slice(version).map((make) => make(s));
  // One statement block is one transaction. It checks the version again under the lock, because another process may
  // have migrated first.
  const script = `do $migration$ declare at int := 0; had int; begin
    perform set_config('lock_timeout', '${LOCK_S}s', true);
    perform pg_advisory_xact_lock(${MIGRATION_LOCK});
    -- "create schema if not exists" would need the right to create schemas even if this one exists.
    if to_regnamespace('${s}') is null then create schema ${s}; end if;
    if to_regclass('${s}.meta') is not null then select version into at from ${s}.meta; end if;
    had := at;
    ${steps
      .map((step, index) => `if at = ${version + index} then ${executed(step)} at := at + 1; end if;`)
      .join('\n')}
    if at > had then ${executed(serverFunctions(s))} end if;
    update ${s}.meta set version = at;
  end $migration$`;
  const doing = version === 0 ? 'creating' : 'updating';
  await explained(
    db.maintain(script),
    `${doing} the tables of the fleet store, or waiting for another process that is doing so: up to ${LOCK_S} seconds`,
  );
}

/** Makes the missing partitions of today and the next days. */
export function makePartitions(db: PostgresConnection, nowMs: number): Promise<unknown> {
  return db.query(`select ${db.schema}.lf_partitions($1, $2)`, [dayOf(nowMs), DAYS_AHEAD]);
}

export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/**
 * Wraps the statements of a migration in `execute`. Otherwise PostgreSQL would parse all statements
 * of the script before the tables that they name exist.
 */
function executed(step: string): string {
  return `execute $step$${step}$step$;`;
}

/** The version of the existing schema, 0 for none, and the newest version that this Lookfirst knows. */
export async function schemaVersions(
  db: PostgresConnection,
): Promise<{ readonly version: number; readonly newest: number }> {
  return { version: await versionOf(db), newest: MIGRATIONS.length };
}

async function versionOf(db: PostgresConnection): Promise<number> {
  try {
    const [meta] = await db.query(`select version from ${db.schema}.meta`);
    return Number(meta?.['version']);
  } catch (error) {
    // A missing table means version 0. A separate query for its existence would cost every start a
    // second round trip.
    if (error instanceof Fault && error.reason === 'missing') return 0;
    throw error;
  }
}

function mustBeKnown(version: number): void {
  if (version <= MIGRATIONS.length) return;
  throw new Fault(
    'STORE_FAILED',
    `the fleet store has schema version ${version}, and this Lookfirst knows versions up to ${MIGRATIONS.length}: update Lookfirst`,
    { reason: 'newer' },
  );
}
