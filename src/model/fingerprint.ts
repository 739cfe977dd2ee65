/** Identifies bytes. Two files are the same only if their fingerprints are equal. */
export interface Fingerprint {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly size: number;
}

/**
 * Stat fields of a file. If they have not changed since the file was hashed, the file need not be
 * hashed again. Exception (`racy`): it was hashed so soon after a write that a second write could
 * leave the same times.
 */
export interface Stamp {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

export function sameFingerprint(a: Fingerprint, b: Fingerprint): boolean {
  return a.sha256 === b.sha256 && a.size === b.size;
}

/** Identifies a file on this machine by device and inode number, even after it was moved. */
export function inodeOf({
  dev,
  ino,
}: {
  readonly dev: number | bigint;
  readonly ino: number | bigint;
}): string {
  return `${dev}:${ino}`;
}

export function sameStamp(a: Stamp, b: Stamp): boolean {
  return (
    a.ino === b.ino &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs &&
    a.size === b.size &&
    a.dev === b.dev
  );
}
