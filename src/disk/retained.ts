import { readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { DiskContext } from './context.ts';
import { fingerprintOf } from './hash.ts';

export interface RetainedFile {
  readonly file: string;
  readonly size: number;
  readonly sinceMs: number;
}

/** What commits have displaced and nobody has taken over yet: a killed process left it, or strangers collided. */
export function listRetained(context: DiskContext): RetainedFile[] {
  return readdirSync(context.retained).flatMap((name) => {
    const file = join(context.retained, name);
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats === undefined ? [] : [{ file, size: stats.size, sinceMs: stats.ctimeMs }];
  });
}

export function fingerprintOfRetained({ file }: RetainedFile): Fingerprint {
  return fingerprintOf(readFileSync(file));
}

export function dropRetained({ file }: RetainedFile): void {
  unlinkSync(file);
}
