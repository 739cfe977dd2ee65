import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyChain } from '../../src/journal/verify.ts';
import { deltasOf, type Entry, isChange } from '../../src/model/entry.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { loadSqlite } from '../../src/store/sqlite/driver.ts';
import { type Child, startChild } from '../support/child.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import { random } from './random.ts';
import { bodyOf, sealed } from './sealed.ts';
import { difference, type Files, filesIn, pathsIn, replay, story, treeWithModes } from './tree-replay.ts';

export interface KillTally {
  rounds: number;
  killed: number;
  acknowledged: number;
  changes: number;
  /** Changes that a later start found done or partly done after their process died. */
  recovered: number;
  images: number;
  undone: number;
}

type Told = { readonly change: string } | { readonly fault: string };

/**
 * Kills writers on one tree at random moments, round after round. After every round, opens the
 * workspace again and checks the files, the journal and the stored images. Returns the counts, and
 * a description of each fault that was found.
 */
export async function killRounds(run: {
  readonly rounds: number;
  readonly writers: number;
  readonly seed: number;
}): Promise<{ readonly tally: KillTally; readonly broken: string[] }> {
  const places = prepare();
  const start = filesIn(places.root);
  const tally = { rounds: 0, killed: 0, acknowledged: 0, changes: 0, recovered: 0, images: 0, undone: 0 };
  const broken: string[] = [];
  const chance = random(run.seed);
  for (let round = 1; round <= run.rounds; round += 1) {
    const before = treeWithModes(places.root);
    const sinceSeq = await headOf(places);
    const names = Array.from({ length: run.writers }, (_, index) => `r${round}w${index}`);
    const told = await killedWriters(places, names, chance);
    tally.rounds += 1;
    tally.killed += run.writers;
    const faults = told.flatMap((each) => ('fault' in each ? [each.fault] : []));
    const found = await check(places, { start, names, sinceSeq, before, undo: round % 2 === 0 });
    for (const key of ['acknowledged', 'changes', 'recovered', 'images', 'undone'] as const)
      tally[key] += found[key];
    broken.push(...[...faults, ...found.broken].map((text) => `round ${round}: ${text}`));
    if (broken.length > 20) break;
  }
  broken.push(...(await checkDatabase(places)));
  return { tally, broken };
}

function prepare(): Scratch {
  const places = scratch();
  mkdirSync(join(places.root, 'd'), { mode: 0o700 });
  for (const [name, mode] of [
    ['f0', 0o600],
    ['d/f1', 0o640],
  ] as const)
    writeFileSync(join(places.root, name), sealed(`at the beginning: ${name}`), { mode });
  return places;
}

function open(places: Scratch): Promise<Sessions> {
  return Sessions.open({ roots: [places.root], home: places.home, policy: { durability: 'none' } });
}

async function headOf(places: Scratch): Promise<number> {
  const sessions = await open(places);
  const { head } = await sessions.world.store.state();
  await sessions.close();
  return head.seq;
}

/**
 * Kills writers one after the other, while the others continue. Before it kills a writer, it waits
 * for a random number of reports from the writer after that one, instead of for a fixed time.
 */
async function killedWriters(
  places: Scratch,
  names: readonly string[],
  { roll }: ReturnType<typeof random>,
): Promise<Told[]> {
  const children = await Promise.all(
    names.map((session) =>
      startChild('session-writer', {
        root: places.root,
        home: places.home,
        session,
        seed: roll(1 << 30),
        acknowledged: join(places.base, session),
        durability: roll(3) === 0 ? 'full' : 'none',
      }),
    ),
  );
  for (const child of children) await child.message();
  for (const child of children) child.send('go');
  const told: Told[] = [];
  for (const [index, child] of children.entries()) {
    const witness = children.at(index + 1) ?? child;
    for (let left = 1 + roll(12); left > 0; left -= 1) told.push(await witness.message<Told>());
    await delay(roll(2000));
    child.process.kill('SIGKILL');
  }
  for (const child of children) {
    await child.exit();
    told.push(...(await rest(child)));
  }
  return told;
}

/**
 * Waits for some microseconds. Without this pause, every kill would hit the same point of a
 * writer's work.
 */
async function delay(us: number): Promise<void> {
  const end = performance.now() + us / 1000;
  while (performance.now() < end) await new Promise((resolve) => setImmediate(resolve));
}

async function rest(child: Child): Promise<Told[]> {
  const told: Told[] = [];
  while (child.waiting > 0) told.push(await child.message<Told>());
  return told;
}

interface Round {
  readonly start: Files;
  readonly names: readonly string[];
  readonly sinceSeq: number;
  readonly before: readonly string[];
  readonly undo: boolean;
}

type Found = Omit<KillTally, 'rounds' | 'killed'> & { readonly broken: string[] };

async function check(places: Scratch, round: Round): Promise<Found> {
  const sessions = await open(places);
  const { world } = sessions;
  const broken: string[] = [];
  try {
    const acknowledged = round.names.flatMap((name) => linesOf(join(places.base, name)));
    const entries = await world.store.entries({
      afterSeq: round.sinceSeq,
      kinds: ['change'],
      order: 'oldest',
    });
    const ids = new Set(entries.map((entry) => entry.change));
    if (ids.size !== entries.length) broken.push('a change is in the journal twice');
    for (const change of acknowledged)
      if (!ids.has(change)) broken.push(`${change} was acknowledged and is not in the journal`);
    const images = await checkImages(sessions, entries, broken);
    broken.push(...checkTree(places.root));
    const pending = await world.store.pending();
    if (pending.length > 0) broken.push(`${pending.length} changes are still announced`);
    broken.push(...(await checkReplay(sessions, places.root, round.start)));
    const undone = round.undo ? await undoRound(sessions, places, { ...round, entries }, broken) : 0;
    const recovered = entries.filter((entry) => entry.recovered === true).length;
    return { acknowledged: acknowledged.length, changes: entries.length, recovered, images, undone, broken };
  } finally {
    await sessions.close();
  }
}

async function checkImages(sessions: Sessions, entries: readonly Entry[], broken: string[]): Promise<number> {
  let images = 0;
  for (const entry of entries) {
    for (const { before, relative } of deltasOf(entry)) {
      if (before.kind !== 'file' || !before.kept) continue;
      images += 1;
      await sessions.world.images.read(before.fingerprint).catch((error: unknown) => {
        broken.push(`${entry.change} ${relative}: ${String(error)}`);
      });
    }
  }
  return images;
}

function checkTree(root: string): string[] {
  return pathsIn(root).flatMap((path) => {
    if (path.includes('.lookfirst-')) return [`${path} was left behind`];
    const file = join(root, path);
    return filesIn(root).has(path) && bodyOf(readFileSync(file, 'utf8')) === undefined
      ? [`${path} is torn`]
      : [];
  });
}

async function checkReplay(sessions: Sessions, root: string, start: Files): Promise<string[]> {
  const { files, breaks } = replay(await sessions.world.store.entries({ kinds: ['change'] }), start);
  const lines = (from: Map<string, string>): string[] =>
    [...from].map(([path, sha256]) => `${path} ${sha256}`);
  const apart = difference(lines(files), lines(filesIn(root)));
  return [...breaks.slice(0, 5), ...apart].map((text) => `journal: ${text}`);
}

/** Undoes all changes of this round. Checks that the tree is then as it was before the round. */
async function undoRound(
  sessions: Sessions,
  { root }: Scratch,
  round: Round & { readonly entries: readonly Entry[] },
  broken: string[],
): Promise<number> {
  if (round.entries.length === 0) return 0;
  const session = await sessions.session();
  const sinceMs = Math.min(...round.entries.map((entry) => entry.atMs));
  const outcome = await session.undo({ sinceMs });
  if (!outcome.ok) {
    broken.push(`undo: ${JSON.stringify(outcome.refusal)}\n${story(round.entries.filter(isChange))}`);
    return 0;
  }
  for (const line of difference(round.before, treeWithModes(root))) broken.push(`after undo: ${line}`);
  return outcome.undid.length;
}

async function checkDatabase({ home }: Scratch): Promise<string[]> {
  const file = join(home, 'lookfirst.db');
  const db = (await loadSqlite())(file);
  const checked = JSON.stringify(db.prepare('pragma integrity_check').all());
  db.close();
  const { openSqliteStore } = await import('../../src/store/sqlite/sqlite-store.ts');
  const store = await openSqliteStore(file);
  const chain = await verifyChain(store);
  await store.close();
  return [
    ...(checked === '[{"integrity_check":"ok"}]' ? [] : [checked]),
    ...(chain.ok ? [] : [JSON.stringify(chain)]),
  ];
}

function linesOf(file: string): string[] {
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];
}
