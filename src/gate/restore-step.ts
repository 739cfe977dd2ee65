import { create } from '../disk/create.ts';
import { makeFolders, removeFolder } from '../disk/folders.ts';
import { makeLink } from '../disk/links.ts';
import { move } from '../disk/move.ts';
import { remove, removeLink } from '../disk/remove.ts';
import { type Conflict, conflict, replace } from '../disk/replace.ts';
import { sameContent } from '../journal/side.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import { NOTHING } from '../model/coverage.ts';
import type { Effect, Side } from '../model/entry.ts';
import type { Place, ResolvedPath } from '../model/path.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import type { Located } from '../workspace/workspace.ts';
import { ABSENT } from './sides.ts';
import type { Displaced, Step } from './step.ts';
import type { World } from './world.ts';

/** Brings one thing back to what it was. It looks for its place when it runs: an earlier step may have to make it. */
export function restoreStep(world: World, step: UndoStep, path: ResolvedPath): Step {
  return {
    action: 'undo',
    path,
    effects: effectsOf(step),
    run: async () => {
      const outcome = await restore(world, step);
      if (!outcome.ok) return outcome;
      const result = {
        path: step.relative,
        changed: true,
        created: step.expect.kind === 'absent' && step.restore.kind === 'file',
        sizeBytes: step.restore.kind === 'file' ? step.restore.fingerprint.size : 0,
        notices: [],
      };
      const sightings = step.restore.kind === 'file' ? [baselineOf(world, step.key, step.restore)] : [];
      const tombstones = step.restore.kind === 'absent' ? [step.key] : [];
      return { ok: true, result, sightings, tombstones, displaced: outcome.displaced };
    },
    revert: async () => {
      await restore(world, { ...step, expect: step.restore, restore: step.expect });
    },
    close: () => {},
  };
}

function effectsOf(step: UndoStep): Effect[] {
  const { key, relative, expect, restore: after, from } = step;
  const before: Side = expect.kind === 'file' ? { ...expect, kept: true } : expect;
  if (from === undefined) return [{ key, relative, before, after }];
  return [
    { key: from.key, relative: from.relative, before: after, after: ABSENT, movedTo: key },
    { key, relative, before: ABSENT, after },
  ];
}

/** The session knows that these bytes are there now, and was not shown them: an edit may follow, an overwrite not. */
function baselineOf(world: World, key: string, side: Extract<Side, { kind: 'file' }>): Sighting {
  return {
    key,
    fingerprint: side.fingerprint,
    stamp: undefined,
    racy: true,
    coverage: NOTHING,
    totalLines: undefined,
    flags: NO_FLAGS,
    how: 'write',
    atMs: world.now(),
    lost: 'forgotten',
  };
}

type Restored = { readonly ok: true; readonly displaced: readonly Displaced[] } | Conflict;

async function restore(world: World, step: UndoStep): Promise<Restored> {
  if (step.from === undefined && sameContent(step.expect, step.restore)) return { ok: true, displaced: [] };
  const outcome = world.workspace.locate(step.key, 'undo', 'parents');
  if (!outcome.ok) return conflict('changed');
  const { located } = outcome;
  try {
    if (step.from !== undefined) return moveBack(world, step.from.key, located);
    const taken = takeAway(world, located, step);
    if (!taken.ok || step.restore.kind === 'absent') return taken;
    const put = await putThere(world, located, step);
    return put.ok ? { ok: true, displaced: [...taken.displaced, ...put.displaced] } : put;
  } finally {
    located.place.dir.close();
  }
}

function moveBack(world: World, from: string, to: Located): Restored {
  const source = world.workspace.locate(from, 'undo', 'parents');
  if (!source.ok || !source.located.exists || to.exists) return conflict('changed');
  const folders = makeFolders(world.disk, to.place, to.missing.slice(0, -1));
  try {
    const place = { path: to.place.path, dir: folders.dir, name: to.missing.at(-1) ?? to.place.name };
    const moved = move(world.disk, source.located.place, place);
    if (!moved.ok) folders.undo();
    return moved.ok ? { ok: true, displaced: [] } : moved;
  } finally {
    folders.close();
    source.located.place.dir.close();
  }
}

/** Removes what must make room. A file that is only replaced stays until its successor takes its place. */
function takeAway(world: World, located: Located, { expect, restore: after }: UndoStep): Restored {
  if (located.exists !== (expect.kind !== 'absent')) return conflict(located.exists ? 'exists' : 'missing');
  switch (expect.kind) {
    case 'absent':
      return { ok: true, displaced: [] };
    case 'directory': {
      if (after.kind === 'directory') return { ok: true, displaced: [] };
      const gone = removeFolder(world.disk, located.place);
      // A folder in which someone has put something since stays, unless something else must take its place.
      return gone || after.kind === 'absent' ? { ok: true, displaced: [] } : conflict('changed');
    }
    case 'link': {
      const removed = removeLink(world.disk, located.place, expect.target);
      return removed.ok ? { ok: true, displaced: [] } : removed;
    }
    case 'file': {
      if (after.kind === 'file') return { ok: true, displaced: [] };
      const removed = remove(world.disk, located.place, { fingerprint: expect.fingerprint });
      if (!removed.ok) return removed;
      return { ok: true, displaced: displacedOf(removed.displaced, expect) };
    }
    default:
      return expect satisfies never;
  }
}

function displacedOf(file: string | undefined, side: Extract<Side, { kind: 'file' }>): Displaced[] {
  return file === undefined ? [] : [{ file, ...side.fingerprint }];
}

async function putThere(world: World, located: Located, step: UndoStep): Promise<Restored> {
  const { expect, restore: after } = step;
  const missing = located.exists ? [] : located.missing;
  const folders = makeFolders(
    world.disk,
    located.place,
    after.kind === 'directory' ? missing : missing.slice(0, -1),
  );
  try {
    const place: Place = {
      path: located.place.path,
      dir: folders.dir,
      name: missing.at(-1) ?? located.place.name,
    };
    if (after.kind === 'directory') return { ok: true, displaced: [] };
    if (after.kind === 'link') {
      const made = makeLink(world.disk, place, after.target);
      return made.ok ? { ok: true, displaced: [] } : made;
    }
    if (after.kind !== 'file') return { ok: true, displaced: [] };
    const bytes = await world.images.read(after.fingerprint);
    if (expect.kind !== 'file') {
      const made = await create(world.disk, place, { bytes, mode: after.mode });
      return made.ok ? { ok: true, displaced: [] } : made;
    }
    const written = await replace(world.disk, place, {
      bytes,
      expected: { fingerprint: expect.fingerprint },
    });
    return written.ok ? { ok: true, displaced: displacedOf(written.displaced, expect) } : written;
  } finally {
    folders.close();
  }
}
