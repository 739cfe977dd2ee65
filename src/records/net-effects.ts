import { byPath, type State, sameState } from '../model/delta.ts';
import type { ChangeEntry } from '../model/entry.ts';
import { foldersAbove } from '../model/path.ts';

/** The combined effect of several changes on one path. */
export interface NetEffect {
  readonly root: string;
  readonly key: string;
  readonly relative: string;
  readonly before: State;
  readonly after: State;
  /** Ids of the changes, oldest first. */
  readonly changes: readonly string[];
}

/**
 * The combined effect of changes on each path, in the order in which the changes first touched the
 * paths. Leaves out paths that are unchanged at the end.
 */
export function netEffects(changes: readonly ChangeEntry[]): NetEffect[] {
  const net = new Map<string, { readonly effect: NetEffect; readonly ids: Set<string> }>();
  for (const entry of [...changes].sort((a, b) => a.seq - b.seq)) {
    for (const { key, relative, before, after } of byPath(entry.deltas)) {
      const known = net.get(key);
      const ids = (known?.ids ?? new Set<string>()).add(entry.change);
      const root = known?.effect.root ?? rootOfPath(key, relative) ?? entry.root;
      const first = known?.effect.before ?? before;
      net.set(key, { effect: { root, key, relative, before: first, after, changes: [] }, ids });
    }
  }
  return [...net.values()]
    .filter(({ effect: { before, after } }) => !sameState(before, after))
    .map(({ effect, ids }) => ({ ...effect, changes: [...ids] }));
}

/** Leaves out folders that were created or removed along with a listed path inside them. */
export function withoutImplied(effects: readonly NetEffect[]): NetEffect[] {
  const isOnlyFolder = ({ before, after }: NetEffect): boolean =>
    [before, after].every(({ kind }) => kind === 'absent' || kind === 'directory') &&
    before.kind !== after.kind;
  const keysWith = (end: 'before' | 'after'): string[] =>
    effects.flatMap((effect) => (effect[end].kind === 'absent' ? [effect.key] : []));
  const [created, removed] = [foldersAbove(keysWith('before')), foldersAbove(keysWith('after'))];
  const isImplied = ({ key, before }: NetEffect): boolean =>
    (before.kind === 'absent' ? created : removed).has(key);
  return effects.filter((effect) => !isOnlyFolder(effect) || !isImplied(effect));
}

/**
 * The root that contains a path: the key of the path without its relative part. Computed for each
 * path, because one change may reach into several roots.
 */
export function rootOfPath(key: string, relative: string): string | undefined {
  if (!key.endsWith(`/${relative}`)) return undefined;
  return key.slice(0, -relative.length - 1) || '/';
}
