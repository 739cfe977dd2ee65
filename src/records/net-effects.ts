import { type Entry, type Side, sameSide } from '../model/entry.ts';

/** The combined effect of several changes on one path. */
export interface NetEffect {
  readonly root: string;
  readonly key: string;
  readonly relative: string;
  readonly before: Side;
  readonly after: Side;
  /** Ids, oldest first. */
  readonly changes: readonly string[];
}

/** The combined effect of changes for each path, in the order of the first touch. Paths that ended unchanged are left out. */
export function netEffects(changes: readonly Entry[]): NetEffect[] {
  const net = new Map<string, NetEffect>();
  for (const entry of [...changes].sort((a, b) => a.seq - b.seq)) {
    for (const { key, relative, before, after } of entry.effects ?? []) {
      const known = net.get(key);
      const ids = new Set(known?.changes).add(entry.change ?? '');
      const root = known?.root ?? rootOf(key, relative) ?? entry.root;
      net.set(key, { root, key, relative, before: known?.before ?? before, after, changes: [...ids] });
    }
  }
  return [...net.values()].filter(({ before, after }) => !sameSide(before, after));
}

/** Leaves out folders that were created or removed along with a listed path inside them. */
export function withoutImplied(effects: readonly NetEffect[]): NetEffect[] {
  const isOnlyFolder = ({ before, after }: NetEffect): boolean =>
    [before, after].every(({ kind }) => kind === 'absent' || kind === 'directory') &&
    before.kind !== after.kind;
  const isImplied = (folder: NetEffect): boolean =>
    effects.some(({ key, before, after }) => {
      const sameWay = folder.before.kind === 'absent' ? before.kind === 'absent' : after.kind === 'absent';
      return sameWay && key.startsWith(`${folder.key}/`);
    });
  return effects.filter((effect) => !isOnlyFolder(effect) || !isImplied(effect));
}

/**
 * The root of one path. A change may reach into several roots; the key is the root joined with the
 * relative path.
 */
function rootOf(key: string, relative: string): string | undefined {
  if (!key.endsWith(`/${relative}`)) return undefined;
  return key.slice(0, -relative.length - 1) || '/';
}
