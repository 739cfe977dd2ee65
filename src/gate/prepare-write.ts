import { fingerprintOf } from '../disk/read.ts';
import { judge } from '../judge/judge.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { WHOLE } from '../model/coverage.ts';
import type { FileIntent } from '../model/intent.ts';
import type { Notice } from '../model/results.ts';
import { NO_FLAGS } from '../model/sighting.ts';
import { invalidArgument, type Refusal } from '../model/verdict.ts';
import { bytesInFormOf, looksBinary } from '../text/decode.ts';
import { countLines, lineCount } from '../text/lines.ts';
import { straightenContent } from '../text/quotes/quotes.ts';
import { type LookedFile, look, placeholderIn } from './look.ts';
import { closedUnlessOk, cure, notPrepared, type Prepared, unverifiable } from './prepared.ts';
import type { World } from './world.ts';
import { type NewBytes, writeStep } from './write-step.ts';

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

/** The bytes to write, and how the text was adapted. */
interface Authored {
  readonly bytes: Uint8Array;
  readonly text: string | undefined;
  readonly notices: readonly Notice[];
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
  if (intent.makeParents === false && !located.exists && located.missing.length > 1) {
    const detail = { reason: 'the folder it would go into does not exist' };
    return notPrepared({
      code: 'NOT_FOUND',
      action: 'create',
      path: intent.path,
      next: 'other_path',
      detail,
    });
  }
  if (intent.overwrite === false && located.exists) {
    const detail = { reason: 'this call does not allow replacing it' };
    return notPrepared({
      code: 'ALREADY_EXISTS',
      action: 'create',
      path: intent.path,
      next: 'other_path',
      detail,
    });
  }
  const fingerprint = fingerprintOf(authored.bytes);
  const contentHash = fingerprint.sha256;
  const binary = snapshot !== undefined && looksBinary(snapshot.bytes);
  const facts = {
    ...view.facts,
    contentHash,
    contentKind: authored.text === undefined ? ('bytes' as const) : ('text' as const),
    target: view.facts.target.exists ? { ...view.facts.target, binary } : view.facts.target,
    placeholder: placeholderIn(authored.text, view, 1),
  };
  const verdict = judge(facts, world.policy);
  if (verdict.outcome === 'refuse') {
    const { refusal } = verdict;
    return refusal.code === 'STALE' ? cure(world, view, { refusal, contentHash }) : notPrepared(refusal);
  }
  if (located.exists && snapshot === undefined) return notPrepared(unverifiable(intent.path));
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
 * The session's sighting after the write. Undefined for a new file of which nothing counts as seen. A replaced file
 * always gets one, so that the ledger knows the new bytes.
 */
function sightingOf(
  { seen = WHOLE }: WriteIntent,
  authored: Authored,
  { located }: LookedFile,
): NewBytes['sighting'] {
  if (seen.kind === 'none' && !located.exists) return undefined;
  return { coverage: seen, totalLines: linesOf(authored), flags: NO_FLAGS, how: 'write' };
}

/** Lines are counted in the text, because UTF-16 has newline bytes inside other characters. */
function linesOf({ text, bytes }: Authored): number {
  return text === undefined ? countLines(bytes) : lineCount(text);
}

function malformed({ facts: { path }, located }: LookedFile): Refusal {
  const action = located.exists ? 'overwrite' : 'create';
  return invalidArgument(action, path, 'the content contains half of a surrogate pair');
}
