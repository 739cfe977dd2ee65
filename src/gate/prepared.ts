import { fingerprintOf, readSnapshot } from '../disk/read.ts';
import { isStub } from '../judge/knowledge.ts';
import type { Coverage } from '../model/coverage.ts';
import type { NewEntry, SeenFile } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { LookedFile } from './look.ts';
import type { Step } from './step.ts';

/** A larger file that the verdict did not read is not hashed for the journal either. */
const MAX_HASHED_BYTES = 8 << 20;

/** Hashes that the journal keeps of a refusal, so that users can check later whether it was right. */
export type Evidence = Pick<NewEntry, 'sha256' | 'sizeBytes' | 'seen' | 'content'>;

/**
 * An allowed change with its step, or a refusal. `credit` is the sighting of the lines that the refusal itself shows.
 */
export type Prepared = { readonly ok: true; readonly step: Step } | Denied;

export interface Denied {
  readonly ok: false;
  readonly refusal: Refusal;
  readonly credit?: Sighting;
  readonly evidence?: Evidence;
}

export function notPrepared(refusal: Refusal, credit?: Sighting): Denied {
  return { ok: false, refusal, ...(credit === undefined ? {} : { credit }) };
}

/**
 * Runs `prepare`, and closes the located path unless a step keeps using it. Adds evidence for the journal to a refusal.
 */
export async function closedUnlessOk(
  { view, intent }: { readonly view: LookedFile; readonly intent: FileIntent },
  prepare: () => Promise<Prepared>,
): Promise<Prepared> {
  let ok = false;
  try {
    const prepared = await prepare();
    ok = prepared.ok;
    if (prepared.ok || prepared.evidence !== undefined) return prepared;
    return { ...prepared, evidence: await evidenceOf(view, intent) };
  } finally {
    if (!ok) view.located.place.dir.close();
  }
}

/** The present bytes, the bytes the session had seen, and the content it wanted to write, as hashes. */
export async function evidenceOf(view: LookedFile, intent?: FileIntent): Promise<Evidence> {
  const live = view.snapshot?.fingerprint ?? (await hashUnread(view));
  const seen = seenOf(view.sighting);
  const content = intent === undefined ? undefined : contentOf(intent);
  return {
    ...(live === undefined ? {} : { sha256: live.sha256, sizeBytes: live.size }),
    ...(seen === undefined ? {} : { seen }),
    ...(content === undefined ? {} : { content }),
  };
}

/**
 * Hashes a file for the journal only. The answer to the session was decided without these bytes and does not mention
 * them.
 */
async function hashUnread({ located }: LookedFile): Promise<Fingerprint | undefined> {
  if (!located.exists || !located.stats.isFile() || located.stats.size > MAX_HASHED_BYTES) return undefined;
  const limits = { clock: undefined, seen: located.stats, maxBytes: MAX_HASHED_BYTES };
  const snapshot = await readSnapshot(located.place, limits);
  return 'problem' in snapshot ? undefined : snapshot.fingerprint;
}

function seenOf(sighting: Sighting | undefined): SeenFile | undefined {
  if (sighting === undefined || isStub(sighting) || sighting.tombstone === true) return undefined;
  const { fingerprint, coverage, atMs } = sighting;
  return { ...(fingerprint === undefined ? {} : { fingerprint }), lines: linesOf(coverage), atMs };
}

function linesOf(coverage: Coverage): string {
  if (coverage.kind !== 'lines') return coverage.kind;
  return coverage.ranges.map(({ from, to }) => `${from}-${to}`).join(',');
}

/** Hash of the new content. For edits and inserts the result is unknown, so the request is hashed. */
function contentOf(intent: FileIntent): string | undefined {
  switch (intent.kind) {
    case 'write': {
      const { content } = intent;
      return fingerprintOf(typeof content === 'string' ? Buffer.from(content, 'utf8') : content).sha256;
    }
    case 'edit':
      return fingerprintOf(Buffer.from(JSON.stringify(intent.edits), 'utf8')).sha256;
    case 'insert':
      return fingerprintOf(Buffer.from(JSON.stringify([intent.afterLine, intent.content]), 'utf8')).sha256;
    default:
      return undefined;
  }
}
