import { fingerprintOf } from '../disk/hash.ts';
import { readSnapshot } from '../disk/read.ts';
import { isStub } from '../judge/knowledge.ts';
import type { Coverage } from '../model/coverage.ts';
import type { NewEntry, SeenFile } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { View } from './look.ts';
import type { Step } from './step.ts';

/** A larger file that was not read for the verdict is not hashed for the journal either. */
const MAX_HASHED_BYTES = 8 << 20;

/** What the journal keeps of a refusal besides its code: hashes, so that it can be told later whether it was right. */
export type Evidence = Pick<NewEntry, 'sha256' | 'sizeBytes' | 'seen' | 'content'>;

/** A change that may be done, or why not; `credit` is what the refusal itself shows of the file. */
export type Prepared = { readonly ok: true; readonly step: Step } | Denied;

export interface Denied {
  readonly ok: false;
  readonly refusal: Refusal;
  readonly credit?: Sighting;
  readonly evidence?: Evidence;
}

export function no(refusal: Refusal, credit?: Sighting): Denied {
  return { ok: false, refusal, ...(credit === undefined ? {} : { credit }) };
}

/** Closes a place that was looked at, unless a step goes on with it. A refusal gets the evidence for the journal. */
export async function closedUnlessOk(
  { view, intent }: { readonly view: View; readonly intent: FileIntent },
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

/** What was there, what the session had seen of it and what it wanted to write. */
export async function evidenceOf(view: View, intent?: FileIntent): Promise<Evidence> {
  const live = view.snapshot?.fingerprint ?? (await hashUnread(view));
  const seen = seenOf(view.sighting);
  const content = intent === undefined ? undefined : contentOf(intent);
  return {
    ...(live === undefined ? {} : { sha256: live.sha256, sizeBytes: live.size }),
    ...(seen === undefined ? {} : { seen }),
    ...(content === undefined ? {} : { content }),
  };
}

/** For the journal only: the answer to the session was decided without these bytes and says nothing about them. */
async function hashUnread({ located }: View): Promise<Fingerprint | undefined> {
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

/** Hash of the new content; of edits and inserts, whose result is not known, a hash of what was asked for. */
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
