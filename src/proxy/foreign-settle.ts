import type { ForeignIntent } from '../dialect/servers/step.ts';
import { sideAt } from '../gate/side-at.ts';
import { witness } from '../gate/witness.ts';
import { sameSide } from '../journal/side.ts';
import type { Effect } from '../model/entry.ts';
import type { WitnessEvent } from '../model/results.ts';
import type { OpenChange } from './foreign-change.ts';
import type { Ending } from './foreign-session.ts';
import type { Scene } from './foreign-shown.ts';

/** Records what really became of the files, then what the session knows of them; frees them in any case. */
export async function settleForeign(scene: Scene, open: OpenChange, ending: Ending): Promise<void> {
  const { world, ledger } = scene;
  try {
    const effects = await effectsNow(scene, open.entry.effects ?? []);
    const entries = effects.length === 0 ? [] : [{ ...open.entry, atMs: world.now(), effects }];
    if (open.recorded) await world.store.record({ entries, settle: [open.change] });
    if (ending !== 'done') {
      for (const { key } of open.entry.effects ?? []) await ledger.forget(key);
      return;
    }
    if (open.credits.length > 0) await ledger.record(open.credits);
    for (const intent of open.intents) {
      const event = eventOf(intent);
      if (event !== undefined) await witness(world, ledger, event);
    }
  } finally {
    open.release();
  }
}

async function effectsNow({ world }: Scene, announced: readonly Effect[]): Promise<Effect[]> {
  const effects: Effect[] = [];
  for (const { movedTo, ...effect } of announced) {
    const after = await sideAt(world, effect.key);
    if (sameSide(effect.before, after)) continue;
    effects.push({
      ...effect,
      after,
      ...(movedTo === undefined || after.kind !== 'absent' ? {} : { movedTo }),
    });
  }
  return effects;
}

/** Bytes that are there as intended were written whole; of any other change the disk tells what it did. */
function eventOf(intent: ForeignIntent): WitnessEvent | undefined {
  switch (intent.kind) {
    case 'write':
      return { kind: 'write', path: intent.path, content: intent.content };
    case 'edit':
    case 'insert':
    case 'touch':
      return { kind: 'write', path: intent.path };
    case 'delete':
      return { kind: 'delete', path: intent.path };
    case 'move':
      return { kind: 'move', source: intent.source, destination: intent.destination };
    case 'mkdir':
      return undefined;
    default:
      return intent satisfies never;
  }
}
