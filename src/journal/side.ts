import type { Side } from '../model/entry.ts';
import { sameFingerprint } from '../model/fingerprint.ts';

/** Same kind and same content. Ignores permissions and whether the bytes are kept. */
export function sameContent(a: Side, b: Side): boolean {
  if (a.kind === 'file' && b.kind === 'file') return sameFingerprint(a.fingerprint, b.fingerprint);
  if (a.kind === 'link' && b.kind === 'link') return a.target === b.target;
  return a.kind === b.kind;
}

/** Same content and same permissions. */
export function sameSide(a: Side, b: Side): boolean {
  return sameContent(a, b) && modeOf(a) === modeOf(b);
}

function modeOf(side: Side): number | undefined {
  return side.kind === 'file' || side.kind === 'directory' ? side.mode : undefined;
}
