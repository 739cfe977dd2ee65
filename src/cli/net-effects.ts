import { sameSide } from '../journal/side.ts';
import type { Entry, Side } from '../model/entry.ts';

/** What some changes together did to one path. */
export interface NetEffect {
  readonly root: string;
  readonly key: string;
  readonly relative: string;
  readonly before: Side;
  readonly after: Side;
  /** Ids, oldest first. */
  readonly changes: readonly string[];
}

/** What changes did together, path by path in the order first touched; paths that ended as they began are left out. */
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

/** Without the folders that came or went with something that is listed anyway. */
export function withoutImplied(effects: readonly NetEffect[]): NetEffect[] {
  const isOnlyFolder = ({ before, after }: NetEffect): boolean =>
    [before, after].every(({ kind }) => kind === 'absent' || kind === 'directory') &&
    before.kind !== after.kind;
  const isTold = (folder: NetEffect): boolean =>
    effects.some(({ key, before, after }) => {
      const sameWay = folder.before.kind === 'absent' ? before.kind === 'absent' : after.kind === 'absent';
      return sameWay && key.startsWith(`${folder.key}/`);
    });
  return effects.filter((effect) => !isOnlyFolder(effect) || !isTold(effect));
}

/** A change may reach into several roots; a path's own root is what stands before its relative part. */
function rootOf(key: string, relative: string): string | undefined {
  if (!key.endsWith(`/${relative}`)) return undefined;
  return key.slice(0, -relative.length - 1) || '/';
}
