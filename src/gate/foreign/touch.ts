import { judge } from '../../judge/judge.ts';
import type { LineRange } from '../../model/coverage.ts';
import type { Effect, ForeignWrite } from '../../model/entry.ts';
import type { TouchIntent } from '../../model/intent.ts';
import type { Notice } from '../../model/results.ts';
import type { Refusal } from '../../model/verdict.ts';
import { countLines } from '../../text/byte-lines.ts';
import { cure } from '../cure.ts';
import { judgeGranted } from '../grants.ts';
import { look, type View } from '../look.ts';
import { type Denied, no } from '../prepared.ts';
import { ABSENT, sideOf } from '../sides.ts';
import type { Scene } from './shown.ts';

export interface AllowedTouch {
  readonly ok: true;
  readonly effects: readonly Effect[];
  readonly writes: readonly ForeignWrite[];
  /** Set if the file has changed since it was seen, and the policy lets it be changed all the same. */
  readonly warned?: { readonly key: string; readonly notices: readonly Notice[] };
}

/**
 * Judges a change whose text only the other server knows. It needs the lines it names, or every line if it names none,
 * at the bytes that are there: nothing can be carried over a change that we cannot see.
 */
export function judgeTouch({ world, ledger }: Scene, intent: TouchIntent): Promise<AllowedTouch | Denied> {
  return judgeGranted(world, ledger, {
    change: intent,
    judge: (under) => judged({ world: under, ledger }, intent),
  });
}

async function judged({ world, ledger }: Scene, intent: TouchIntent): Promise<AllowedTouch | Denied> {
  const action = intent.lines === undefined ? 'overwrite' : 'edit';
  const outcome = await look(world, ledger, { path: intent.path, action, depth: 'bytes' });
  if (!outcome.ok) return outcome;
  const { view } = outcome;
  try {
    if (world.policy.readOnly) {
      const detail = { reason: 'session' };
      return no({ code: 'READ_ONLY', action, path: intent.path, next: 'ask_human', detail });
    }
    const totalLines = view.snapshot === undefined ? undefined : countLines(view.snapshot.bytes);
    const touched = intent.lines?.map((range) => clipped(range, totalLines ?? range.to));
    const verdict = judge({ ...view.facts, touched, totalLines }, { ...world.policy, partial: 'lines' });
    if (verdict.outcome === 'refuse') return refusedAs(view, verdict.refusal, world);
    if (verdict.licence === 'carry') return refusedAs(view, staleOf(view), world);
    const writes = [{ key: view.path.key, text: 'unknown' as const }];
    const notices = verdict.notices.filter(({ kind }) => kind === 'stale-warning');
    const warned = notices.length === 0 ? {} : { warned: { key: view.path.key, notices } };
    return { ok: true, effects: [effectOf(view)], writes, ...warned };
  } finally {
    view.located.place.dir.close();
  }
}

async function refusedAs(view: View, refusal: Refusal, world: Scene['world']): Promise<Denied> {
  if (refusal.code !== 'STALE') return no(refusal);
  const cured = await cure(world, view, { refusal });
  return cured.ok ? no(refusal) : cured;
}

function staleOf({ facts, sighting }: View): Refusal {
  const detail = sighting === undefined ? {} : { detail: { seenAtMs: sighting.atMs } };
  return { code: 'STALE', action: facts.action, path: facts.path, next: 'read_again', ...detail };
}

function clipped({ from, to }: LineRange, totalLines: number): LineRange {
  return { from: Math.max(1, Math.min(from, totalLines)), to: Math.min(to, totalLines) };
}

/** What comes after is not known yet; it is looked at when the other server has answered. */
function effectOf({ path, snapshot }: View): Effect {
  const before = snapshot === undefined ? ABSENT : sideOf(snapshot);
  return { key: path.key, relative: path.relative, before, after: before };
}
