import { setTimeout } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import {
  fingerprintOf,
  isReadOnly,
  kindOf,
  type ReadLimits,
  readNow,
  readSnapshot,
  type Snapshot,
  type Unreadable,
} from '../disk/read.ts';
import { type Facts, isStub, type JudgedAction, type Target } from '../judge/facts.ts';
import { NOTHING, WHOLE } from '../model/coverage.ts';
import { lastAt } from '../model/delta.ts';
import { type Fingerprint, sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import type { ResolvedPath } from '../model/path.ts';
import { coverageOfPages, NO_FLAGS, type SeenPage, type Sighting } from '../model/sighting.ts';
import type { CopiedText, Outcome, Refused, Writer } from '../model/verdict.ts';
import { lastChange } from '../store/store.ts';
import { decodeText } from '../text/decode.ts';
import { countFileLines } from '../text/file-lines.ts';
import { viewOf as bufferOf, sliceLineBytes } from '../text/lines.ts';
import { copiedFrom, findPlaceholder } from '../text/placeholder.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Found, Located } from '../workspace/workspace.ts';
import { type Asking, bypassFacts } from './announce.ts';
import { startUpGuard } from './guarded-files.ts';
import type { World } from './world.ts';

/** A file that became empty within this time may be in the middle of a save by another program. */
const JUST_MS = 500;

const LOOK_AGAIN_MS = 10;
const MAX_LOOKS = 15;

/** A path's state as one session knows it. */
export interface LookedFile {
  readonly path: ResolvedPath;
  /** The folder is open only while `look` runs `work`. */
  readonly located: Located;
  readonly sighting: Sighting | undefined;
  /** Set once the bytes were read. They are read only for sessions that may learn their content. */
  readonly snapshot: Snapshot | undefined;
  readonly facts: Facts;
}

interface LookRequest {
  readonly path: string;
  readonly action: JudgedAction;
  /** `status`: locate the path for a status query, which is allowed even where changes are not. */
  readonly locatedFor?: 'status';
  readonly expectedRevision?: string | undefined;
  /** True if the insert is an append. */
  readonly appends?: boolean;
  /** `parents`: if the last part of the path is a link, use the link itself, not its target. */
  readonly links?: 'all' | 'parents';
  /** `glance`: a trustworthy stamp is enough. `bytes`: read the bytes, because a change follows. */
  readonly depth: 'glance' | 'bytes';
  /** `skip`: do not look up the session that wrote the present bytes. */
  readonly writer?: 'skip';
}

/**
 * Gathers the facts for a verdict and runs `work` with them. Reads a file's bytes only for sessions
 * that may learn their content.
 */
export async function look<T>(
  world: World,
  knowledge: Knowledge,
  request: LookRequest,
  work: (view: LookedFile) => T | Promise<T>,
): Promise<T | Refused> {
  const first = world.workspace.locate(request.path, request.locatedFor ?? request.action, request.links);
  const outcome = isJustEmptied(first) ? await locateSettled(world, request, first) : first;
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  try {
    const { key } = located.place.path;
    const { sighting } = knowledge.recallLocked(key) ?? { sighting: await knowledge.recall(key) };
    return await work(await viewOf(world, knowledge, { request, located, sighting }));
  } finally {
    located.place.dir.close();
  }
}

/**
 * Locates a path. A file that was emptied a moment ago is checked again, for a bounded time: an editor that saves by
 * truncating is about to write it.
 */
async function locateSettled(
  world: World,
  request: LookRequest,
  first: Outcome<{ located: Located }>,
): Promise<Outcome<{ located: Located }>> {
  let outcome = first;
  for (let looks = 1; looks < MAX_LOOKS && isJustEmptied(outcome); looks += 1) {
    if (outcome.ok) outcome.located.place.dir.close();
    await setTimeout(LOOK_AGAIN_MS);
    outcome = world.workspace.locate(request.path, request.locatedFor ?? request.action, request.links);
  }
  return outcome;
}

function isJustEmptied(outcome: Outcome<{ located: Located }>): boolean {
  if (!outcome.ok) return false;
  const { located } = outcome;
  if (!located.exists || !located.stats.isFile() || located.stats.size !== 0n) return false;
  return Math.abs(Date.now() - Number(located.stats.mtimeMs)) < JUST_MS;
}

interface LookTarget<Where extends Located> {
  readonly request: LookRequest;
  readonly located: Where;
  readonly sighting: Sighting | undefined;
}

async function viewOf(world: World, asking: Asking, looking: LookTarget<Located>): Promise<LookedFile> {
  const { request, located, sighting } = looking;
  const { path } = located.place;
  const facts = glanceFacts(world, looking, asking);
  const view = { path, located, sighting, snapshot: undefined, facts };
  const protectedBy = facts.bypassedBy === undefined ? startUpGuard(world, path.relative) : undefined;
  if (protectedBy !== undefined) return { ...view, facts: { ...facts, protectedBy } };
  if (!located.exists || !located.stats.isFile()) return view;
  if (request.depth === 'glance' && facts.freshness === 'same' && request.expectedRevision === undefined)
    return view;
  const known = countingSighting(sighting);
  // Leave the freshness unknown: before a change, an equal stamp does not prove equal bytes.
  const unread = { ...view, facts: { ...facts, freshness: undefined } };
  if (!mayRead(world, facts, known)) return unread;
  const looked = { located, known, request };
  const snapshot = snapshotNow(world, looked) ?? (await readSnapshot(located.place, limitsOf(looked)));
  if ('problem' in snapshot)
    return { ...view, facts: { ...facts, freshness: 'unknown', errno: whyUnread(snapshot) } };
  const read = readFacts(world, looked, snapshot);
  // The file that the session saw was deleted. A new file has bytes that it has not seen.
  if (read === 'unseen' && !mayRead(world, facts, undefined)) return unread;
  const own = read === 'unseen' ? currentFacts(world, looked, snapshot) : read;
  const seen: Facts = Object.assign(facts, { freshness: undefined }, own);
  if (isWriterWanted(seen, request)) {
    const file = { key: path.key, now: snapshot.fingerprint };
    Object.assign(seen, { writer: await writerOf(world, asking.session, { seen, file }) });
  }
  return { path, located, sighting: seen.sighting, snapshot, facts: seen };
}

/** The facts that need no further disk access. One object literal, because it is built fastest. */
function glanceFacts(
  world: World,
  { request, located, sighting }: LookTarget<Located>,
  asking: Asking,
): Facts {
  const { path } = located.place;
  const known = located.exists && located.stats.isFile() ? countingSighting(sighting) : undefined;
  const fresh = known !== undefined && located.exists && hasStampOf(known, located);
  return {
    action: request.action,
    path: request.path,
    nowMs: world.now(),
    target: located.exists ? targetOf(located) : NO_TARGET,
    sighting,
    isRoot: world.workspace.isRoot(path),
    expectedRevision: request.expectedRevision,
    appends: request.appends,
    freshness: fresh ? 'same' : undefined,
    otherTime: known?.stamp && located.exists ? located.stats.mtimeNs !== known.stamp.mtimeNs : undefined,
    ...bypassFacts(world, path, asking),
  };
}

const NO_TARGET: Target = { exists: false };

/** An edit holds several copies of the text in the heap. With less heap for each, V8 would end the process. */
const TEXTS_IN_HEAP = 6;

function maxEditBytes(): number {
  return Math.min(LIMITS.maxEditBytes, Math.floor(getHeapStatistics().heap_size_limit / TEXTS_IN_HEAP));
}

function targetOf(found: Found): Target {
  const sizeBytes = Number(found.stats.size);
  return {
    exists: true,
    kind: kindOf(found.stats),
    sizeBytes,
    ...(sizeBytes > LIMITS.hugeBytes ? { limitBytes: maxEditBytes() } : {}),
    readOnly: isReadOnly(found.stats),
    empty: found.stats.size === 0n,
    mtimeMs: Number(found.stats.mtimeMs),
  };
}

/**
 * Drops a sighting that permits nothing. A deletion record (tombstone) permits a change only if it
 * names bytes that the session saw earlier.
 */
function countingSighting(sighting: Sighting | undefined): Sighting | undefined {
  if (sighting === undefined || isStub(sighting)) return undefined;
  return sighting.tombstone === true && sighting.seenBefore === undefined ? undefined : sighting;
}

/**
 * True if the file's stamp proves that the file holds the seen bytes. For pages of a huge file,
 * which have no hash, an equal stamp always counts as proof.
 */
function hasStampOf(sighting: Sighting, found: Found): boolean {
  if (sighting.stamp === undefined || (sighting.racy && sighting.fingerprint !== undefined)) return false;
  return sameStamp(sighting.stamp, found.stats);
}

function mayRead(world: World, facts: Facts, known: Sighting | undefined): boolean {
  if (!facts.target.exists || facts.target.sizeBytes > LIMITS.maxEditBytes) return false;
  return (
    known !== undefined ||
    facts.target.empty ||
    facts.expectedRevision !== undefined ||
    facts.bypassedBy !== undefined ||
    (facts.appends === true && world.policy.append === 'free') ||
    world.policy.seen === 'optional'
  );
}

/** True if a refusal may name the session or command that wrote the present bytes. */
function isWriterWanted({ freshness, sighting }: Facts, { writer }: LookRequest): boolean {
  if (freshness === 'changed') return writer !== 'skip';
  return freshness === 'same' && sighting?.coverage.kind === 'none' && sighting.lost === undefined;
}

function writerOf(
  world: World,
  session: string,
  {
    seen,
    file,
  }: { readonly seen: Facts; readonly file: { readonly key: string; readonly now: Fingerprint } },
): Promise<Writer | undefined> {
  return seen.freshness === 'changed'
    ? siblingOf(world, session, file)
    : ownCommandOf(world, session, file.key);
}

interface ReadTarget {
  readonly located: Found;
  readonly known: Sighting | undefined;
  readonly request: LookRequest;
}

/** The file from this process's cache, or read at once because it is small. */
function snapshotNow(world: World, looked: ReadTarget): Snapshot | undefined {
  const limits = limitsOf(looked);
  return rememberedSnapshot(world, looked.located, limits.known) ?? readNow(looked.located.place, limits);
}

function limitsOf({ located, known, request: { action } }: ReadTarget): ReadLimits {
  // An edit keeps all bytes that it does not replace. So a trusted stamp that is unchanged can
  // replace hashing, and also reading if the bytes are cached. Other changes check every byte.
  const sparing = action === 'edit' || action === 'insert' ? trusted(known) : undefined;
  return { clock: undefined, seen: located.stats, known: sparing };
}

function currentFacts(
  world: World,
  { known, request }: ReadTarget,
  { fingerprint }: Snapshot,
): Pick<Facts, 'currentHash' | 'currentRevision'> {
  // The caller sent a revision, or a repeated refusal will name it.
  const isNeeded = request.expectedRevision !== undefined || known?.refusedContent !== undefined;
  const currentRevision = isNeeded ? world.revisionOf(fingerprint) : undefined;
  return { currentHash: fingerprint.sha256, currentRevision };
}

/** The facts that follow from the bytes of a file. `unseen`: the session saw another file at this path. */
function readFacts(world: World, looked: ReadTarget, snapshot: Snapshot): Partial<Facts> | 'unseen' {
  const { known } = looked;
  const current = currentFacts(world, looked, snapshot);
  if (known === undefined) return current;
  const still = stillSeen(known, snapshot);
  if (still === undefined) return known.tombstone === true ? 'unseen' : { ...current, freshness: 'changed' };
  const { fingerprint } = snapshot;
  const cameBack =
    known.tombstone === true ||
    !sameFingerprint(still.fingerprint ?? fingerprint, known.fingerprint ?? fingerprint);
  return { sighting: still, cameBack, freshness: 'same', ...current };
}

/**
 * A snapshot from this process's cache, if the stamp can be trusted and is unchanged. A change based on it still
 * compares every byte before writing.
 */
export function rememberedSnapshot(
  world: World,
  { stats }: Found,
  known: ReadLimits['known'],
): Snapshot | undefined {
  if (known === undefined || !sameStamp(known.stamp, stats)) return undefined;
  const { fingerprint, stamp } = known;
  const bytes = world.baselines.peek(fingerprint);
  return bytes && { bytes: bufferOf(bytes), fingerprint, stamp, stats, racy: false };
}

/** The stamp and fingerprint last seen, if an unchanged stamp proves unchanged bytes. */
export function trusted(known: Sighting | undefined): ReadLimits['known'] {
  if (known?.stamp === undefined || known.fingerprint === undefined || known.racy) return undefined;
  return { stamp: known.stamp, fingerprint: known.fingerprint };
}

/** The session's record, as far as it fits the present bytes. Undefined if no part of it fits. */
function stillSeen(known: Sighting, snapshot: Snapshot): Sighting | undefined {
  if (isAsSeen(known, snapshot)) return known;
  const back = known.seenBefore?.find((each) => sameFingerprint(each, snapshot.fingerprint));
  if (back !== undefined) return seenWhole(known, snapshot);
  const pages = known.pages?.filter((page) => isAsShown(page, snapshot.bytes)) ?? [];
  if (pages.length === 0) return undefined;
  const coverage = known.lost === undefined ? coverageOfPages(pages) : NOTHING;
  return { ...known, fingerprint: undefined, pages, coverage };
}

/**
 * The record for earlier bytes that are back in the file. The session saw them whole, so the
 * model's context still has them.
 */
function seenWhole(
  { refusedContent: _refused, tombstone: _gone, ...known }: Sighting,
  snapshot: Snapshot,
): Sighting {
  const { fingerprint, stamp, racy } = snapshot;
  const totalLines = countFileLines(snapshot.bytes);
  return { ...known, fingerprint, stamp, racy, coverage: WHOLE, totalLines, flags: NO_FLAGS };
}

function isAsSeen(known: Sighting, snapshot: Snapshot): boolean {
  if (known.fingerprint !== undefined) return sameFingerprint(known.fingerprint, snapshot.fingerprint);
  if (known.stamp === undefined || !sameStamp(known.stamp, snapshot.stamp)) return false;
  return known.pages === undefined || known.pages.every((page) => isAsShown(page, snapshot.bytes));
}

/**
 * True if a page of a huge file is unchanged at its position. Text added after it does not matter.
 */
function isAsShown(page: SeenPage, bytes: Uint8Array): boolean {
  return fingerprintOf(sliceLineBytes(bytes, page)).sha256 === page.sha256;
}

function whyUnread(problem: Unreadable): string {
  return problem.problem === 'denied' ? problem.errno : problem.problem;
}

/** The other session whose recorded change left the present bytes, or undefined if no recorded change did. */
export async function siblingOf(
  world: World,
  session: string,
  file: { readonly key: string; readonly now: Fingerprint },
): Promise<Writer | undefined> {
  const entry = await lastChange(world.store, file.key);
  if (entry === undefined || entry.session === session) return undefined;
  const after = lastAt(entry.deltas, file.key)?.after;
  if (after?.kind !== 'file' || after.fingerprint.sha256 !== file.now.sha256) return undefined;
  const { session: by, atMs, turn } = entry;
  const { client } = (await world.store.session(by)) ?? {};
  return {
    session: by,
    atMs,
    ...(client === undefined ? {} : { client }),
    ...(turn === undefined ? {} : { turn }),
  };
}

/** The session's own command that changed a file the session had seen, if no line of the result was shown. */
async function ownCommandOf(world: World, session: string, key: string): Promise<Writer | undefined> {
  const entry = await lastChange(world.store, key);
  if (entry?.session !== session || entry.action !== 'run' || entry.text === undefined) return undefined;
  return { session, atMs: entry.atMs, command: entry.text };
}

/** Describes the first line of the new text that is a placeholder, or was copied with its line number. */
export function placeholderIn(
  text: string | undefined,
  view: LookedFile,
  at?: number,
): CopiedText | undefined {
  // A new file has no old text that a placeholder could leave out.
  if (text === undefined || !view.located.exists) return undefined;
  const existing = (): string | undefined => view.snapshot && decodeText(view.snapshot.bytes)?.text;
  const found = findPlaceholder(text, existing, at === undefined ? {} : { at });
  return found && copiedFrom(found);
}
