import type { HostIntent } from '../model/intent.ts';
import { defined } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { intentPaths, outsideRefusal, type Scene } from './scene.ts';

interface InsideAndOutside {
  readonly inside: readonly HostIntent[];
  /**
   * The files that moves take out of the workspace and that the call does not change otherwise. A
   * move keeps their bytes, so it is recorded without being judged.
   */
  readonly leaving: readonly HostIntent[];
  /** The refusal for a file outside the workspace, if there is one. */
  readonly outside?: Refusal;
}

/**
 * Separates the changes inside the workspace from those outside. A move into the workspace counts as
 * a change of its destination.
 */
export async function insideAndOutside(
  scene: Scene,
  intents: readonly HostIntent[],
): Promise<InsideAndOutside> {
  const inside: HostIntent[] = [];
  const leaving: HostIntent[] = [];
  let outside: Refusal | undefined;
  for (const intent of intents) {
    const refusal = await outsideRefusal(scene, intent);
    if (refusal === undefined) inside.push(intent);
    else outside ??= refusal;
    if (refusal === undefined || intent.kind !== 'move') continue;
    const source = { kind: 'touch', path: intent.source } as const;
    const destination = { kind: 'touch', path: intent.destination } as const;
    if ((await outsideRefusal(scene, source)) === undefined) leaving.push(source);
    if ((await outsideRefusal(scene, destination)) === undefined) inside.push(destination);
  }
  // The bytes of a file that the call also changes are saved with that change.
  const changed = new Set(inside.flatMap(intentPaths));
  const unsaved = leaving.filter((intent) => !intentPaths(intent).some((path) => changed.has(path)));
  return { inside, leaving: unsaved, ...defined({ outside }) };
}
