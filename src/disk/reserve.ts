import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/**
 * The descriptors that undoing one step needs: the file, its folder, a file of ours, and the
 * folders on the path.
 */
const RESERVED = 8;

/**
 * Opens spare descriptors and returns a function that closes them. A change of several files holds
 * them from before its first step. If descriptors run out, closing the spares makes room to undo
 * the steps done. Throws if too few are available.
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
