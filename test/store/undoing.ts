import type { UndoTarget } from '../../src/journal/undo-history.ts';
import { planUndo, type UndoOptions, type UndoPlan } from '../../src/journal/undo-plan.ts';
import type { Effect, Entry, NewEntry, State } from '../../src/model/entry.ts';
import { changeEntry, file, ROOT } from './samples.ts';

export const LINK: State = { kind: 'link', target: '../x' };
export const key = (path: string): string => `${ROOT}/${path}`;
export const unkept = (content: string): State => file(content, { kept: false });

/** Entries `c1`, `c2`, … with the given effects. */
export function history(...changes: readonly (readonly Effect[] | Partial<NewEntry>)[]): Entry[] {
  return changes.map((given, i) => {
    const more: Partial<NewEntry> = 'length' in given ? { effects: given as readonly Effect[] } : given;
    return { ...changeEntry(`c${i + 1}`, [], { atMs: 10 * (i + 1), ...more }), seq: i + 1, hash: '' };
  });
}

/** The changes that an undo concerns, without their root, which is always the same here. */
export type Wanted = UndoTarget extends infer T ? (T extends UndoTarget ? Omit<T, 'root'> : never) : never;

/** The undo plan for a target. A refusal fails the test. */
export function plan(entries: readonly Entry[], target: Wanted, options?: UndoOptions): UndoPlan {
  const outcome = planUndo(entries, { root: ROOT, ...target }, options);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  return outcome.plan;
}

/** `path: expected state -> restored state`, one line per step. */
export function steps({ steps: all }: UndoPlan): string[] {
  const say = (side: State): string => {
    if (side.kind === 'file') return `${side.fingerprint.sha256[0]} ${side.mode.toString(8)}`;
    return side.kind === 'link' ? `=> ${side.target}` : side.kind;
  };
  return all.map((step) => {
    const from = step.movedFrom === undefined ? '' : ` from ${step.movedFrom.relative}`;
    const look =
      step.lookAt === step.key ? '' : ` (look ${step.lookAt?.slice(ROOT.length + 1) ?? 'nowhere'})`;
    return `${step.relative}: ${say(step.before)} -> ${say(step.after)}${from}${look}`;
  });
}
