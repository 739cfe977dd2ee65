import { fstatSync } from 'node:fs';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import type { Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import { type Content, fingerprintOfContent } from './content.ts';
import type { DiskContext } from './context.ts';
import { modeOf, stampOf } from './stats.ts';
import type { Staged, TempFile } from './temp-file.ts';

/** Writing and comparing this many bytes takes about one tick of the clock. */
const WORTH_ASKING_BYTES = 1n << 19n;

/** New content, and a temporary file beside the target if one already holds it. */
export type NewContent = Content & { readonly staged?: Staged };

export interface Committed {
  readonly ok: true;
  readonly fingerprint: Fingerprint;
  readonly stamp: Stamp;
  /** The stamp may belong to bytes that another process wrote. */
  readonly racy: boolean;
  readonly mode: number;
  /** The current path of the file that was replaced or removed, outside the workspace. */
  readonly displaced?: string;
  readonly notices: readonly Notice[];
}

/**
 * Whether a foreign write right after publication could get the same time as our own write. Call
 * just before publishing. Assumed true for small unsynced content, because the clock has hardly
 * advanced.
 */
export function mayHideWrites(context: DiskContext, { dir }: Place, { stats }: TempFile): boolean {
  const quick = context.durability === 'none' && stats.size < WORTH_ASKING_BYTES;
  return quick || context.clock.isRacy(stats, `${dir.prefix}/.`);
}

/**
 * The record of a published file. Its fingerprint comes from the intended bytes, never from reading
 * the file again.
 */
export function committed(
  temp: TempFile,
  { content, hidesWrites }: { readonly content: Content; readonly hidesWrites: boolean },
): Committed {
  const stats = fstatSync(temp.fd, { bigint: true });
  return {
    ok: true,
    fingerprint: fingerprintOfContent(content),
    stamp: stampOf(stats),
    racy: hidesWrites || stats.mtimeNs !== temp.stats.mtimeNs || stats.size !== temp.stats.size,
    mode: modeOf(stats),
    notices: [],
  };
}
