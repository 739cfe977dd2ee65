import { readSnapshot } from '../disk/read.ts';
import { kindOf, modeOf } from '../disk/stats.ts';
import type { World } from '../gate/world.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Coverage, NOTHING } from '../model/coverage.ts';
import { type Fingerprint, sameFingerprint } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import type { MoveOptions } from '../model/session.ts';
import { showsAll } from '../model/sighting.ts';
import { type Outcome, refused } from '../model/verdict.ts';
import { isSecretPath } from '../text/secrets.ts';
import { notAFile, unreadableRefusal } from './unreadable.ts';

export interface Copying {
  readonly source: string;
  readonly destination: string;
  readonly options: Pick<MoveOptions, 'makeParents' | 'overwrite'>;
}

/**
 * The write that copies a file with its present bytes and mode. The session's coverage of the source applies to the
 * copy.
 */
export async function copyIntent(
  world: World,
  ledger: Ledger,
  { source, destination, options }: Copying,
): Promise<Outcome<{ intent: FileIntent }>> {
  const outcome = world.workspace.locate(source, 'read');
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  try {
    if (!located.exists) return refused({ code: 'NOT_FOUND', action: 'read', path: source, next: 'list' });
    const kind = kindOf(located.stats);
    if (kind !== 'file') return refused(notAFile(source, kind));
    const { path } = located.place;
    // Nothing masks secrets under the copy's name.
    if (world.policy.secrets !== 'show' && isSecretPath(path.relative) && !isSecretPath(destination)) {
      const detail = { reason: 'it holds secrets, and a copy of it would show them' };
      return refused({ code: 'PROTECTED', action: 'read', path: source, next: 'ask_human', detail });
    }
    const { clock } = world.disk;
    const snapshot = await readSnapshot(located.place, { clock, maxBytes: world.policy.maxEditBytes });
    if ('problem' in snapshot) return refused(unreadableRefusal(source, snapshot));
    const seen = await seenOf(ledger, path.key, snapshot.fingerprint);
    const mode = modeOf(snapshot.stats) & 0o777;
    const content = snapshot.bytes;
    return { ok: true, intent: { ...options, kind: 'write', path: destination, content, mode, seen } };
  } finally {
    located.place.dir.close();
  }
}

async function seenOf(ledger: Ledger, key: string, fingerprint: Fingerprint): Promise<Coverage> {
  const sighting = await ledger.recall(key);
  if (sighting?.fingerprint === undefined || sighting.tombstone === true || !showsAll(sighting.flags))
    return NOTHING;
  return sameFingerprint(sighting.fingerprint, fingerprint) ? sighting.coverage : NOTHING;
}
