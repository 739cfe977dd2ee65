import { basename } from 'node:path';
import { recordedLine } from '../../dialect/calls/shell/shell-line.ts';
import { bytesSeenWhole } from '../../judge/known.ts';
import { byPath, type Delta, lastAt } from '../../model/delta.ts';
import type { ChangeEntry } from '../../model/entry.ts';
import { type Fingerprint, sameFingerprint } from '../../model/fingerprint.ts';
import type { ShownScene } from '../shown.ts';
import { deltaAt } from './command.ts';

/** Maximum number of changes of one path to search. A file with more changes may have to be read again. */
const MAX_CHANGES = 500;
/** Maximum number of moves to follow back. */
const MAX_MOVES = 5;

/**
 * True if this session wrote all of a file's present content: it created the file or had seen a
 * whole version of it, and since then only this session has changed the file. `shown`: after a
 * version that the session had only seen, a command counts only if its line shows that it writes the
 * file, because the session cannot know what other programs wrote.
 */
export async function isOwnWork(scene: ShownScene, path: string, changes: 'any' | 'shown'): Promise<boolean> {
  const delta = await deltaAt(scene.world, path);
  if (delta?.before.kind !== 'file') return false;
  const { fingerprint } = delta.before;
  let version: Version | undefined = { key: delta.key, fingerprint, isShown: true };
  for (let moves = 0; moves <= MAX_MOVES && version !== undefined; moves += 1) {
    const origin = await originOf(scene, version, changes);
    if (origin === 'own') return true;
    version = origin;
  }
  return false;
}

/** The content of a file before the journal entry with the number `beforeSeq`; without one, its present content. */
interface Version {
  readonly key: string;
  readonly fingerprint: Fingerprint;
  readonly beforeSeq?: number;
  /** True if the lines of all later commands show that they write the file. */
  readonly isShown: boolean;
}

/**
 * Follows this session's changes of a file back in time. `own` if they lead to a version that the
 * session created or had seen whole. If they lead to a move, the version at the old path. Undefined
 * in all other cases.
 */
async function originOf(
  { world, knowledge }: ShownScene,
  start: Version,
  changes: 'any' | 'shown',
): Promise<'own' | Version | undefined> {
  const { key, beforeSeq } = start;
  const sighting = await knowledge.recall(key);
  const seen = (sighting && bytesSeenWhole(sighting)) ?? [];
  // A sighting of the present content is no proof of own work, but one of an earlier version is.
  const isOwn = (version: Version): boolean =>
    (changes === 'any' || version.isShown) &&
    version.beforeSeq !== undefined &&
    seen.some((each) => sameFingerprint(each, version.fingerprint));
  let version = start;
  for (const entry of await world.store.entries({ key, beforeSeq, kinds: ['change'], limit: MAX_CHANGES })) {
    if (isOwn(version)) return 'own';
    const earlier = entry.session === knowledge.session ? versionBefore(entry, version) : undefined;
    if (earlier === 'created') return 'own';
    if (earlier?.key !== key) return earlier;
    version = earlier;
  }
  return isOwn(version) ? 'own' : undefined;
}

/**
 * The version before a change of a file, perhaps at another path. `created` if there was no file,
 * or an empty one. Undefined if the change did not lead to the given version.
 */
function versionBefore(entry: ChangeEntry, version: Version): 'created' | Version | undefined {
  const { key, fingerprint } = version;
  const delta = lastAt(entry.deltas, key);
  if (delta === undefined || !leaves(delta, fingerprint)) return undefined;
  const source = movedFrom(entry, delta);
  if (source !== undefined) return { ...version, key: source, beforeSeq: entry.seq };
  const { before } = delta;
  if (before.kind === 'absent') return 'created';
  if (before.kind !== 'file') return undefined;
  const isShown = version.isShown && showsWrite(entry, key);
  return before.fingerprint.size === 0
    ? 'created'
    : { key, fingerprint: before.fingerprint, beforeSeq: entry.seq, isShown };
}

/** True for a change by a tool, and for a command whose line says that it writes a file of this name. */
function showsWrite({ action, text = '' }: ChangeEntry, key: string): boolean {
  if (action !== 'run') return true;
  const line = recordedLine(text);
  const paths = [
    ...line.writes().map((write) => (write.how === 'patch' ? write.patch : write.path)),
    ...line.destroys().map(({ files }) => ('path' in files ? files.path : '')),
  ];
  const name = basename(key);
  return paths.some((path) => path.includes(name));
}

function leaves({ after }: Delta, fingerprint: Fingerprint): boolean {
  return after.kind === 'file' && sameFingerprint(after.fingerprint, fingerprint);
}

/**
 * The key of the file that a change moved here: the change removed a file with the bytes that are
 * here after it. The deltas of a shell command do not say that it was a move.
 */
function movedFrom({ deltas }: ChangeEntry, { key, after }: Delta): string | undefined {
  if (after.kind !== 'file' || after.fingerprint.size === 0) return undefined;
  const source = byPath(deltas).find(
    (other) =>
      other.key !== key &&
      other.before.kind === 'file' &&
      !leaves(other, other.before.fingerprint) &&
      sameFingerprint(other.before.fingerprint, after.fingerprint),
  );
  return source?.key;
}
