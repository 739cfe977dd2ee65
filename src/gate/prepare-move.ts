import { linkTarget } from '../disk/list.ts';
import { readSnapshot } from '../disk/read.ts';
import { judge } from '../judge/judge.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { sightingsBelow } from '../ledger/moved-sightings.ts';
import type { Side } from '../model/entry.ts';
import type { FileIntent } from '../model/intent.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Found } from '../workspace/workspace.ts';
import { cure } from './cure.ts';
import { makeFolderStep, nothingStep } from './folder-step.ts';
import { heldInside, heldRefusal } from './held.ts';
import { look, type View } from './look.ts';
import { moveStep } from './move-step.ts';
import { unverifiable } from './prepare-write.ts';
import { closedUnlessOk, no, type Prepared } from './prepared.ts';
import { sideOf } from './sides.ts';
import { told } from './told.ts';
import type { World } from './world.ts';

type MoveIntent = Extract<FileIntent, { kind: 'move' }>;
type MkdirIntent = Extract<FileIntent, { kind: 'mkdir' }>;

/** Judges a move: the source needs no sighting, a file at the destination is overwritten and needs a licence. */
export async function prepareMove(world: World, ledger: Ledger, intent: MoveIntent): Promise<Prepared> {
  const source = await look(world, ledger, {
    path: intent.source,
    action: 'move',
    links: 'parents',
    depth: 'glance',
  });
  if (!source.ok) return source;
  return closedUnlessOk({ view: source.view, intent }, async () => {
    const destination = await look(world, ledger, {
      path: intent.destination,
      action: 'overwrite',
      links: 'parents',
      depth: 'bytes',
    });
    if (!destination.ok) return destination;
    const both = { source: source.view, destination: destination.view };
    return closedUnlessOk({ view: both.destination, intent }, () =>
      judged(world, ledger, { intent, ...both }),
    );
  });
}

interface Moving {
  readonly intent: MoveIntent;
  readonly source: View;
  readonly destination: View;
}

async function judged(
  world: World,
  ledger: Ledger,
  { intent, source, destination }: Moving,
): Promise<Prepared> {
  const leaving = judge(source.facts, world.policy);
  if (leaving.outcome === 'refuse') return no(leaving.refusal);
  if (!source.located.exists)
    return no({ code: 'NOT_FOUND', action: 'move', path: intent.source, next: 'list' });
  const blocked =
    whyBlocked({ intent, source, destination }) ?? whyHeld(world, source.located, destination.path);
  if (blocked !== undefined) return no(blocked);
  const arriving = judge(destination.facts, world.policy);
  if (arriving.outcome === 'refuse') {
    return arriving.refusal.code === 'STALE'
      ? cure(world, destination, { refusal: arriving.refusal })
      : no(arriving.refusal);
  }
  if (destination.located.exists && destination.snapshot === undefined)
    return no(unverifiable(intent.destination));
  const side = await sideOfSource(world, source.located);
  if (side === undefined) return no(unverifiable(intent.source));
  const overwrites = destination.located.exists ? destination.snapshot : undefined;
  const sightings = await sightingsOf(ledger, source);
  const step = moveStep(world, {
    source: source.located,
    destination: destination.located,
    side,
    overwrites,
    sightings,
  });
  return { ok: true, step: told(step, arriving.notices) };
}

function whyBlocked({ intent, source, destination }: Moving): Refusal | undefined {
  const from = source.path.key;
  const to = destination.path.key;
  if (from === to || to.startsWith(`${from}/`)) {
    return refusal(
      'INVALID_ARGUMENT',
      intent.destination,
      'source and destination are the same, or one lies in the other',
    );
  }
  if (intent.makeParents === false && !destination.located.exists && destination.located.missing.length > 1) {
    return refusal('NOT_FOUND', intent.destination, 'the folder it would go into does not exist');
  }
  if (!destination.located.exists) return undefined;
  if (intent.overwrite === false)
    return refusal('ALREADY_EXISTS', intent.destination, 'nothing may be there');
  const both = source.located.exists && source.located.stats.isFile() && destination.located.stats.isFile();
  return both
    ? undefined
    : refusal('ALREADY_EXISTS', intent.destination, 'only a file may take the place of a file');
}

/** A folder moves with everything in it. */
function whyHeld(world: World, { place, stats }: Found, to: ResolvedPath): Refusal | undefined {
  if (!stats.isDirectory()) return undefined;
  const dir = place.dir.enter(place.name);
  try {
    const held = heldInside(world, dir, { path: place.path, to });
    return held && heldRefusal('move', place.path, held);
  } finally {
    dir.close();
  }
}

function refusal(code: Refusal['code'], path: string, reason: string): Refusal {
  return {
    code,
    action: 'move',
    path,
    next: code === 'INVALID_ARGUMENT' ? 'fix_argument' : 'other_path',
    detail: { reason },
  };
}

async function sideOfSource(world: World, source: Found): Promise<Side | undefined> {
  if (source.stats.isDirectory()) return { kind: 'directory', mode: Number(source.stats.mode & 0o777n) };
  if (source.stats.isSymbolicLink()) return { kind: 'link', target: linkTarget(source.place) ?? '' };
  const snapshot = await readSnapshot(source.place, { clock: world.disk.clock });
  return 'problem' in snapshot ? undefined : ({ ...sideOf(snapshot), kept: false } as Side);
}

async function sightingsOf(ledger: Ledger, source: View): Promise<readonly Sighting[]> {
  if (source.located.exists && source.located.stats.isDirectory())
    return sightingsBelow(ledger, source.path.key);
  return source.sighting === undefined ? [] : [source.sighting];
}

/** Judges the making of a folder; one that is there already is no change. */
export async function prepareMkdir(world: World, ledger: Ledger, intent: MkdirIntent): Promise<Prepared> {
  const outcome = await look(world, ledger, { path: intent.path, action: 'mkdir', depth: 'glance' });
  if (!outcome.ok) return outcome;
  const { view } = outcome;
  const verdict = judge(view.facts, world.policy);
  if (verdict.outcome === 'refuse') {
    view.located.place.dir.close();
    return no(verdict.refusal);
  }
  return {
    ok: true,
    step: view.located.exists ? nothingStep(view.located, 'mkdir') : makeFolderStep(world, view.located),
  };
}
