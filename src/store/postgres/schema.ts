import { randomBytes } from 'node:crypto';
import { Fault } from '../../model/fault.ts';
import { CHAIN_START } from '../chain.ts';
import { VIEWS_OF_FILE } from '../store.ts';
import { explained, type PostgresConnection, SERVER_CLOCK } from './connection.ts';

/**
 * The version of the tables and functions. Give it a new number with every change of either: a
 * schema of another version is refused.
 */
export const SCHEMA_VERSION: number = 17;

/** An arbitrary lock number. Two processes that start simultaneously must not both make the tables. */
export const SCHEMA_LOCK = 7_710_231;
const DAY_MS = 86_400_000;
/** A lock number. Two clean-ups must not remove the same entries: the second waits for the first. */
const CLEAN_UP_LOCK = 7_710_233;
/**
 * A lock number. A new hash chain contains the names of other chains. While it is being made, a
 * clean-up must not remove these chains.
 */
const CHAINS_LOCK = 7_710_234;

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

/**
 * The functions that run in the server. Writers may call only those with `security definer`.
 * `lf_prune` is not one of them, so only the owner of the schema can shorten the journal.
 */
function serverFunctions(s: string): string {
  return `
-- Begins a hash chain. Its first hash covers the ends of up to 64 other chains, so that a check notices if one of
-- those is missing later.
create or replace function ${s}.lf_chain_start(this text, at_machine text) returns void language plpgsql as $f$
declare ends text; start text;
begin
  perform pg_advisory_xact_lock_shared(${CHAINS_LOCK});
  select coalesce(json_agg(json_build_array(x.chain, x.n, x.hash))::text, '[]') into ends
    from (select chain, n, hash from chains where n > checkpoint_n order by hour desc, seq desc limit 64) x;
  start := case when ends = '[]' then '${CHAIN_START.hash}' else encode(sha256(convert_to(ends, 'UTF8')), 'hex') end;
  insert into chains (chain, machine, n, hash, record, seq, checkpoint_n, checkpoint_hash, checkpoint_seq, known, last_ms, hour)
    values (this, at_machine, 0, start, 0, 0, 0, start, 0, ends, 0, 0) on conflict (chain) do nothing;
end $f$;

-- Fails unless the writer still holds all the leases that it names.
create or replace function ${s}.lf_check_fences(w jsonb) returns void language plpgsql as $f$
declare held int;
begin
  select count(*) into held from (
    select 1 from leases l join jsonb_to_recordset(w->'fences') as f(slot bigint, fence bigint)
      on l.slot = f.slot and l.fence = f.fence for share of l) x;
  if held < jsonb_array_length(w->'fences') then
    raise exception 'the lease is gone' using errcode = 'LF001';
  end if;
end $f$;

-- Fails if the caller of a record has given up waiting: the change was refused, and must not count as begun.
create or replace function ${s}.lf_check_time(w jsonb) returns void language plpgsql as $f$
begin
  if ${SERVER_CLOCK} > (w->>'by')::bigint then
    raise exception 'the record came too late' using errcode = 'LF003';
  end if;
end $f$;

-- Appends entries to a chain and returns the number of its last entry. Returns that number as a negative one if the
-- entries are already there.
create or replace function ${s}.lf_append(this text, w jsonb) returns bigint language plpgsql as $f$
declare
  head bigint; before bigint; last text; number bigint; seqs bigint[]; hashes text[]; known bigint;
  list jsonb := w->'entries'; this_record bigint := w->>'record'; now_ms bigint := w->>'now';
begin
  select n, hash, record into before, last, known from chains where chain = this for update;
  if coalesce(before, 0) < (w->>'acknowledged')::bigint then
    raise exception 'the chain % ends before number %', this, w->>'acknowledged' using errcode = 'LF002';
  end if;
  if before is null then
    perform lf_chain_start(this, w->>'machine');
    select n, hash, record into before, last, known from chains where chain = this for update;
  end if;
  -- The writer sent this record again, because the first answer was lost.
  if known >= this_record then return -before; end if;
  head := before;
  for i in 1 .. jsonb_array_length(list) loop
    head := head + 1;
    last := encode(sha256(convert_to(last || (list->(i - 1)->>'t') || head, 'UTF8')), 'hex');
    number := nextval('entry_numbers');
    hashes[i] := last;
    seqs[i] := number;
  end loop;
  insert into entries
    select seqs[x.i], x.a, x.k, x.s, x.r, x.p, x.c, x.t, hashes[x.i], this, before + x.i
    from rows from (jsonb_to_recordset(list) as (a bigint, k text, s text, r text, p text, c text, t text))
      with ordinality as x(a, k, s, r, p, c, t, i);
  if not w ? 'plain' then
    insert into touches select o.k, seqs[x.i]
      from jsonb_array_elements(list) with ordinality as x(e, i), jsonb_array_elements_text(x.e->'o') as o(k);
  end if;
  update chains set n = head, hash = last, record = this_record, seq = number, last_ms = now_ms, hour = now_ms / 3600000
    where chain = this;
  return head;
end $f$;

-- Removes what a session has seen. The row that stays says so to processes that have the removed rows in memory.
create or replace function ${s}.lf_forget(of_session text, here text) returns void language plpgsql as $f$
begin
  delete from views where session = of_session;
  insert into views (session, key, seen, machine)
    values (of_session, '', json_build_object('lost', 'forgotten', 'keeps', 'nothing', 'atMs', ${SERVER_CLOCK})::text, here);
end $f$;

-- Writes one record: journal entries and everything that belongs to them, in one transaction. \`w\` has a field for each
-- part. Returns the number of the last entry.
create or replace function ${s}.lf_record(w jsonb, hashes text[] default null, bodies bytea[] default null) returns bigint language plpgsql
  security definer set search_path = ${s}, pg_temp set plan_cache_mode = force_generic_plan as $f$
declare
  n bigint := 0; a jsonb; keys text[] := '{}'; this text := w->>'chain'; here text := w->>'machine'; setting text;
begin
  setting := set_config('lock_timeout', '5s', true);
  if w ? 'lazy' then setting := set_config('synchronous_commit', 'off', true); end if;
  if w ? 'ifPending' then
    perform 1 from pending where change = w->>'ifPending' for update;
    if not found then return -1; end if;
  end if;
  if w ? 'record' then
    n := lf_append(this, w);
    if n < 0 then return -n; end if;
  end if;
  -- Each condition takes as long as a small query, so one condition tests all rare fields together.
  if w ?| array['by', 'fences', 'dropSession', 'forget'] then
    if w ? 'by' then perform lf_check_time(w); end if;
    if w ? 'fences' then perform lf_check_fences(w); end if;
    if w ? 'dropSession' then
      delete from sessions where id = w->>'dropSession';
      perform lf_forget(w->>'dropSession', here);
    end if;
    if w ? 'forget' then perform lf_forget(f, here) from jsonb_array_elements_text(w->'forget') f; end if;
  end if;
  if w ? 'views' then
    insert into views (session, key, seen, machine) select x.s, x.k, x.v, here
      from rows from (jsonb_to_recordset(w->'views') as (s text, k text, v text)) with ordinality as x(s, k, v, i) order by x.i;
  end if;
  if w ? 'settle' then
    for i in 0 .. jsonb_array_length(w->'settle') - 1 loop
      delete from pending where change = w->'settle'->>i;
    end loop;
  end if;
  if w ? 'announce' then
    a := w->'announce';
    for i in 0 .. jsonb_array_length(a->'k') - 1 loop keys[i + 1] := a->'k'->>i; end loop;
    insert into pending (change, machine, roots, keys, announced) values (a->>'c', here, array[a->>'r'], keys, a->>'t')
      on conflict (change) do update set announced = excluded.announced;
  end if;
  if w ?| array['owner', 'session'] then
    if w ? 'owner' then
      insert into owners values (w->>'owner', here, clock_timestamp() + interval '20 seconds')
        on conflict (id) do update set until = excluded.until;
    end if;
    if w ? 'session' then
      insert into sessions values (w->'session'->>'i', w->'session'->>'r', w->'session'->>'t', (w->'session'->>'l')::bigint)
        on conflict (id) do update set root = excluded.root, record = excluded.record, last_ms = excluded.last_ms;
    end if;
  end if;
  if hashes is not null then
    insert into images select x.h, coalesce(length(x.b), 0), x.b, here, ${SERVER_CLOCK}
      from unnest(hashes, bodies) as x(h, b) order by x.h
      on conflict (sha256) do update set since_ms = excluded.since_ms, body = coalesce(images.body, excluded.body);
  end if;
  if w ? 'here' then
    insert into images select x.h, x.z, null, here, ${SERVER_CLOCK}
      from jsonb_to_recordset(w->'here') as x(h text, z bigint) order by x.h
      on conflict (sha256) do update set since_ms = excluded.since_ms;
  end if;
  -- Check again, because another record may have held a lock that this one needed.
  if w ? 'by' then perform lf_check_time(w); end if;
  return n;
end $f$;

create or replace function ${s}.lf_close(this text) returns void language sql
  security definer set search_path = ${s}, pg_temp as $f$
  update chains set closed = true where chain = this;
$f$;

create or replace function ${s}.lf_place(w jsonb) returns void language plpgsql
  security definer set search_path = ${s}, pg_temp as $f$
begin
  -- If one row says that the workspace is shared, all its rows say so: machines may have it in different folders.
  insert into places
    select w->>'machine', x.r, x.n, x.s or exists (select from places p where p.workspace = x.n and p.shared)
    from jsonb_to_recordset(w->'places') as x(r text, n text, s boolean) order by 2
    on conflict (machine, root) do update set workspace = excluded.workspace,
      shared = excluded.shared or (places.shared and places.workspace = excluded.workspace);
end $f$;

${leaseFunctions(s)}

-- Deletes the oldest entries, up to the number \`through\`, and at most \`step\` of them.
create or replace function ${s}.lf_prune(through bigint, step int) returns bigint language plpgsql
  set search_path = ${s}, pg_temp as $f$
declare gone bigint; cut bigint;
begin
  perform pg_advisory_xact_lock(${CLEAN_UP_LOCK});
  -- Processes that had views of a removed session in memory have dropped them long ago.
  delete from views v where v.key = '' and not exists (select from sessions s where s.id = v.session)
    and (v.seen::json->>'atMs')::bigint < ${SERVER_CLOCK} - ${DAY_MS};
  -- Views that later ones of the same file have replaced: a look-up does not reach them.
  delete from views where n in (
    select n from (select n, row_number() over (partition by session, key order by n desc) as place
      from views where key <> '') x where place > ${VIEWS_OF_FILE});
  -- A process counts as ended if its heartbeat is old or has no row. So old rows need not be kept.
  delete from owners where until < clock_timestamp() - interval '1 day';
  delete from leases where until < clock_timestamp() - interval '1 day';
  select max(x.seq) into cut from (select seq from entries where seq <= through order by seq limit step) x;
  if cut is null then return 0; end if;
  with last as materialized (
    select c.chain, x.n, x.hash, x.seq from chains c join (
      select distinct on (chain) chain, n, hash, seq from entries where seq <= cut order by chain, n desc) x on x.chain = c.chain
    where x.n > c.checkpoint_n order by c.chain for update of c)
  update chains c set checkpoint_n = last.n, checkpoint_hash = last.hash, checkpoint_seq = last.seq
    from last where c.chain = last.chain;
  delete from touches where seq <= cut;
  delete from entries where seq <= cut;
  get diagnostics gone = row_count;
  return gone;
end $f$;

-- Removes ended chains that have no entries any more. Keeps a chain whose end is part of another chain's first hash,
-- because a check would report it as missing. A chain without entries no longer counts for this, because all hashes that
-- were made from its first one are gone. Also keeps the chains with the highest numbers, because readers need these.
create or replace function ${s}.lf_drop_chains(idle_ms bigint) returns bigint language plpgsql
  set search_path = ${s}, pg_temp as $f$
declare gone bigint;
begin
  perform pg_advisory_xact_lock(${CHAINS_LOCK});
  with empty as materialized (
    select chain from chains where checkpoint_n = n and known <> '[]' order by chain for update)
  update chains c set known = '[]' from empty where c.chain = empty.chain;
  delete from chains c where c.checkpoint_n = c.n and (c.closed or c.last_ms < idle_ms)
    and c.seq < (select max(seq) from chains)
    and (c.checkpoint_seq = 0 or c.checkpoint_seq < (select max(checkpoint_seq) from chains))
    and c.chain not in (select m->>0 from chains o, json_array_elements(o.known::json) m where o.known <> '[]');
  get diagnostics gone = row_count;
  return gone;
end $f$;

-- PostgreSQL lets every user call a new function. Without this, a user who may only read could write.
revoke execute on all functions in schema ${s} from public;`;
}

/**
 * SQL functions for heartbeats and leases. They use the server's clock, because clocks of machines
 * differ.
 */
function leaseFunctions(s: string): string {
  return `
create or replace function ${s}.lf_beat(w jsonb) returns bigint language plpgsql
  security definer set search_path = ${s}, pg_temp as $f$
declare renewed bigint := 0;
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into owners values (w->>'owner', w->>'machine', clock_timestamp() + interval '20 seconds')
    on conflict (id) do update set until = excluded.until;
  update leases l set until = clock_timestamp() + interval '30 seconds'
    from jsonb_to_recordset(w->'fences') as f(slot bigint, fence bigint)
    where l.slot = f.slot and l.fence = f.fence;
  get diagnostics renewed = row_count;
  return renewed;
end $f$;

create or replace function ${s}.lf_lease(w jsonb) returns bigint language plpgsql
  security definer set search_path = ${s}, pg_temp as $f$
declare x record; token bigint;
begin
  perform set_config('lock_timeout', '5s', true);
  perform set_config('synchronous_commit', 'off', true);
  for x in select f.slot, f.sharing from jsonb_to_recordset(w->'slots') as f(slot bigint, sharing text) order by f.slot loop
    perform pg_advisory_xact_lock(7710232, (x.slot % 2147483647)::int);
    -- Deletes leases that have run out, and those that this holder does not know: the answer that granted one, or the
    -- request that released it, was lost. The holder's local locks allow only one request for a slot at a time, so
    -- none of its own requests is being answered now.
    delete from leases where slot = x.slot and (until < clock_timestamp() or holder = w->>'holder'
      and (x.sharing = 'alone' or sharing = 'alone') and not w->'held' @> to_jsonb(fence));
    if exists (select 1 from leases l where l.slot = x.slot and (x.sharing = 'alone' or l.sharing = 'alone')) then
      return null;
    end if;
  end loop;
  token := nextval('fences');
  insert into leases select f.slot, w->>'holder', f.sharing, token, clock_timestamp() + interval '30 seconds'
    from jsonb_to_recordset(w->'slots') as f(slot bigint, sharing text) order by 1;
  return token;
end $f$;

create or replace function ${s}.lf_release(w jsonb) returns void language sql
  security definer set search_path = ${s}, pg_temp as $f$
  delete from leases l using jsonb_to_recordset(w->'fences') as f(slot bigint, fence bigint)
    where l.slot = f.slot and l.fence = f.fence;
$f$;`;
}
