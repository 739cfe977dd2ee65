import { randomBytes } from 'node:crypto';
import { Fault } from '../../model/fault.ts';
import { explained, type PostgresConnection } from './connection.ts';
import { SCHEMA_LOCK, serverFunctions } from './server-functions.ts';

/**
 * The version of the tables and functions. Give it a new number with every change of either: a
 * schema of another version is refused.
 */
export const SCHEMA_VERSION: number = 17;

/**
 * - Filter fields of entries are columns, as in the SQLite store.
 * - `chains` has one hash chain per writer: only its writer appends to it, so commits of a fleet
 *   never wait for each other. `known` lists other chains and their newest links at the time when a
 *   chain began. The first link of the new chain builds on the hash of that list. Chains are indexed by the hour of
 *   their last entry, because every record updates the row of its chain: an index over the exact time would make each
 *   update write to all indexes of the table.
 * - `views` has a row for every view. The rows of newer transactions bring a process up to date.
 * - Functions run with the rights of the schema's owner: a writer needs no right to change or delete rows.
 */
function tables(s: string): string {
  return `
create table ${s}.meta (id int primary key check (id = 1), version int not null, revision_key bytea not null);
create table ${s}.places (
  machine text collate "C" not null, root text collate "C" not null, workspace text collate "C" not null,
  shared boolean not null default false, primary key (machine, root));
create table ${s}.owners (
  id text collate "C" primary key, machine text collate "C" not null, until timestamptz not null);
create table ${s}.sessions (
  id text collate "C" primary key, root text collate "C" not null, record text not null, last_ms bigint not null);
create index on ${s}.sessions (root);
create table ${s}.views (
  n bigint generated always as identity primary key, session text collate "C" not null, key text collate "C" not null,
  seen text not null, machine text collate "C" not null, tx xid8 not null default pg_current_xact_id());
create index on ${s}.views (session, tx);
create sequence ${s}.entry_numbers;
create table ${s}.entries (
  seq bigint not null, at_ms bigint not null, kind text collate "C" not null, session text collate "C" not null,
  root text collate "C" not null, path text collate "C", change text collate "C", entry text not null, hash text not null,
  chain text collate "C" not null, n bigint not null, tx xid8 not null default pg_current_xact_id(),
  primary key (chain, n));
create index on ${s}.entries (seq);
create index on ${s}.entries (session, seq);
create index on ${s}.entries (change) where change is not null;
create index on ${s}.entries (kind, seq) where kind in ('change', 'refusal', 'turn');
create index on ${s}.entries (tx);
create table ${s}.touches (
  key text collate "C" not null, seq bigint not null, primary key (key, seq));
create index on ${s}.touches (seq);
create table ${s}.chains (
  chain text collate "C" primary key, machine text collate "C" not null, n bigint not null, hash text not null,
  record bigint not null, seq bigint not null, checkpoint_n bigint not null, checkpoint_hash text not null,
  checkpoint_seq bigint not null, known text not null, last_ms bigint not null, closed boolean not null default false,
  hour bigint not null) with (fillfactor = 50);
create index on ${s}.chains (hour);
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
insert into ${s}.meta values (1, ${SCHEMA_VERSION}, '\\x${randomBytes(32).toString('hex')}');`;
}

/**
 * Seconds for which a starting process waits while another one updates the schema. Less than
 * `MAINTENANCE_MS`, the deadline of the statement.
 */
const LOCK_S = 50;

/** Creates the tables and functions if there are none. A schema of another version is a Fault. */
export async function makeSchema(db: PostgresConnection): Promise<void> {
  const version = await explained(versionOf(db), `waiting for an answer of the fleet store ${db.url}`);
  if (version === SCHEMA_VERSION) return;
  if (version !== 0) throw otherVersion(version);
  const s = db.schema;
  // One statement block is one transaction. It checks again under the lock, because another process may have made the
  // tables first. "create schema if not exists" would need the right to create schemas even if this one exists.
  const script = `do $make$ begin
    perform set_config('lock_timeout', '${LOCK_S}s', true);
    perform pg_advisory_xact_lock(${SCHEMA_LOCK});
    if to_regnamespace('${s}') is null then create schema ${s}; end if;
    if to_regclass('${s}.meta') is null then
      ${executed(tables(s))}
      ${executed(serverFunctions(s))}
    end if;
  end $make$`;
  await explained(
    db.maintain(script),
    `creating the tables of the fleet store, or waiting for another process that is doing so: up to ${LOCK_S} seconds`,
  );
}

/**
 * Wraps statements in `execute`. Otherwise PostgreSQL would parse all statements
 * of the block before the tables that they name exist.
 */
function executed(step: string): string {
  return `execute $step$${step}$step$;`;
}

/** The version of the existing schema; 0 if there is none. */
export async function versionOf(db: PostgresConnection): Promise<number> {
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

function otherVersion(version: number): Fault {
  const isNewer = version > SCHEMA_VERSION;
  const cure = isNewer
    ? 'update Lookfirst'
    : 'add ?schema=NAME to its URL for a new journal, or drop the schema after every machine has ended its Lookfirst processes';
  return new Fault(
    'STORE_FAILED',
    `the fleet store has schema version ${version}, and this Lookfirst knows version ${SCHEMA_VERSION}: ${cure}`,
    { reason: isNewer ? 'newer' : 'older' },
  );
}
