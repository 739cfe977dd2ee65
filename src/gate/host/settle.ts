import { setTimeout } from 'node:timers/promises';
import { settingsFileAt } from '../../dialect/clients/settings-files.ts';
import { outermostKeys } from '../../lock/locks.ts';
import type { ClientCall } from '../../model/call.ts';
import {
  ABSENT,
  byPath,
  type Delta,
  endsOf,
  joinMoves,
  lastAt,
  type State,
  sameContent,
  sameState,
} from '../../model/delta.ts';
import type { HostWrite, NewEntry, PendingChange } from '../../model/entry.ts';
import { isWithin } from '../../model/path.ts';
import type { Notice } from '../../model/results.ts';
import type { ChangeEnding } from '../../model/session.ts';
import type { Sighting } from '../../model/sighting.ts';
import { pathExists } from '../../process/git.ts';
import { endingUsed } from '../../text/lines.ts';
import type { Located } from '../../workspace/workspace.ts';
import { newChangeId } from '../announce.ts';
import { foundAt, readableAt, sideAt } from '../found.ts';
import { forbiddenNow } from '../guarded-files.ts';
import { HOST_POLL_MS, HOST_WRITES_MS, isHostWriting } from '../host-writes.ts';
import { type CommandChange, findLosses, type Losses, recordLosses } from '../losses.ts';
import { imagesToSettle } from '../old-bytes.ts';
import type { ShownScene } from '../shown.ts';
import { readTree, type TreeNode } from '../tree.ts';
import type { World } from '../world.ts';
import { dropSnapshots, lostChangeNotices } from './command.ts';
import { commandEndStates } from './command-end-states.ts';
import { curlyLines } from './curly-lines.ts';
import { type EndState, type KnownAfter, knownAfter } from './known-after.ts';
import {
  changedSeenNotices,
  filesNotice,
  notKeptNotices,
  type OwnDeltas,
  withoutOlderFiles,
} from './older-files.ts';

export interface Ended {
  readonly ending: ChangeEnding;
  /** The lines that notices showed before the change was made. They count as seen. */
  readonly credits: readonly Sighting[];
  /** The lines that count as seen until the notices are sent, of the same files. */
  readonly untold?: readonly Sighting[] | undefined;
  /** When the call that makes the change arrived and was answered. */
  readonly times?: ClientCall | undefined;
}

/**
 * The keys to lock while a change's result is recorded. A change without known files has a key of
 * its own. Otherwise two processes could record the result at the same time.
 */
export function keysToSettle(
  { home }: World,
  { change, entry, locked = [] }: PendingChange,
): readonly string[] {
  const keys = outermostKeys([...locked, ...entry.deltas.flatMap(endsOf)]);
  return keys.length === 0 ? [`${home}/settling/${change}`] : keys;
}

/**
 * Records the real deltas of another program's change. After `done`, also records the lines that
 * the session has now seen. After `unknown`, the program may still write: files that it has not
 * changed yet count as unread. The caller must hold the locks of the change.
 */
export async function settleHost(
  scene: ShownScene,
  pending: PendingChange,
  ended: Ended,
): Promise<readonly Notice[]> {
  if (isOnLayer(pending)) return settleOnLayer(scene, pending);
  const endStates = await endStatesOf(scene, pending);
  const notices = await settleAs(scene, { pending, endStates }, ended);
  if (ended.ending === 'unknown')
    for (const { delta, now } of endStates)
      if (sameState(delta.before, now.side)) await scene.knowledge.forget(delta.key);
  return notices;
}

/**
 * Compares bytes to record a change whose end no program reported. The recorded end is `failed` if
 * the files are unchanged, `done` if they are as planned, and otherwise `unknown`. Records nothing
 * if a file cannot be read. `untouched: leave`: also records nothing if the files are unchanged.
 */
export async function settleByBytes(
  scene: ShownScene,
  pending: PendingChange,
  { untouched }: { readonly untouched: 'settle' | 'leave' },
): Promise<void> {
  if (isOnLayer(pending)) {
    if (untouched === 'settle') await settleOnLayer(scene, pending);
    return;
  }
  let endStates: readonly EndState[];
  try {
    endStates = await endStatesOf(scene, pending);
  } catch {
    return;
  }
  const isUntouched = endStates.every(({ delta, now }) => sameState(delta.before, now.side));
  if (isUntouched && untouched === 'leave') return;
  const isDone = endStates.every(({ delta, now }) => sameContent(delta.after, now.side));
  const ending = isUntouched ? 'failed' : isDone ? 'done' : 'unknown';
  const recovered = { ...pending, entry: { ...pending.entry, recovered: true } };
  await settleAs(scene, { pending: recovered, endStates }, { ending, credits: [] });
}

/**
 * Records what a running command has changed at these keys, before another change there. This gets
 * a change id of its own. The command stays pending, because it may change more. The caller must
 * hold the locks of the keys.
 */
export async function settlePart(
  world: World,
  pending: PendingChange,
  keys: readonly string[],
): Promise<void> {
  if (isOnLayer(pending)) return;
  const endStates: EndState[] = [];
  for (const delta of byPath(pending.entry.deltas)) {
    if (!keys.some((key) => isWithin(key, delta.key) || isWithin(delta.key, key))) continue;
    const now = await readableAt(world, delta.key);
    if (now !== undefined) endStates.push({ delta, now });
  }
  const changed = await deltasNow(world, endStates, await overtakenAt(world, pending, endStates));
  const own = withoutOlderFiles(world, pending, { deltas: changed, endStates });
  if (own.deltas.length === 0) return;
  const images = await imagesToSettle(world, own.deltas);
  const entry = { ...settledEntry(world, pending, own), change: newChangeId(), recovered: true };
  await world.store.record({
    ifPending: pending.change,
    entries: [entry],
    ...(images === undefined ? {} : { images }),
  });
}

function isOnLayer({ host }: PendingChange): boolean {
  return host?.command?.onLayer === true;
}

/**
 * Ends the record of a command that ran on a layer, a private view of the workspace. The layer's
 * commit records the command's changes, so nothing is compared here.
 */
async function settleOnLayer({ world }: ShownScene, pending: PendingChange): Promise<readonly Notice[]> {
  await world.store.record({ settle: [pending.change] });
  dropSnapshots(pending);
  world.settledCalls.note(pending);
  return [];
}

async function endStatesOf(scene: ShownScene, pending: PendingChange): Promise<readonly EndState[]> {
  if (pending.host?.command !== undefined)
    return withoutOtherWrites(scene.world, pending, await commandEndStates(scene, pending));
  const endStates: EndState[] = [];
  for (const delta of byPath(pending.entry.deltas))
    endStates.push({ delta, now: await foundAt(scene.world, delta.key) });
  return endStates;
}

async function settleAs(
  scene: ShownScene,
  { pending, endStates }: { readonly pending: PendingChange; readonly endStates: readonly EndState[] },
  { ending, credits, untold, times }: Ended,
): Promise<readonly Notice[]> {
  const { world } = scene;
  const knowledge = scene.knowledge.during(times);
  const { change, entry, host } = pending;
  const overtaken =
    host?.hold === 'none'
      ? await overtakenAt(world, pending, endStates)
      : new Map<string, OvertakingChange>();
  const changed = await deltasNow(world, endStates, overtaken);
  const older = withoutOlderFiles(world, pending, { deltas: changed, endStates });
  const { own, losses, made } = await deltasToRecord(scene, pending, older);
  const { deltas } = own;
  const writes = host?.writes ?? [];
  const notOvertaken = endStates.filter(({ delta }) => !overtaken.has(delta.key));
  const lost =
    host?.command === undefined
      ? []
      : await lostChangeNotices(scene, change, await unseenSince(scene, entry.atMs, notOvertaken));
  const reshaped =
    ending === 'done' && host?.command === undefined ? await reshapedFiles(world, endStates) : [];
  const known =
    ending === 'done'
      ? await knownUntilAnswer({ ...scene, knowledge }, endStates, { writes, credits, untold })
      : NOTHING_KNOWN;
  const images = host?.command === undefined ? undefined : await imagesToSettle(world, deltas);
  const guarded = await changedSettings(world, pending, deltas);
  const entries = [
    ...(deltas.length === 0 ? [] : [settledEntry(world, pending, own)]),
    ...made,
    ...guarded.map((notice) => noticeEntry(world, entry, notice)),
    ...(host?.bypasses ?? []),
    ...(ending === 'done' && host?.command?.layer === 'expected' ? [withoutLayer(world, entry)] : []),
  ];
  await knowledge.record(
    ending === 'done' ? [...credits, ...known.sightings] : [],
    { entries, settle: [change], ...(images === undefined ? {} : { images }) },
    { keys: known.tombstones, atMs: world.now() },
  );
  dropSnapshots(pending);
  world.settledCalls.note(pending);
  return [
    ...(host?.untold ?? []),
    ...guarded,
    ...lost,
    ...(await recordLosses(world, knowledge, { command: commandOf(pending), losses })),
    ...reshaped,
    ...(host?.command === undefined
      ? []
      : await changedSeenNotices(scene.knowledge, deltas, known.sightings)),
    ...filesNotice('older-files', own.older),
    ...notKeptNotices(deltas),
    ...[...overtaken.values()].flatMap(({ notices }) => notices),
  ];
}

const NOTHING_KNOWN: KnownAfter = { sightings: [], tombstones: [] };

/**
 * The session's knowledge after a change. Lines that only the notices of the call show count when
 * it is answered.
 */
async function knownUntilAnswer(
  scene: ShownScene,
  endStates: readonly EndState[],
  {
    writes,
    credits,
    untold = [],
  }: Pick<Ended, 'credits' | 'untold'> & { readonly writes: readonly HostWrite[] },
): Promise<KnownAfter> {
  if (credits.length > 0 && scene.knowledge.call !== undefined) {
    const before = await knownAfter(scene, endStates, { writes, credits: untold });
    for (const each of before.sightings) scene.knowledge.tells(each.key, each);
  }
  return knownAfter(scene, endStates, { writes, credits });
}

interface ToRecord {
  readonly own: OwnDeltas;
  readonly losses: Losses;
  /** Notices that the command created repositories. */
  readonly made: readonly NewEntry[];
}

/**
 * The deltas of a change to record, and what it removed. The changes of git's own files are
 * recorded only if the command removed something, or moved it from the index into a file: an
 * ordinary commit stays when files are undone.
 */
async function deltasToRecord(
  { world, knowledge }: ShownScene,
  pending: PendingChange,
  own: OwnDeltas,
): Promise<ToRecord> {
  if (pending.host?.command === undefined) return { own, losses: NO_LOSSES, made: [] };
  const repositories = own.deltas.filter(isMadeRepository);
  const deltas = own.deltas.filter((delta) => !repositories.includes(delta));
  const losses = await findLosses(world, knowledge, { ...commandOf(pending), deltas });
  const made = repositories.map(({ key, relative }): NewEntry => {
    const { session, root } = pending.entry;
    const text = `made the repository ${relative}`;
    return { kind: 'notice', atMs: world.now(), session, root, key, path: relative, text };
  });
  const recorded = losses.needsGit ? deltas : deltas.filter(({ key }) => !/\/\.git\//.test(key));
  return { own: { ...own, deltas: recorded }, losses, made };
}

const NO_LOSSES: Losses = { names: [], inStash: [], files: [], needsGit: false };

/** True for a new folder that is a repository. Like a commit, it stays when the files are undone. */
function isMadeRepository({ key, before, after }: Delta): boolean {
  return before.kind === 'absent' && after.kind === 'directory' && pathExists(`${key}/.git`);
}

function commandOf({ change, entry: { text = '', root } }: PendingChange): Omit<CommandChange, 'deltas'> {
  return { change, text, root };
}

/**
 * The files that the session has not seen since its command began. A file that it has seen later may
 * differ from the state before the command, although the command dropped nothing.
 */
async function unseenSince(
  { knowledge }: ShownScene,
  beganMs: number,
  endStates: readonly EndState[],
): Promise<readonly EndState[]> {
  const unseen: EndState[] = [];
  for (const endState of endStates)
    if (((await knowledge.recall(endState.delta.key))?.atMs ?? 0) <= beganMs) unseen.push(endState);
  return unseen;
}

/**
 * The journal entry with the real deltas of a change. The entry of a command names the first file
 * that the command changed.
 */
function settledEntry(world: World, pending: PendingChange, { deltas, older }: OwnDeltas): NewEntry {
  const { entry, host } = pending;
  const isFolder = ({ before, after }: Delta): boolean =>
    [before, after].some(({ kind }) => kind === 'directory');
  const first = deltas.find((delta) => !isFolder(delta)) ?? deltas[0];
  const named = host?.command === undefined || first === undefined ? {} : { path: first.relative };
  const told = notKeptNotices(deltas).map(({ kind }) => kind);
  const notices = told.length === 0 ? {} : { notices: told };
  return { ...entry, ...named, ...uncoveredBy(pending, older), ...notices, atMs: world.now(), deltas };
}

/** Number of a session's newest notices that `ranWithoutLayer` searches. */
const MAX_SEARCHED = 50;

function withoutLayer({ now }: World, { session, turn, root }: NewEntry): NewEntry {
  const mark = turn === undefined ? {} : { turn };
  const text = 'a shell command ran directly in the workspace, not on its layer';
  return { kind: 'notice', atMs: now(), session, ...mark, root, text, layer: 'missed' };
}

/**
 * True if the client has run a command of this session directly in the workspace, although a layer
 * (a private view of it) was expected.
 */
export async function ranWithoutLayer({ world, knowledge }: ShownScene): Promise<boolean> {
  const { session } = knowledge;
  const notices = await world.store.entries({ session, kinds: ['notice'], limit: MAX_SEARCHED });
  return notices.some(({ layer }) => layer === 'missed');
}

/**
 * The reason why the journal entry of a command may not name all files that the command changed, as
 * a field of the entry.
 */
function uncoveredBy({ host }: PendingChange, older: readonly string[]): { readonly uncovered?: string } {
  const moved = older.length === 0 ? undefined : MOVED_UNRECORDED;
  const reason = host?.command?.uncovered ?? moved;
  return reason === undefined ? {} : { uncovered: reason };
}

const MOVED_UNRECORDED = 'the command moved files from paths that were not recorded';

/** A change that another writer made and recorded while a host's change was pending. */
interface OvertakingChange {
  /** The state of the path that the other writer left. */
  readonly left: State;
  /** Empty if a command was overtaken by a change of its own session, which needs no notice. */
  readonly notices: readonly Notice[];
}

async function overtakenAt(
  world: World,
  { change, entry }: PendingChange,
  endStates: readonly EndState[],
): Promise<ReadonlyMap<string, OvertakingChange>> {
  const found = new Map<string, OvertakingChange>();
  // The record of a command lists many files, of which the command changes few. Skip the others.
  const concerned = endStates.filter(
    ({ delta, now }) => entry.action !== 'run' || !sameState(delta.before, now.side),
  );
  const changes = await world.store.lastChanges(concerned.map(({ delta }) => delta.key));
  for (const { delta } of concerned) {
    const { key, relative, before } = delta;
    const last = changes.get(key);
    if (last === undefined || last.change === change || last.atMs < entry.atMs) continue;
    const left = lastAt(last.deltas, key)?.after;
    if (left === undefined || sameState(left, before)) continue;
    const notice = { kind: 'overtaken', path: relative, change: last.change, session: last.session } as const;
    const isOwn = entry.action === 'run' && last.session === entry.session;
    found.set(key, { left: await asKept(world, left), notices: isOwn ? [] : [notice] });
  }
  return found;
}

/** The given state of a path. Marks a file as restorable (`kept`) only if its bytes are stored. */
async function asKept({ images }: World, side: State): Promise<State> {
  return side.kind === 'file' ? { ...side, kept: await images.has(side.fingerprint.sha256) } : side;
}

async function deltasNow(
  world: World,
  endStates: readonly EndState[],
  overtaken: ReadonlyMap<string, OvertakingChange>,
): Promise<Delta[]> {
  const deltas: Delta[] = [];
  const announced = new Set(endStates.map(({ delta }) => delta.key));
  for (const { delta, now } of endStates) {
    const { side: after } = now;
    const left = overtaken.get(delta.key)?.left;
    const before = left ?? delta.before;
    if (sameState(before, after)) continue;
    const { sinceUs, ...rest } = delta;
    deltas.push({
      ...rest,
      ...(left !== undefined || sinceUs === undefined ? {} : { sinceUs }),
      before,
      after,
    });
    // The contents of a moved folder need no deltas of their own: an undo moves them back with the
    // folder.
    const isMade = before.kind === 'absent' && after.kind === 'directory' && delta.movedFrom === undefined;
    if (isMade && !pathExists(`${delta.key}/.git`))
      deltas.push(...(await deltasBelow(world, delta.key)).filter(({ key }) => !announced.has(key)));
  }
  return joinMoves(deltas);
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Notices about files whose line endings another program changed, whose byte order mark it dropped, or
 * into whose code it wrote typographic quotes.
 */
async function reshapedFiles(world: World, endStates: readonly EndState[]): Promise<readonly Notice[]> {
  const notices: Notice[] = [];
  for (const { delta, now } of endStates) {
    if (now.snapshot === undefined || delta.before.kind === 'directory') continue;
    const before = await keptBytes(world, delta.before);
    if (before === undefined) continue;
    const path = delta.relative;
    const what = reshaping(before, now.snapshot.bytes);
    if (what !== undefined) notices.push({ kind: 'form-changed', path, what });
    const { quotes: mode } = world.policy;
    const ranges = curlyLines(path, { mode, before, after: now.snapshot.bytes });
    if (ranges.length > 0) notices.push({ kind: 'quotes-kept', path, ranges });
  }
  return notices;
}

type SettingsNotice = Extract<Notice, { readonly kind: 'settings-changed' }>;

/** Notices about settings of clients in which a command has set what only the user may set. */
async function changedSettings(
  world: World,
  { change, host }: PendingChange,
  deltas: readonly Delta[],
): Promise<readonly SettingsNotice[]> {
  if (host?.command === undefined) return [];
  const notices: SettingsNotice[] = [];
  for (const delta of deltas) {
    if (settingsFileAt(delta.relative) === undefined) continue;
    const what = await forbiddenNow(world, delta, await keptBytes(world, delta.before));
    if (what !== undefined) notices.push({ kind: 'settings-changed', path: delta.relative, what, change });
  }
  return notices;
}

function noticeEntry({ now }: World, { session, root }: NewEntry, { path, what }: SettingsNotice): NewEntry {
  const text = `the command changed settings that only the user may change: ${what}`;
  return { kind: 'notice', atMs: now(), session, root, path, text };
}

/** The bytes of a state: none for an absent file. Undefined if they are not kept. */
async function keptBytes({ images, baselines }: World, side: State): Promise<Buffer | undefined> {
  if (side.kind === 'absent') return Buffer.alloc(0);
  if (side.kind !== 'file' || !(await images.has(side.fingerprint.sha256))) return undefined;
  return Buffer.from(baselines.peek(side.fingerprint) ?? (await images.read(side.fingerprint)));
}

function reshaping(before: Buffer, after: Buffer): string | undefined {
  if (before.subarray(0, 3).equals(BOM) && !after.subarray(0, 3).equals(BOM))
    return 'the byte order mark is gone';
  const [was, is] = [before, after].map((bytes) => endingUsed(bytes.toString('latin1')));
  if (was === undefined || is === undefined || was === 'mixed' || was === is) return undefined;
  const names = { '\n': 'LF', '\r\n': 'CRLF', '\r': 'CR', mixed: 'mixed' } as Record<string, string>;
  return `line endings were ${names[was]} and are ${names[is]} now`;
}

/**
 * Maximum number of entries of a folder to record. A folder with more is recorded without its
 * contents, and an undo cannot remove it.
 */
const MAX_MADE = 10_000;

/**
 * Deltas for the contents of a folder that a program made, for example by a copy. Without them, an
 * undo could not remove the folder. If some content is protected or cannot be read, the folder is
 * recorded without contents.
 */
async function deltasBelow(world: World, key: string): Promise<Delta[]> {
  try {
    const deltas: Delta[] = [];
    for (const { path } of nodesBelow(world, key)) {
      const after = await sideAt(world, path.key);
      deltas.push({ key: path.key, relative: path.relative, before: ABSENT, after });
    }
    return deltas;
  } catch {
    // Ignore the error: the change itself must be recorded in any case.
    return [];
  }
}

/** Everything in a folder, each folder before its contents. Empty if there are too many entries. */
function nodesBelow(world: World, key: string): TreeNode[] {
  const read = ({ place }: Located): TreeNode[] => {
    const dir = place.dir.enter(place.name);
    try {
      const [, ...inside] = readTree(world, dir, place.path).reverse();
      return inside.length > MAX_MADE ? [] : inside;
    } finally {
      dir.close();
    }
  };
  return world.workspace.atOnce({ path: key, action: 'undo', links: 'parents' }, read, () => []);
}

/** An announced write of a file that a command seems to have changed. */
interface AnnouncedWrite {
  readonly pending: PendingChange;
  readonly delta: Delta;
}

type WritesByKey = ReadonlyMap<string, readonly AnnouncedWrite[]>;

/**
 * The result of a command, without writes that other calls have announced and made, and whose end is
 * not recorded yet. Each of them is recorded for the session that announced it. If it is not clear
 * who wrote a file, waits up to two seconds for the end of the write.
 */
async function withoutOtherWrites(
  world: World,
  command: PendingChange,
  endStates: readonly EndState[],
): Promise<readonly EndState[]> {
  const giveUpMs = world.now() + HOST_WRITES_MS;
  for (let found = endStates; ; ) {
    const writes = await writesAt(world, command, found);
    const unclear = found.filter((endState) => isUnclear(world, command, { endState, writes }));
    if (unclear.length === 0 || world.now() >= giveUpMs)
      return found.flatMap((endState) => beforeWrites(endState, writes));
    await setTimeout(HOST_POLL_MS);
    found = await readAgain(world, found, unclear);
  }
}

/** The announced writes of all files that the command seems to have changed. */
async function writesAt(
  { store }: World,
  command: PendingChange,
  endStates: readonly EndState[],
): Promise<WritesByKey> {
  const writes = new Map<string, AnnouncedWrite[]>();
  for (const { delta, now } of endStates) if (!sameState(delta.before, now.side)) writes.set(delta.key, []);
  if (writes.size === 0) return writes;
  for (const pending of await store.pending({ here: true })) {
    if (pending.change === command.change || pending.host?.command !== undefined) continue;
    for (const delta of byPath(pending.entry.deltas)) writes.get(delta.key)?.push({ pending, delta });
  }
  return writes;
}

/**
 * True if another session's host is about to write the file or has just written it, and the bytes
 * do not show which. False for files that the command's record names: their locks are held, so the
 * end of the write cannot be recorded now.
 */
function isUnclear(
  world: World,
  { entry }: PendingChange,
  { endState, writes }: { readonly endState: EndState; readonly writes: WritesByKey },
): boolean {
  const { delta, now } = endState;
  const others = writes.get(delta.key) ?? [];
  if (others.length === 0 || byPath(entry.deltas).some(({ key }) => key === delta.key)) return false;
  if (others.some((write) => sameContent(write.delta.before, now.side) || isMade(write, endState)))
    return false;
  return others.some(({ pending }) => isHostWriting(world, pending, entry.session));
}

/** True if the file has the bytes that the write was announced to leave. */
function isMade({ delta: { before, after } }: AnnouncedWrite, { now }: EndState): boolean {
  return !sameContent(before, after) && sameContent(after, now.side);
}

/** The command's result for one file: the state before another call's write, if that write was made. */
function beforeWrites(endState: EndState, writes: WritesByKey): readonly EndState[] {
  const made = writes.get(endState.delta.key)?.find((write) => isMade(write, endState));
  if (made === undefined) return [endState];
  const { before } = made.delta;
  return sameContent(endState.delta.before, before) ? [] : [{ ...endState, now: { side: before } }];
}

async function readAgain(
  world: World,
  endStates: readonly EndState[],
  unclear: readonly EndState[],
): Promise<readonly EndState[]> {
  const read: EndState[] = [];
  for (const endState of endStates) {
    const now = unclear.includes(endState) ? await readableAt(world, endState.delta.key) : endState.now;
    if (now !== undefined) read.push({ ...endState, now });
  }
  return read;
}
