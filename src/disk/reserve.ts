import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** As many as taking one step back needs: the file, its folder, a file of ours, and the folders on the way. */
const RESERVED = 8;

/**
 * Opens descriptors that nobody uses, and returns what closes them. A change of several files holds them from before its first
 * step: if descriptors run out on the way, closing them lets what was done be taken back. Throws if there are too few.
 */
export function reserveDescriptors(): () => void {
  const held: number[] = [];
  const release = (): void => {
    for (const fd of held.splice(0)) closeSync(fd);
  };
  try {
    while (held.length < RESERVED) held.push(openSync(devNull, 'r'));
    return release;
  } catch (error) {
    release();
    throw error;
  }
}
