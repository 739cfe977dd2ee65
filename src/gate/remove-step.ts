import { create } from '../disk/create.ts';
import { makeLink } from '../disk/links.ts';
import { linkTarget } from '../disk/list.ts';
import type { Snapshot } from '../disk/read.ts';
import { remove, removeLink } from '../disk/remove.ts';
import { conflict } from '../disk/replace.ts';
import { modeOf } from '../disk/stats.ts';
import type { Found } from '../workspace/workspace.ts';
import { ABSENT, sideOf } from './sides.ts';
import type { Done, Step } from './step.ts';
import type { World } from './world.ts';

/** Deletes one file; its bytes stay among the images. */
export function removeFileStep(world: World, located: Found, before: Snapshot): Step {
  const { place } = located;
  const expected = { fingerprint: before.fingerprint, bytes: before.bytes };
  return {
    action: 'delete',
    path: place.path,
    effects: [{ key: place.path.key, relative: place.path.relative, before: sideOf(before), after: ABSENT }],
    run: async () => {
      const outcome = remove(world.disk, place, expected);
      if (!outcome.ok) return outcome;
      const { sha256, size } = before.fingerprint;
      const displaced = outcome.displaced === undefined ? [] : [{ file: outcome.displaced, sha256, size }];
      return gone(place.path.given, place.path.key, displaced);
    },
    revert: async () => {
      const made = await create(world.disk, place, { bytes: before.bytes, mode: modeOf(before.stats) });
      return made.ok;
    },
    close: () => place.dir.close(),
  };
}

/** Deletes a link, never what it points to. */
export function removeLinkStep(world: World, located: Found): Step {
  const { place } = located;
  const target = linkTarget(place) ?? '';
  const before = { kind: 'link', target } as const;
  return {
    action: 'delete',
    path: place.path,
    effects: [{ key: place.path.key, relative: place.path.relative, before, after: ABSENT }],
    run: async () => {
      const outcome = target === '' ? conflict('changed') : removeLink(world.disk, place, target);
      return outcome.ok ? gone(place.path.given, place.path.key, []) : outcome;
    },
    revert: async () => makeLink(world.disk, place, target).ok,
    close: () => place.dir.close(),
  };
}

function gone(path: string, key: string, displaced: Done['displaced']): Done {
  const result = { path, changed: true, created: false, sizeBytes: 0, notices: [] };
  return { ok: true, result, sightings: [], tombstones: [key], displaced };
}
