import { type Content, holdsAt } from '../disk/content.ts';
import { create, stageNew } from '../disk/create.ts';
import { type MadeFolders, makeFolders } from '../disk/folders.ts';
import type { Committed } from '../disk/publication.ts';
import { putBackFile } from '../disk/put-back.ts';
import { fingerprintOf, modeOf, type Snapshot } from '../disk/read.ts';
import { remove } from '../disk/remove.ts';
import { type Conflict, replace, stageReplacement, syncPublished } from '../disk/replace.ts';
import { dropStaged, type Staged } from '../disk/temp-file.ts';
import { judge } from '../judge/judge.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { WHOLE } from '../model/coverage.ts';
import { type Effect, microseconds } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import type { Place } from '../model/path.ts';
import type { MatchTier, Notice } from '../model/results.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import { type Action, invalidArgument, type Refusal } from '../model/verdict.ts';
import { bytesInFormOf, looksBinary } from '../text/decode.ts';
import { countFileLines } from '../text/file-lines.ts';
import { lineCount } from '../text/lines.ts';
import { straightenContent } from '../text/quotes/quotes.ts';
import { maskedDiff } from '../text/unified.ts';
import type { Located } from '../workspace/workspace.ts';
import { folderEffects, madeEffects } from './folder-step.ts';
import { type LookedFile, look, placeholderIn } from './look.ts';
import { closedUnlessOk, cure, notPrepared, type Prepared, unverifiable } from './prepared.ts';
import { ABSENT, type Done, fileSide, type Step, sideOf } from './step.ts';
import type { World } from './world.ts';

type WriteIntent = Extract<FileIntent, { kind: 'write' }>;

/** Judges new content for a whole file: a creation, or an overwrite of a file that the session must have seen. */
export async function prepareWrite(world: World, ledger: Ledger, intent: WriteIntent): Promise<Prepared> {
  const authored = author(world, intent);
  const { expectedRevision } = intent;
  const outcome = await look(world, ledger, {
    path: intent.path,
    action: 'overwrite',
    expectedRevision,
    depth: 'bytes',
  });
  if (!outcome.ok) return outcome;
  const { view } = outcome;
  const formed = inForm(world, authored, view);
  return closedUnlessOk({ view, intent: { ...intent, content: formed.bytes } }, () =>
    judged(world, { intent, view, authored: formed }),
  );
}

/** Converts the text to the encoding and line endings of the file it replaces, if the policy asks for that. */
function inForm(world: World, authored: Authored, { snapshot }: LookedFile): Authored {
  if (world.policy.form === 'exact' || authored.text === undefined || snapshot === undefined) return authored;
  const bytes = bytesInFormOf(snapshot.bytes, authored.text);
  return bytes === undefined ? authored : { ...authored, bytes };
}

/** The bytes to write, their text if the caller gave text, and notices about replaced quotes. */
interface Authored {
  readonly bytes: Uint8Array;
  readonly text: string | undefined;
  readonly notices: readonly Notice[];
}

/** Only a copy of a file says which part of its content the session has seen. */
function contentKindOf({ seen }: WriteIntent, { text }: Authored): 'text' | 'bytes' | 'file' {
  const kind = seen === undefined ? 'bytes' : 'file';
  return text === undefined ? kind : 'text';
}

function author(world: World, intent: Pick<WriteIntent, 'path' | 'content'>): Authored {
  if (typeof intent.content !== 'string') return { bytes: intent.content, text: undefined, notices: [] };
  const { text, count } = straightenContent(intent.path, intent.content, { mode: world.policy.quotes });
  const notices: Notice[] = count === 0 ? [] : [{ kind: 'quotes-straightened', count }];
  return { bytes: Buffer.from(text, 'utf8'), text, notices };
}

async function judged(
  world: World,
  { intent, view, authored }: { intent: WriteIntent; view: LookedFile; authored: Authored },
): Promise<Prepared> {
  const { snapshot, located } = view;
  const creation = { action: 'create', path: intent.path, next: 'other_path' } as const;
  if (intent.makeParents === false && !located.exists && located.missing.length > 1) {
    const detail = { reason: 'the folder it would go into does not exist' };
    return notPrepared({ ...creation, code: 'NOT_FOUND', detail });
  }
  if (intent.overwrite === false && located.exists) {
    const detail = { reason: 'this call does not allow replacing it' };
    return notPrepared({ ...creation, code: 'ALREADY_EXISTS', detail });
  }
  const fingerprint = fingerprintOf(authored.bytes);
  const contentHash = fingerprint.sha256;
  const binary = snapshot !== undefined && looksBinary(snapshot.bytes);
  const { target, ...seen } = view.facts;
  const facts = {
    contentHash,
    contentKind: contentKindOf(intent, authored),
    placeholder: placeholderIn(authored.text, view, 1),
    target: target.exists ? { binary, ...target } : target,
    ...seen,
  };
  const verdict = judge(facts, world.policy);
  if (verdict.outcome === 'refuse') {
    const { refusal } = verdict;
    return refusal.code === 'STALE' ? cure(world, view, { refusal, contentHash }) : notPrepared(refusal);
  }
  if (located.exists && snapshot === undefined) return notPrepared(unverifiable('overwrite', intent.path));
  // A lone surrogate has no UTF-8 form: Node would write a replacement character instead.
  if (authored.text?.isWellFormed() === false) return notPrepared(malformed(view));
  return {
    ok: true,
    step: writeStep(world, {
      action: located.exists ? 'overwrite' : 'create',
      located,
      before: snapshot,
      bytes: authored.bytes,
      fingerprint,
      ...(intent.mode === undefined ? {} : { mode: intent.mode }),
      sighting: sightingOf(intent, authored, view),
      notices: [...verdict.notices, ...authored.notices],
    }),
  };
}

/**
 * The sighting after the write. Undefined for a new file of which the session has seen nothing.
 * A replaced file always gets a record, so that the ledger knows the new bytes.
 */
function sightingOf(
  { seen = WHOLE }: WriteIntent,
  authored: Authored,
  { located }: LookedFile,
): NewBytes['sighting'] {
  if (seen.kind === 'none' && !located.exists) return undefined;
  return { coverage: seen, totalLines: linesOf(authored), flags: NO_FLAGS, how: 'write' };
}

function linesOf({ text, bytes }: Authored): number {
  return text === undefined ? countFileLines(bytes) : lineCount(text);
}

function malformed({ facts: { path }, located }: LookedFile): Refusal {
  const action = located.exists ? 'overwrite' : 'create';
  return invalidArgument(action, path, 'the content contains half of a surrogate pair');
}

/** A file's new bytes, and the lines of them that count as seen. */
export interface NewBytes {
  readonly action: Action;
  readonly located: Located;
  /** The present file, or undefined if there is none. */
  readonly before: Snapshot | undefined;
  readonly bytes: Uint8Array;
  /** Fingerprint of `bytes`, if already known. */
  readonly fingerprint?: Fingerprint;
  /** Mode of a created file. Default: from the umask. */
  readonly mode?: number;
  /**
   * The lines of `bytes` that count as seen. Undefined if nothing is recorded: the session has seen
   * nothing of a new file, or it appended to text that it has not seen.
   */
  readonly sighting:
    | Pick<Sighting, 'coverage' | 'totalLines' | 'flags' | 'how' | 'pages' | 'unplaced'>
    | undefined;
  /** The lines of the old file that count as seen because the answer to this change shows them. */
  readonly credit?: Sighting | undefined;
  /** The lines of `bytes` that count as seen if the answer does not show the lines in `credit`. */
  readonly untold?: Pick<Sighting, 'coverage' | 'unplaced'> | undefined;
  readonly notices: readonly Notice[];
  readonly more?:
    | {
        readonly replaced?: number;
        readonly tier?: MatchTier;
        readonly inserted?: { from: number; to: number };
        readonly diff?: string;
      }
    | undefined;
}

/** Creates or replaces one file. If the file already holds these bytes, the step has no effects. */
export function writeStep(world: World, change: NewBytes): Step {
  const { located, before } = change;
  const { path } = located.place;
  const fingerprint = change.fingerprint ?? fingerprintOf(change.bytes);
  const unchanged = before !== undefined && before.fingerprint.sha256 === fingerprint.sha256;
  let folders: MadeFolders | undefined;
  let committed: Committed | undefined;
  let staged: Staged | undefined;
  let [left, isAlone, isSynced] = [false, false, true];

  const place = (): Place => {
    if (located.exists || located.missing.length === 1) return located.place;
    folders ??= makeFolders(world.disk, located.place, located.missing.slice(0, -1));
    return { path, dir: folders.dir, name: located.missing.at(-1) ?? '' };
  };

  return {
    action: change.action,
    path,
    effects: unchanged ? [] : [...folderEffects(located), effectOf(change, fingerprint)],
    bytes: change.bytes,
    seen: change.sighting,
    untold: change.untold,
    more: change.more,
    notices: change.notices,
    preview: () => ({
      ...change.more,
      sizeBytes: change.bytes.byteLength,
      diff:
        change.more?.diff ??
        maskedDiff<Uint8Array>(before?.bytes ?? new Uint8Array(), change.bytes, {
          maxLines: world.policy.maxDiffLines,
          secrets: world.policy.secrets,
          path: path.relative,
        }).text,
    }),
    stage: async (how) => {
      isAlone = how === 'alone';
      if (!unchanged) staged = await stage(world, change, place());
    },
    // Only a replacement may write its temporary file before the planned change is stored. A new
    // file may need new folders, and the plan to make them must be stored first.
    stagesEarly: before !== undefined && !unchanged,
    unstage: () => {
      if (committed !== undefined) return;
      if (staged !== undefined) dropStaged(place(), staged);
      folders?.undo();
    },
    run: async () => {
      if (unchanged) return done(world, change, { ...before, notices: [] });
      try {
        const there = place();
        await folders?.sync();
        const outcome = await commit(world, change, { place: there, fingerprint, staged, isAlone });
        if (!outcome.ok) folders?.undo();
        if (!outcome.ok) return outcome;
        committed = outcome;
        const effects = [...madeEffects(located, folders), effectOf(change, fingerprint, outcome.mode)];
        const syncNames = async (): Promise<void> => {
          isSynced = false;
          await syncPublished(world.disk, there);
          isSynced = true;
        };
        return { effects, ...(isAlone ? { syncNames } : {}), ...done(world, change, outcome) };
      } catch (error) {
        // The new file may exist despite the error, for example if only its temporary name could
        // not be removed.
        left = before === undefined && holdsAt(place(), fingerprint);
        folders?.undo();
        throw error;
      }
    },
    isLeft: () => left,
    revert: async () => {
      if (committed === undefined) return true;
      // If the disk could not sync the new name, another sync may fail too. Then restore the old
      // bytes without a sync.
      const how = isSynced ? world : { ...world, disk: { ...world.disk, durability: 'none' as const } };
      const isBack = await takeBack(how, change, {
        place: place(),
        fingerprint,
        displaced: committed.displaced,
      });
      folders?.undo();
      return isBack;
    },
    close: () => {
      folders?.close();
      located.place.dir.close();
    },
  };
}

interface CommitInput {
  readonly place: Place;
  readonly fingerprint: Fingerprint;
  readonly staged: Staged | undefined;
  /**
   * True if the change has no other step. To save time, the new name is then synced while the old
   * content is stored.
   */
  readonly isAlone: boolean;
}

/**
 * Writes the bytes to a temporary file. Undefined if the file to replace is gone; the step then
 * refuses the change when it runs.
 */
function stage(world: World, { before, bytes, mode }: NewBytes, place: Place): Promise<Staged | undefined> {
  const content = async (): Promise<Content> => ({ bytes });
  if (before !== undefined) return stageReplacement(world.disk, place, { content });
  return stageNew(world.disk, place, { content, ...(mode === undefined ? {} : { mode }) });
}

function commit(
  world: World,
  { before, bytes, mode }: NewBytes,
  { place, fingerprint, staged, isAlone }: CommitInput,
): Promise<Committed | Conflict> {
  const content = { bytes, fingerprint, ...(staged === undefined ? {} : { staged }) };
  if (before === undefined)
    return create(world.disk, place, { ...content, ...(mode === undefined ? {} : { mode }) });
  return replace(world.disk, place, {
    expected: { fingerprint: before.fingerprint, bytes: before.bytes },
    looked: true,
    ...(isAlone ? { folderSync: 'by caller' } : {}),
    ...content,
  });
}

async function takeBack(
  world: World,
  { before, bytes }: NewBytes,
  {
    place,
    fingerprint,
    displaced,
  }: Pick<CommitInput, 'place' | 'fingerprint'> & { readonly displaced: string | undefined },
): Promise<boolean> {
  const expected = { fingerprint, bytes };
  if (before === undefined) return (await remove(world.disk, place, { ...expected, ours: true })).ok;
  const back =
    displaced === undefined
      ? 'unavailable'
      : await putBackFile(world.disk, place, { displaced, ours: fingerprint });
  if (back !== 'unavailable') return back === 'back';
  return (await replace(world.disk, place, { bytes: before.bytes, expected, ours: true })).ok;
}

/** The effect of the write. Its fields are in alphabetical order, so that the journal need not sort them. */
function effectOf(change: NewBytes, fingerprint: Fingerprint, mode?: number): Effect {
  const { before, located } = change;
  const { key, relative } = located.place.path;
  const announced = before === undefined ? (change.mode ?? 0o644) : modeOf(before.stats) & 0o777;
  const after = fileSide(fingerprint, mode ?? announced, 'none');
  if (before === undefined) return { after, before: ABSENT, key, relative };
  return { after, before: sideOf(before), key, relative, sinceUs: microseconds(before.stats.ctimeNs) };
}

function done(
  world: World,
  change: NewBytes,
  outcome: Pick<Committed, 'fingerprint' | 'stamp' | 'racy' | 'notices' | 'displaced' | 'left'>,
): Done {
  const { path } = change.located.place;
  const seen = change.sighting;
  const whole = seen?.coverage.kind === 'whole' && !seen.flags.clamped && !seen.flags.redacted;
  const changed = outcome.fingerprint.sha256 !== change.before?.fingerprint.sha256;
  // Copy field by field: object spreads would dominate the cost here, and every change runs this.
  const sighting: Sighting | undefined = seen && {
    coverage: seen.coverage,
    totalLines: seen.totalLines,
    flags: seen.flags,
    how: seen.how,
    key: path.key,
    fingerprint: outcome.fingerprint,
    stamp: outcome.stamp,
    racy: outcome.racy,
    atMs: world.now(),
    ...(seen.pages === undefined ? {} : { pages: seen.pages }),
    ...(seen.unplaced === undefined ? {} : { unplaced: seen.unplaced }),
  };
  world.baselines.remember(outcome.fingerprint, change.bytes);
  return {
    ok: true,
    result: {
      path: path.given,
      changed,
      created: change.before === undefined,
      sizeBytes: change.bytes.byteLength,
      notices: [...change.notices, ...outcome.notices],
      ...(whole ? { revision: world.revisionOf(outcome.fingerprint) } : {}),
      ...change.more,
    },
    sightings: [change.credit, sighting].filter((each) => each !== undefined),
    tombstones: [],
    displaced:
      outcome.displaced === undefined || change.before === undefined
        ? []
        : [
            {
              file: outcome.displaced,
              sha256: change.before.fingerprint.sha256,
              size: change.before.fingerprint.size,
              bytes: change.before.bytes,
              stats: outcome.left,
            },
          ],
  };
}
