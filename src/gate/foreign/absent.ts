import type { Effect } from '../../model/entry.ts';
import type { ForeignIntent } from '../../model/intent.ts';
import { prepare } from '../prepare.ts';
import type { Denied } from '../prepared.ts';
import { ABSENT } from '../sides.ts';
import type { World } from '../world.ts';
import type { Scene } from './shown.ts';

/**
 * Where nothing is there to be edited, deleted or moved, nothing can be destroyed: whether that is a mistake is the other
 * server's to say, in its own words. What it makes of it is looked at afterwards. Undefined: the refusal stands.
 */
export async function effectsWhereNothingIs(
  scene: Scene,
  intent: ForeignIntent,
  { refusal }: Denied,
): Promise<readonly Effect[] | undefined> {
  // With a reason, something is there all the same: a link that leads nowhere, say.
  if (refusal.code !== 'NOT_FOUND' || refusal.detail?.reason !== undefined) return undefined;
  if (intent.kind !== 'move') return absentAt(scene.world, [intent.path]);
  const { destination } = intent;
  const arriving = await prepare(scene.world, scene.ledger, {
    kind: 'write',
    path: destination,
    content: '',
  });
  if (!arriving.ok) return undefined;
  arriving.step.close();
  return absentAt(scene.world, [intent.source, destination]);
}

function absentAt(world: World, paths: readonly string[]): readonly Effect[] | undefined {
  const effects: Effect[] = [];
  for (const path of paths) {
    const outcome = world.workspace.locate(path, 'status', 'parents');
    if (!outcome.ok) return undefined;
    const { place, exists } = outcome.located;
    place.dir.close();
    if (exists) return undefined;
    effects.push({ key: place.path.key, relative: place.path.relative, before: ABSENT, after: ABSENT });
  }
  return effects;
}
