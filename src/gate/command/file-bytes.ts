import { readSnapshot } from '../../disk/read.ts';
import type { ResolvedPath } from '../../model/path.ts';
import { decodeText } from '../../text/decode.ts';
import type { World } from '../world.ts';
import type { Written } from './write-set.ts';

/** Larger files are neither merged nor shown as a diff. */
const MAX_TEXT_BYTES = 2 << 20;

/** The present bytes of `before`. Undefined if it is not a file, or too large to treat as text. */
export async function bytesBefore(world: World, { path, before }: Written): Promise<Buffer | undefined> {
  if (before.kind !== 'file' || before.fingerprint.size > MAX_TEXT_BYTES) return undefined;
  return liveBytes(world, path);
}

/** The bytes of `after`. Undefined if it is not a file, or too large to treat as text. */
export function bytesAfter({ after, bytes }: Written): Buffer | undefined {
  return after.kind !== 'file' || after.fingerprint.size > MAX_TEXT_BYTES ? undefined : bytes?.();
}

async function liveBytes(world: World, path: ResolvedPath): Promise<Buffer | undefined> {
  const outcome = world.workspace.locate(path.absolute, 'run', 'parents');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  try {
    const snapshot = located.exists ? await readSnapshot(located.place, { clock: undefined }) : undefined;
    return snapshot === undefined || 'problem' in snapshot ? undefined : snapshot.bytes;
  } finally {
    located.place.dir.close();
  }
}

/** UTF-8 text, with its byte order mark. Undefined for content that a merge by lines would damage. */
export function plainText(bytes: Uint8Array | undefined): string | undefined {
  const decoded = bytes === undefined ? undefined : decodeText(bytes);
  if (decoded === undefined || decoded.encoding !== 'utf-8') return undefined;
  return `${decoded.bom ? '\ufeff' : ''}${decoded.text}`;
}

/**
 * The name of a path in a root. Paths in a worktree's common git folder are named `.git/…`, the folder that the
 * worktree lacks.
 */
export function nameOf({ workspace }: World, { root, relative }: ResolvedPath): string {
  return workspace.annexes.includes(root) ? `.git/${relative}` : relative;
}
