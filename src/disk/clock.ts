import { type BigIntStats, closeSync, constants, fstatSync, openSync, statfsSync, writeSync } from 'node:fs';

/** Coarsest tick of a local file system that has no clock we can ask: FAT's two seconds, and a little. */
const MARGIN_NS = 2_100_000_000n;
/** Magic numbers of file systems whose times come from another machine or from user code: nfs, smb, cifs, smb2, fuse, 9p, ceph, afs. */
const FOREIGN_CLOCK = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997, 0x00c36400, 0x5346414f,
]);

/**
 * Tells whether a stamp may stand for bytes (git's racy rule). A file changed in the same clock tick as it was read
 * keeps its stamp, so a stamp counts only if the file system's own clock has moved on since the file's last change.
 */
export class FileSystemClock {
  readonly #probe: { readonly fd: number; readonly dev: bigint } | undefined;
  readonly #foreign = new Map<bigint, boolean>();

  /** `probe`: a private file that may be written to ask for the time; of use for files on the same file system. */
  constructor(probe?: string) {
    if (probe === undefined) return;
    const fd = openSync(probe, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    this.#probe = { fd, dev: fstatSync(fd, { bigint: true }).dev };
  }

  /**
   * Call it before the bytes are read, with a look at the file that turns out to hold after the reading: asked later, the
   * clock may have moved on after a change that still got the old time. `path` is any path on the same file system.
   */
  isRacy(stats: BigIntStats, path: string): boolean {
    if (this.#isForeign(stats.dev, path)) return true;
    const settledNs = BigInt(Date.now()) * 1_000_000n - MARGIN_NS;
    if (stats.mtimeNs < settledNs && stats.ctimeNs < settledNs) return false;
    if (this.#probe?.dev !== stats.dev) return true;
    const nowNs = this.#probeNs(this.#probe.fd);
    return stats.mtimeNs >= nowNs || stats.ctimeNs >= nowNs;
  }

  close(): void {
    if (this.#probe !== undefined) closeSync(this.#probe.fd);
  }

  #probeNs(fd: number): bigint {
    writeSync(fd, '.', 0);
    return fstatSync(fd, { bigint: true }).mtimeNs;
  }

  #isForeign(dev: bigint, path: string): boolean {
    let foreign = this.#foreign.get(dev);
    if (foreign === undefined) {
      foreign = FOREIGN_CLOCK.has(statfsSync(path).type);
      this.#foreign.set(dev, foreign);
    }
    return foreign;
  }
}
