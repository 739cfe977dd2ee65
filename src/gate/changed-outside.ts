import { readSnapshot } from '../disk/read.ts';
import { stampOf } from '../disk/stats.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';
import type { World } from './world.ts';

/** A file that a session has seen and whose bytes have changed since. */
interface ChangedFile {
  readonly key: string;
  /** Relative to the root. */
  readonly path: string;
  /** Hash of the present bytes; '' if the file is gone or cannot be read. */
  readonly sha256: string;
}

/** Lists the files that a session has seen and that have changed since. */
export async function changedFiles(world: World, ledger: Ledger): Promise<readonly ChangedFile[]> {
  const changed: ChangedFile[] = [];
  for (const sighting of await ledger.all()) {
    const file = sighting.how === 'listing' ? undefined : await changedFile(world, sighting);
    if (file !== undefined) changed.push(file);
  }
  return changed;
}

/** The file if it changed or is gone. A different stamp alone is no change: the hash decides. */
async function changedFile(world: World, sighting: Sighting): Promise<ChangedFile | undefined> {
  const { key, fingerprint } = sighting;
  const outcome = world.workspace.locate(key, 'status');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  const path = located.place.path.relative;
  try {
    if (!located.exists || !located.stats.isFile()) return { key, path, sha256: '' };
    if (sighting.stamp && !sighting.racy && sameStamp(sighting.stamp, stampOf(located.stats)))
      return undefined;
    const snapshot = await readSnapshot(located.place, { clock: world.disk.clock });
    if ('problem' in snapshot) return { key, path, sha256: '' };
    if (fingerprint !== undefined && sameFingerprint(snapshot.fingerprint, fingerprint)) return undefined;
    return { key, path, sha256: snapshot.fingerprint.sha256 };
  } finally {
    located.place.dir.close();
  }
}

/** Text of the journal notice about a file that another program changed. Each state of a file is noted once. */
const CHANGED_OUTSIDE = 'changed by another program since this session saw it';
/** Number of notices searched per file or turn. */
const MAX_NOTICES = 1000;

/**
 * Records, in the current turn, which files seen by the session were changed by other programs. Formatters and linters
 * run by other hooks after a change are such programs.
 */
export async function noteOutsideChanges(world: World, ledger: Ledger): Promise<void> {
  for (const file of await changedFiles(world, ledger)) {
    if ((await isOwn(world, ledger, file)) || (await isNoted(world, ledger, file))) continue;
    const root = world.workspace.roots[0] ?? '';
    const about = { ...ledger.author, root, ...file, text: CHANGED_OUTSIDE };
    await world.store.record({ entries: [{ kind: 'notice', atMs: world.now(), ...about }] });
  }
}

/** True if the session itself made the last change of the file, for example by a command, without reading it since. */
async function isOwn(world: World, { session }: Ledger, { key, sha256 }: ChangedFile): Promise<boolean> {
  const last = await world.store.lastChange(key);
  if (last?.session !== session) return false;
  const left = last.effects?.findLast((effect) => effect.key === key)?.after;
  return (left?.kind === 'file' ? left.fingerprint.sha256 : '') === sha256;
}

async function isNoted(world: World, { session }: Ledger, { key, sha256 }: ChangedFile): Promise<boolean> {
  const notices = await world.store.entries({ session, key, kinds: ['notice'], limit: MAX_NOTICES });
  return notices.some((notice) => notice.text === CHANGED_OUTSIDE && notice.sha256 === sha256);
}

/**
 * Paths noted as changed by other programs since the session's last turn began, if they still differ from what it saw.
 */
export async function outsideChangesOfTurn(world: World, ledger: Ledger): Promise<readonly string[]> {
  const { session } = ledger;
  const [turn] = await world.store.entries({ session, kinds: ['turn'], limit: 1 });
  const since = turn === undefined ? {} : { afterSeq: turn.seq };
  const notices = await world.store.entries({ session, kinds: ['notice'], ...since, limit: MAX_NOTICES });
  const noted = new Set(notices.flatMap(({ text, path }) => (text === CHANGED_OUTSIDE ? (path ?? []) : [])));
  return (await changedFiles(world, ledger)).map(({ path }) => path).filter((path) => noted.has(path));
}
