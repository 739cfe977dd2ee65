/** One in this many keys is in the sample. */
export const SAMPLE = 64;

/**
 * Is this key in a fixed sample? The same keys always are, in every process, so work that many short processes share is
 * done by some of them without any of them keeping count.
 */
export function isSampled(key: string): boolean {
  let sum = 0;
  for (let i = 0; i < key.length; i++) sum = (Math.imul(sum, 31) + key.charCodeAt(i)) | 0;
  // The low bits of such a sum follow the last characters alone; fold the high ones in.
  return ((sum ^ (sum >>> 16)) & (SAMPLE - 1)) === 0;
}
