import { CHAIN_START } from '../chain.ts';
import { leaseFunctions } from './heart.ts';

/** An arbitrary lock number. Two processes that start simultaneously must not both migrate. */
export const MIGRATION_LOCK = 7_710_231;
export const DAY_MS = 86_400_000;

/**
 * The functions that run in the server. Writers may only call those with `security definer`. `lf_prune` runs with the
 * caller's own rights, so that only the owner of the schema can shorten the journal.
 */
export function serverFunctions(s: string): string {
  return `
create or replace function ${s}.lf_chain_start(this text, at_machine text) returns ${s}.chains language plpgsql as $f$
declare made ${s}.chains%rowtype; ends text;
begin
  select coalesce(json_agg(json_build_array(x.chain, x.n, x.hash))::text, '[]') into ends
    from (select chain, n, hash from chains where n > 0 order by hour desc, seq desc limit 64) x;
  insert into chains values (
    this, at_machine, 0,
    case when ends = '[]' then '${CHAIN_START.hash}' else encode(sha256(convert_to(ends, 'UTF8')), 'hex') end,
    0, 0, 0, case when ends = '[]' then '${CHAIN_START.hash}' else encode(sha256(convert_to(ends, 'UTF8')), 'hex') end,
    0, ends, 0)
    on conflict (chain) do nothing;
  select * into made from chains where chain = this for update;
  return made;
end $f$;

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

create or replace function ${s}.lf_append(c ${s}.chains, w jsonb, list jsonb) returns bigint language plpgsql as $f$
declare e jsonb; seqs bigint[]; hashes text[]; before bigint := c.n; touched boolean := false;
begin
  for i in 0 .. jsonb_array_length(list) - 1 loop
    e := list->i;
    c.n := c.n + 1;
    c.hash := encode(sha256(convert_to(c.hash || (e->>'j') || c.n, 'UTF8')), 'hex');
    c.seq := nextval('entry_numbers');
    hashes[i + 1] := c.hash;
    seqs[i + 1] := c.seq;
    touched := touched or e ? 'o';
  end loop;
  insert into entries
    select seqs[x.i], x.a, x.k, x.s, x.r, x.p, x.c, x.t, hashes[x.i], c.chain, before + x.i
    from rows from (jsonb_to_recordset(list) as (a bigint, k text, s text, r text, p text, c text, t text))
      with ordinality as x(a, k, s, r, p, c, t, i);
  if touched then
    insert into touches select o.k, seqs[x.i], (x.e->>'a')::bigint
      from jsonb_array_elements(list) with ordinality as x(e, i), jsonb_array_elements_text(x.e->'o') as o(k);
  end if;
  update chains set n = c.n, hash = c.hash, record = (w->>'record')::bigint, seq = c.seq, last_ms = (w->>'now')::bigint
    where chain = c.chain;
  return c.n;
end $f$;

-- A change was judged by what its process remembers: that is still so, and no announced change is in the way.
create or replace function ${s}.lf_check_basis(w jsonb) returns void language plpgsql as $f$
declare b jsonb := w->'basis';
begin
  if not exists (select 1 from sessions where id = b->>'s' and writer = w->>'chain' and version = (b->>'v')::bigint)
    or exists (
      select 1 from pending p, unnest(p.keys) one, jsonb_array_elements_text(b->'k') other
      where p.change <> w->'announce'->>'c'
        and (p.machine = w->>'machine' or p.roots && array(select jsonb_array_elements_text(b->'r')))
        and (one = other or starts_with(one, other || '/') or starts_with(other, one || '/')))
  then
    raise exception 'the basis of the change is outdated' using errcode = 'LF003';
  end if;
end $f$;

create or replace function ${s}.lf_record(w jsonb, hashes text[] default null, bodies bytea[] default null) returns bigint language plpgsql
  security definer set search_path = ${s}, pg_temp as $f$
declare
  c chains%rowtype; n bigint := 0; a jsonb; keys text[] := '{}'; this text := w->>'chain'; reads text := this || '/reads'; here text := w->>'machine';
  appends boolean := jsonb_array_length(w->'entries') > 0;
begin
  perform set_config('lock_timeout', '5s', true);
  if w ? 'lazy' then perform set_config('synchronous_commit', 'off', true); end if;
  if w ? 'record' then
    select * into c from chains where chain = case when appends then this else reads end for update;
    if coalesce(c.n, 0) < (w->>'acknowledged')::bigint then
      raise exception 'the chain % ends before number %', this, w->>'acknowledged' using errcode = 'LF002';
    end if;
    -- Sent again because its answer was lost.
    if c.record >= (w->>'record')::bigint then return case when appends then c.n else 0 end; end if;
  end if;
  if w ? 'ifPending' then
    perform 1 from pending where change = w->>'ifPending' for update;
    if not found then return -1; end if;
  end if;
  if w ? 'basis' then perform lf_check_basis(w); end if;
  if w ? 'fences' then perform lf_check_fences(w); end if;
  if w ? 'dropSession' then
    delete from sessions where id = w->>'dropSession';
    delete from sightings where session = w->>'dropSession';
  end if;
  if w ? 'forget' then
    delete from sightings g using jsonb_to_recordset(w->'forget') as f(s text, k text)
      where g.session = f.s and (f.k is null or g.key = f.k);
  end if;
  if w ? 'sightings' then
    insert into sightings select x.s, x.k, x.v, here from jsonb_to_recordset(w->'sightings') as x(s text, k text, v text)
      order by 1, 2 on conflict (session, key) do update set seen = excluded.seen, machine = excluded.machine;
  end if;
  if w ? 'seenBy' then
    for i in 0 .. jsonb_array_length(w->'seenBy') - 1 loop
      update sessions set writer = this, version = nextval('versions') where id = w->'seenBy'->>i and writer <> this;
    end loop;
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
  if w ? 'owner' then
    insert into owners values (w->>'owner', here, clock_timestamp() + interval '20 seconds')
      on conflict (id) do update set until = excluded.until;
  end if;
  if w ? 'session' then
    insert into sessions values (w->'session'->>'i', w->'session'->>'r', w->'session'->>'t', (w->'session'->>'l')::bigint, this)
      on conflict (id) do update set root = excluded.root, record = excluded.record, last_ms = excluded.last_ms;
  end if;
  if hashes is not null then
    insert into images select x.h, coalesce(length(x.b), 0), x.b, here, (extract(epoch from clock_timestamp()) * 1000)::bigint
      from unnest(hashes, bodies) as x(h, b) order by x.h
      on conflict (sha256) do update set since_ms = excluded.since_ms, body = coalesce(images.body, excluded.body);
  end if;
  if w ? 'here' then
    insert into images select x.h, x.z, null, here, (extract(epoch from clock_timestamp()) * 1000)::bigint
      from jsonb_to_recordset(w->'here') as x(h text, z bigint) order by x.h
      on conflict (sha256) do update set since_ms = excluded.since_ms;
  end if;
  if appends then
    if c.chain is null then c := lf_chain_start(this, here); end if;
    n := lf_append(c, w, w->'entries');
  end if;
  if w ? 'reads' then
    if appends or c.chain is null then select * into c from chains where chain = reads for update; end if;
    if c.chain is null then c := lf_chain_start(reads, here); end if;
    perform lf_append(c, w, w->'reads');
  end if;
  return n;
end $f$;

create or replace function ${s}.lf_close(this text) returns void language sql
  security definer set search_path = ${s}, pg_temp as $f$
  update chains set closed = true where chain in (this, this || '/reads');
$f$;

create or replace function ${s}.lf_place(w jsonb) returns void language plpgsql
  security definer set search_path = ${s}, pg_temp as $f$
begin
  insert into places select w->>'machine', x.r, x.n from jsonb_to_recordset(w->'places') as x(r text, n text) order by 2
    on conflict (machine, root) do update set workspace = excluded.workspace;
end $f$;

${leaseFunctions(s)}

create or replace function ${s}.lf_partitions(from_day bigint, days int) returns void language plpgsql
  security definer set search_path = ${s}, pg_temp as $f$
declare d bigint; name text; part text;
begin
  perform pg_advisory_xact_lock(${MIGRATION_LOCK});
  for d in select * from generate_series(from_day, from_day + days - 1) loop
    foreach part in array array['entries', 'touches'] loop
      name := part || '_' || d;
      continue when to_regclass('${s}.' || quote_ident(name)) is not null;
      begin
        -- Attached, not created in place: that would lock everybody out of the journal for a moment.
        execute format('create table %I (like %I including defaults)', name, part);
        execute format('alter table %I attach partition %I for values from (%s) to (%s)', part, name, d * ${DAY_MS}, (d + 1) * ${DAY_MS});
      exception when check_violation then
        -- Entries of that day are in the table for all other days already, and stay there.
      end;
    end loop;
  end loop;
end $f$;

create or replace function ${s}.lf_checkpoint(from_table text, through bigint) returns void language plpgsql
  set search_path = ${s}, pg_temp as $f$
begin
  execute format('update chains c set checkpoint_n = x.n, checkpoint_hash = x.hash, checkpoint_seq = x.seq
    from (select distinct on (chain) chain, n, hash, seq from %I where seq <= %s order by chain, n desc) x
    where c.chain = x.chain and c.checkpoint_n < x.n', from_table, through);
end $f$;

create or replace function ${s}.lf_prune(through bigint, today bigint, step int) returns bigint language plpgsql
  set search_path = ${s}, pg_temp as $f$
declare part record; gone bigint := 0; newest bigint; d text; cut bigint;
begin
  for part in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = '${s}.entries'::regclass and c.relname ~ '^entries_[0-9]+$' order by c.relname loop
    d := substr(part.relname, 9);
    continue when d::bigint >= today;
    execute format('select max(seq) from %I', part.relname) into newest;
    continue when newest > through;
    perform lf_checkpoint(part.relname, through);
    execute format('select count(*) + %s from %I', gone, part.relname) into gone;
    execute format('drop table %I', part.relname);
    execute format('drop table if exists %I', 'touches_' || d);
  end loop;
  select max(x.seq) into cut from (select seq from entries where seq <= through order by seq limit step) x;
  if cut is null then return gone; end if;
  perform lf_checkpoint('entries', cut);
  delete from touches where seq <= cut;
  delete from entries where seq <= cut;
  get diagnostics newest = row_count;
  return gone + newest;
end $f$;

create or replace function ${s}.lf_prune_reads(before_ms bigint) returns bigint language plpgsql
  set search_path = ${s}, pg_temp as $f$
declare gone bigint;
begin
  with cut as (
    select c.chain, coalesce((select min(e.n) from entries e where e.chain = c.chain and e.at_ms >= before_ms), c.n + 1) as n
      from chains c where c.chain like '%/reads' and c.n > c.checkpoint_n),
  last as (
    select distinct on (e.chain) e.chain, e.n, e.hash from entries e join cut on cut.chain = e.chain and e.n < cut.n
      order by e.chain, e.n desc),
  marked as (
    update chains c set checkpoint_n = last.n, checkpoint_hash = last.hash from last where c.chain = last.chain returning 1),
  deleted as (
    delete from entries e using last where e.chain = last.chain and e.n <= last.n returning 1)
  select count(*) into gone from deleted;
  return gone;
end $f$;

-- PostgreSQL lets everybody call a new function, so a reader could write.
revoke execute on all functions in schema ${s} from public;`;
}
