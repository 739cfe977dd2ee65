import type { Fingerprint } from '../model/fingerprint.ts';
import type { Writer } from '../model/verdict.ts';
import type { World } from './world.ts';

/** The other session whose recorded change left the present bytes, or undefined if no recorded change did. */
export async function siblingOf(
  world: World,
  session: string,
  file: { readonly key: string; readonly now: Fingerprint },
): Promise<Writer | undefined> {
  const entry = await world.store.lastChange(file.key);
  if (entry === undefined || entry.session === session) return undefined;
  const after = entry.effects?.find((effect) => effect.key === file.key)?.after;
  if (after?.kind !== 'file' || after.fingerprint.sha256 !== file.now.sha256) return undefined;
  const { session: by, atMs, turn } = entry;
  const { client } = (await world.store.session(by)) ?? {};
  return {
    session: by,
    atMs,
    ...(client === undefined ? {} : { client }),
    ...(turn === undefined ? {} : { turn }),
  };
}
