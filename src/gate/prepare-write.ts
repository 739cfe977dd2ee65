import { fingerprintOf, modeOf, type Snapshot } from '../disk/read.ts';
import { judge } from '../judge/judge.ts';
import { WHOLE } from '../model/coverage.ts';
import { ABSENT, microseconds } from '../model/delta.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import type { MatchTier, Notice } from '../model/results.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import { type Action, invalidArgument, type Refusal } from '../model/verdict.ts';
import { bytesInFormOf, looksBinary } from '../text/decode.ts';
import { countFileLines } from '../text/file-lines.ts';
import { lineCount } from '../text/lines.ts';
import { straightenContent } from '../text/quotes/quotes.ts';
import { maskedDiff } from '../text/unified.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Located } from '../workspace/workspace.ts';
import { fileState, sideOf } from './found.ts';
import { type LookedFile, look, placeholderIn } from './look.ts';
import { diffOptions, maskIn } from './masking.ts';
import type { ChangePlan, PlannedDelta } from './plan.ts';
import { notPrepared, type Prepared, unverifiable, withCure, withEvidence } from './prepared.ts';
import type { World } from './world.ts';

type WriteIntent = Extract<FileIntent, { kind: 'write' }>;

/** Judges new content for a whole file: a creation, or an overwrite of a file that the session must have seen. */
export function prepareWrite(world: World, knowledge: Knowledge, intent: WriteIntent): Promise<Prepared> {
  const { path, expectedRevision } = intent;
  const request = { path, action: 'overwrite', expectedRevision, depth: 'bytes' } as const;
  return look(world, knowledge, request, (view): Prepared | Promise<Prepared> => {
    const authored = author(world, intent, view);
    const prepared = judged(world, { intent, view, authored });
    return prepared.ok ? prepared : cured(world, view, { refusal: prepared.refusal, intent, authored });
  });
}

async function cured(
  world: World,
  view: LookedFile,
  { refusal, intent, authored: { bytes } }: { refusal: Refusal; intent: WriteIntent; authored: Authored },
): Promise<Prepared> {
  const denied = await withCure(world, view, refusal, fingerprintOf(bytes).sha256);
  return withEvidence(denied, view, { ...intent, content: bytes });
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

/** Text gets the encoding and line endings of the file that it replaces, if the policy asks for that. */
function author(world: World, { path, content }: WriteIntent, { snapshot }: LookedFile): Authored {
  if (typeof content !== 'string') return { bytes: content, text: undefined, notices: [] };
  const { quotes: mode, matching } = world.policy;
  const { text, count } = straightenContent(path, content, { mode });
  const isFormed = snapshot !== undefined && matching !== 'exact';
  const formed = isFormed ? bytesInFormOf(snapshot.bytes, text) : undefined;
  const notices: Notice[] = count === 0 ? [] : [{ kind: 'quotes-straightened', count }];
  return { bytes: formed ?? Buffer.from(text, 'utf8'), text, notices };
}

function judged(
  world: World,
  { intent, view, authored }: { intent: WriteIntent; view: LookedFile; authored: Authored },
): Prepared {
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
    mask: maskIn(world, view, authored.text),
    target: target.exists ? { binary, ...target } : target,
    ...seen,
  };
  const verdict = judge(facts, world.policy);
  if (verdict.outcome === 'refuse') return notPrepared(verdict.refusal);
  if (located.exists && snapshot === undefined) return notPrepared(unverifiable('overwrite', intent.path));
  // A lone surrogate has no UTF-8 form: Node would write a replacement character instead.
  if (authored.text?.isWellFormed() === false) return notPrepared(malformed(view));
  return {
    ok: true,
    plan: writePlan(world, {
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
 * A replaced file always gets a record, so that the knowledge knows the new bytes.
 */
function sightingOf(
  { seen = WHOLE }: WriteIntent,
  { text, bytes }: Authored,
  { located }: LookedFile,
): NewBytes['sighting'] {
  if (seen.kind === 'none' && !located.exists) return undefined;
  const totalLines = text === undefined ? countFileLines(bytes) : lineCount(text);
  return { coverage: seen, totalLines, flags: NO_FLAGS, how: 'write' };
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

/** Creates or replaces one file. If the file already holds these bytes, nothing changes. */
export function writePlan(world: World, change: NewBytes): ChangePlan {
  const { located, before, bytes, more, notices } = change;
  const { path } = located.place;
  const fingerprint = change.fingerprint ?? fingerprintOf(bytes);
  const isSame = before !== undefined && before.fingerprint.sha256 === fingerprint.sha256;
  const seen = change.sighting;
  const isWhole = seen?.coverage.kind === 'whole' && !seen.flags.clamped && !seen.flags.redacted;
  return {
    action: change.action,
    path,
    deltas: isSame ? [] : [deltaOf(change, fingerprint)],
    bytes: { bytes, fingerprint },
    seen,
    untold: change.untold,
    more,
    result: {
      path: path.given,
      changed: !isSame,
      created: before === undefined,
      sizeBytes: bytes.byteLength,
      notices,
      ...(isWhole ? { revision: world.revisionOf(fingerprint) } : {}),
      ...more,
    },
    sightings: [change.credit, sightingAfter(world, change, fingerprint)].filter(
      (each) => each !== undefined,
    ),
    tombstones: [],
    preview: () => ({ ...more, sizeBytes: bytes.byteLength, diff: more?.diff ?? diffOf(world, change) }),
  };
}

function deltaOf(change: NewBytes, fingerprint: Fingerprint): PlannedDelta {
  const { before, located, bytes, mode } = change;
  const { path } = located.place;
  const missing = located.exists ? undefined : located.missing;
  const delta = { key: path.key, relative: path.relative, path, missing, bytes: () => bytes };
  if (before === undefined) {
    const after = fileState(fingerprint, mode ?? 0o644, 'none');
    return { ...delta, before: ABSENT, after, ...(mode === undefined ? { mode: 'default' } : {}) };
  }
  const was = sideOf(before);
  // Setuid, setgid and sticky bits are not carried over.
  const after = fileState(fingerprint, modeOf(before.stats) & 0o777, 'none');
  return { ...delta, before: was, after, was: before, sinceUs: microseconds(before.stats.ctimeNs) };
}

/** The session's sighting of the new bytes. The stamp is known once the file is written. */
function sightingAfter(
  world: World,
  { before, sighting, located }: NewBytes,
  fingerprint: Fingerprint,
): Sighting | undefined {
  if (sighting === undefined) return undefined;
  const isSame = before !== undefined && before.fingerprint.sha256 === fingerprint.sha256;
  const { stamp, racy } = isSame ? before : { stamp: undefined, racy: true };
  const { coverage, totalLines, flags, how, pages, unplaced } = sighting;
  return {
    coverage,
    totalLines,
    flags,
    how,
    key: located.place.path.key,
    fingerprint,
    stamp,
    racy,
    atMs: world.now(),
    ...(pages === undefined ? {} : { pages }),
    ...(unplaced === undefined ? {} : { unplaced }),
  };
}

function diffOf(world: World, { before, bytes, located }: NewBytes): string {
  const options = diffOptions(world, located.place.path.relative);
  return maskedDiff<Uint8Array>(before?.bytes ?? new Uint8Array(), bytes, options).text;
}
