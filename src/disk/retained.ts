import { readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { DiskContext } from './context.ts';
import { fingerprintOf } from './hash.ts';

export interface RetainedFile {
  readonly file: string;
  readonly size: number;
  readonly sinceMs: number;
  /** What someone wrote into a displaced file after it was copied: the hash of what it held then. */
  readonly lateOf?: string;
}

/** What commits have displaced and nobody has taken over yet: a killed process left it, or strangers collided. */
export function listRetained(context: DiskContext): RetainedFile[] {
  return readdirSync(context.retained).flatMap((name) => {
    const file = join(context.retained, name);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    const late = /-late-([0-9a-f]{64})$/.exec(name)?.[1];
    const kept = { file, size: stats.size, sinceMs: stats.ctimeMs };
    return [late === undefined ? kept : { ...kept, lateOf: late }];
  });
}

export function fingerprintOfRetained({ file }: RetainedFile): Fingerprint {
  return fingerprintOf(readFileSync(file));
}

export function dropRetained({ file }: RetainedFile): void {
  unlinkSync(file);
}
