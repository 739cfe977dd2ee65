import { fingerprintOf } from '../../disk/read.ts';
import {
  isGitConfig,
  isGitLink,
  isGitPointer,
  isGuarded,
  leadsOutOfGit,
} from '../../judge/guarded-configuration.ts';
import { missingLines } from '../../model/coverage.ts';
import { lastAt, microseconds, type State } from '../../model/delta.ts';
import type { ChangeEntry } from '../../model/entry.ts';
import { sameFingerprint } from '../../model/fingerprint.ts';
import type { CommandWrites } from '../../model/policy.ts';
import { showsAll } from '../../model/sighting.ts';
import type { Refusal, RefusalOf } from '../../model/verdict.ts';
import { changedProgram } from '../../text/git-config.ts';
import { matchingGlob } from '../../text/glob/glob.ts';
import { merge3 } from '../../text/merge.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import { approvalsOf } from '../approval.ts';
import { guardCommit } from '../guarded-files.ts';
import type { World } from '../world.ts';
import { nameOf, shownNameOf } from './layer-content.ts';
import { bytesAfter, bytesBefore, lostDiff, lostUpdate, plainText } from './lost-update.ts';
import type { LayerDelta } from './write-set.ts';

/** After this many refusals, the command's remaining writes are not checked. */
const MAX_REFUSALS = 50;

/** A command's writes that may be committed, merged with concurrent changes by other programs. */
export interface Vetted {
  readonly written: readonly LayerDelta[];
  /** Paths of files in which changes of other programs were merged with those of the command. */
  readonly merged: readonly string[];
}

/** The refused writes of a command; if there is none, all its writes may be committed. */
export interface RefusedWrites {
  /** At most `MAX_REFUSALS`. */
  readonly refusals: readonly Refusal[];
  /** Number of writes that were not checked, because enough others were refused. */
  readonly unchecked: number;
}

/**
 * Decides whether a command's writes may be committed: all of them or none. Changes that other
 * programs made while the command ran are merged if they do not conflict.
 */
export async function vetWrites(
  world: World,
  knowledge: Knowledge,
  { written, ...how }: Omit<Judged, 'written'> & { readonly written: readonly LayerDelta[] },
): Promise<Vetted & RefusedWrites> {
  const refusals: Refusal[] = [];
  const vetted: LayerDelta[] = [];
  const merged: string[] = [];
  let unchecked = written.length;
  for (const each of written) {
    if (refusals.length >= MAX_REFUSALS) break;
    unchecked -= 1;
    const outcome = await vetOne(world, knowledge, { written: each, ...how });
    if ('code' in outcome) refusals.push({ ...outcome, path: shownNameOf(world, each.path) });
    else vetted.push(outcome);
    if (outcome !== each && !('code' in outcome)) merged.push(shownNameOf(world, each.path));
  }
  return { written: vetted, merged, refusals, unchecked };
}

interface Judged {
  readonly written: LayerDelta;
  /**
   * Time just before the command started. A file with a later ctime changed while the command ran.
   */
  readonly beganNs: bigint;
  readonly writes: CommandWrites;
  readonly meanwhile: 'merge' | 'overwrite';
}

/** The write that may be committed, perhaps after a merge, or its refusal. */
async function vetOne(world: World, knowledge: Knowledge, judged: Judged): Promise<LayerDelta | Refusal> {
  const { written, meanwhile } = judged;
  const forbidden =
    forbiddenWrite(world, written) ??
    (await guardedChange(world, written)) ??
    (await unapproved(world, knowledge, written));
  if (forbidden !== undefined) return forbidden;
  if (written.concurrent && meanwhile === 'merge') return concurrentChange(world, knowledge, judged);
  return (await unseenWrite(world, knowledge, judged)) ?? written;
}

function forbidden<C extends 'READ_ONLY' | 'PROTECTED'>(
  written: LayerDelta,
  code: C,
  detail: NonNullable<RefusalOf<C>['detail']> = {},
): RefusalOf<C> {
  return { code, action: 'commit', path: written.path.relative, next: 'ask_human', detail };
}

/**
 * The refusal for a write in a read-only session or root, or to a read-only file. Read-only files
 * in `.git` may be written, because git makes and removes such files all the time.
 */
function forbiddenWrite(world: World, written: LayerDelta): Refusal | undefined {
  if (world.policy.readOnly) return forbidden(written, 'READ_ONLY', { cause: 'session' });
  if (world.workspace.isReadOnly(written.path.key)) return forbidden(written, 'READ_ONLY', { cause: 'root' });
  if (written.readOnly && !isInGit(world, written)) return forbidden(written, 'READ_ONLY');
  return undefined;
}

function isInGit(world: World, { path }: LayerDelta): boolean {
  return /(^|\/)\.git(\/|$)/i.test(nameOf(world, path));
}

/**
 * The refusal for a change that needs the user's approval. During a command the user is not asked; only `lookfirst
 * allow` approves.
 */
async function unapproved(
  world: World,
  knowledge: Knowledge,
  written: LayerDelta,
): Promise<Refusal | undefined> {
  const { path, before, after } = written;
  const delta = { key: path.key, relative: path.relative, before, after };
  const step = { action: 'commit', root: path.root, deltas: [delta] } as const;
  const found = await approvalsOf(world, knowledge, { steps: [step], approved: new Map() });
  return 'missing' in found ? forbidden(written, 'PROTECTED', { cause: 'approval' }) : undefined;
}

/**
 * The refusal for a change of configuration that decides which programs run. The policy can let
 * commands change some of these files.
 */
async function guardedChange(world: World, written: LayerDelta): Promise<Refusal | undefined> {
  const relative = nameOf(world, written.path);
  if (matchingGlob(world.policy.commands.trust, relative) !== undefined) return undefined;
  const whole = forbidden(written, 'PROTECTED', {
    reason: `${relative}, because it decides which programs run`,
  });
  const { before, after } = written;
  if (isGuarded(relative) && before.kind !== 'directory' && after.kind !== 'directory') return whole;
  const settings = await guardCommit(world, written.path, { after, bytesAfter: () => bytesAfter(written) });
  if (settings !== undefined) return forbidden(written, 'PROTECTED', { reason: settings });
  if (after.kind === 'link' && isGitLink(relative)) return whole;
  // Below, only the content of git's configuration is checked. Removing such a file is allowed:
  // without it, git runs no program.
  if (after.kind !== 'file' || !(isGitConfig(relative) || isGitPointer(relative))) return undefined;
  const text = bytesAfter(written)?.toString('utf8');
  if (text === undefined || (isGitPointer(relative) && leadsOutOfGit(relative, text))) return whole;
  const earlier = (await bytesBefore(world, written))?.toString('utf8');
  const setting = isGitConfig(relative) ? changedProgram(earlier ?? '', text) : undefined;
  if (setting === undefined) return undefined;
  return forbidden(written, 'PROTECTED', {
    reason: `the setting ${setting}, because it decides which programs run`,
  });
}

async function unseenWrite(
  world: World,
  knowledge: Knowledge,
  { written, writes }: Judged,
): Promise<Refusal | undefined> {
  if (written.before.kind !== 'file' || isInGit(world, written)) return undefined;
  if (writes === 'seen-only') return notSeen(knowledge, written);
  if (writes !== 'judged') return undefined;
  const bytes = {
    beforeBytes: () => bytesBefore(world, written),
    afterBytes: () => bytesAfter(written),
  };
  return lostUpdate(world, knowledge, { ...written, ...bytes });
}

/**
 * The refusal if the session has not seen every present line of a file that a command changed. Only
 * the policy `writes: seen-only` requires this.
 */
async function notSeen(knowledge: Knowledge, written: LayerDelta): Promise<Refusal | undefined> {
  const { before } = written;
  if (before.kind !== 'file' || before.fingerprint.size === 0) return undefined;
  const base = { action: 'commit', path: written.path.relative } as const;
  const sighting = await knowledge.recall(written.path.key);
  if (sighting?.fingerprint === undefined || sighting.tombstone === true)
    return { ...base, code: 'NOT_READ', next: 'read' };
  const seenAtMs = sighting.atMs;
  if (!sameFingerprint(sighting.fingerprint, before.fingerprint))
    return { ...base, code: 'STALE', next: 'read_again', detail: { seenAtMs } };
  if (sighting.coverage.kind === 'whole' && showsAll(sighting.flags)) return undefined;
  const missing = missingLines(sighting.coverage, sighting.totalLines ?? 0);
  return { ...base, code: 'PARTIALLY_READ', next: 'read_again', detail: { seenAtMs, missing } };
}

/**
 * Merges a file that the command and another program have both changed, or refuses with the diff.
 * The merge starts from the text that both started from, if the journal has it. Otherwise it starts
 * from an earlier text that the session or the journal knows.
 */
async function concurrentChange(
  world: World,
  knowledge: Knowledge,
  judged: Judged,
): Promise<LayerDelta | Refusal> {
  const { written } = judged;
  const live = plainText(await bytesBefore(world, written));
  const result = plainText(bytesAfter(written));
  const base =
    live === undefined || result === undefined ? undefined : await baseOf(world, knowledge, judged);
  if (live !== undefined && result !== undefined && base !== undefined) {
    const merged = mergedFrom(base, result, live);
    if (merged !== undefined) return withText(written, merged);
  }
  const from = base?.texts[0] ?? result;
  const diff =
    from === undefined || live === undefined ? undefined : lostDiff(world, written.path.key, [from, live]);
  return {
    code: 'COMMAND_CONFLICT',
    action: 'commit',
    path: written.path.relative,
    next: 'read_again',
    detail: { reason: reasonOf(written), ...(diff === undefined ? {} : { diff }) },
  };
}

/**
 * The texts from which a merge may start. `certain`: there is one text, and both the command and
 * the other program started from it. `likely`: each text is an earlier state of the file.
 */
interface MergeBase {
  readonly texts: readonly string[];
  readonly is: 'certain' | 'likely';
}

/**
 * The merged text, or undefined if the merge is not clean or depends on the choice of the base. A
 * `likely` base that equals the result is rejected: the command would seem to have changed nothing,
 * and the merge would drop its result.
 */
function mergedFrom({ texts, is }: MergeBase, result: string, live: string): string | undefined {
  let agreed: string | undefined;
  for (const text of texts) {
    const merged = is === 'likely' && text === result ? undefined : merge3(text, result, live);
    if (merged?.clean !== true || (agreed !== undefined && agreed !== merged.text)) return undefined;
    agreed = merged.text;
  }
  return agreed;
}

/**
 * The clock with which the kernel stamps files advances in ticks of at most this length. A command
 * starts only after the first tick that follows `beganNs`. So a change that is recorded up to one
 * tick after `beganNs` may have been made before the command started.
 */
const TICK_MS = 10;
/**
 * The longest time from the journal entry of a planned change to the change itself. An entry that
 * is older than this when a command starts belongs to a finished change.
 */
const MADE_WITHIN_MS = 60_000;

async function baseOf(
  world: World,
  knowledge: Knowledge,
  { written: { path }, beganNs }: Judged,
): Promise<MergeBase | undefined> {
  const { key } = path;
  const startMs = Number(beganNs / 1_000_000n) + TICK_MS;
  const query = { key, kinds: ['change'], limit: 1 } as const;
  const [first] = await world.store.entries({ ...query, sinceMs: startMs, order: 'oldest' });
  const started = await textBefore(world, first, { key, beganNs });
  // Use only the first change after the command's start. The text before a second change already
  // contains the first one, and a merge from that text would drop it.
  if (started !== undefined) return { texts: [started], is: 'certain' };
  const [last] = await world.store.entries({ ...query, untilMs: startMs - 1, order: 'newest' });
  const sighting = await knowledge.recall(key);
  const isEarlier = sighting !== undefined && sighting.atMs < startMs && sighting.tombstone !== true;
  const seen = isEarlier ? sighting : undefined;
  const texts = [
    seen?.fingerprint && plainText(await world.baselines.recall(seen.fingerprint)),
    ...(last === undefined || last.atMs < (seen?.atMs ?? 0)
      ? []
      : await textsAround(world, last, { key, beganNs })),
  ].filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : { texts, is: 'likely' };
}

/**
 * The file's text before a change. Undefined if the file got that text only after the command
 * began, because the command then did not start from it.
 */
async function textBefore(
  world: World,
  change: ChangeEntry | undefined,
  { key, beganNs }: { readonly key: string; readonly beganNs: bigint },
): Promise<string | undefined> {
  const delta = lastAt(change?.deltas, key);
  const sinceUs = delta?.sinceUs ?? Number.POSITIVE_INFINITY;
  return sinceUs > microseconds(beganNs) ? undefined : keptText(world, delta?.before);
}

/**
 * The texts that the file may have contained when the command began. `last` is the last change that
 * was recorded before the command began. If it was recorded long before, the only text is its
 * result. Otherwise the change may have been made after the start, so the text before the change is
 * possible too. If that text is unknown, the list is empty.
 */
async function textsAround(
  world: World,
  last: ChangeEntry,
  at: { readonly key: string; readonly beganNs: bigint },
): Promise<readonly (string | undefined)[]> {
  const after = await keptText(world, lastAt(last.deltas, at.key)?.after);
  if (last.atMs < Number(at.beganNs / 1_000_000n) - MADE_WITHIN_MS) return [after];
  const before = await textBefore(world, last, at);
  return before === undefined ? [] : [before, after];
}

async function keptText(world: World, side: State | undefined): Promise<string | undefined> {
  return side?.kind === 'file' ? plainText(await world.baselines.recall(side.fingerprint)) : undefined;
}

function withText(written: LayerDelta, text: string): LayerDelta {
  const bytes = Buffer.from(text, 'utf8');
  if (written.after.kind !== 'file') return written;
  return {
    ...written,
    after: { ...written.after, fingerprint: fingerprintOf(bytes) },
    bytes: () => bytes,
  };
}

function reasonOf({ before, after }: LayerDelta): string {
  if (before.kind === 'absent') return 'another program removed it while the command ran';
  if (after.kind === 'absent')
    return 'another program changed it while the command ran, and the command removed it';
  return 'another program changed it while the command ran';
}
