import { pathText } from './bounded.ts';

const MAX_KEPT = 3;

/**
 * One bounded sentence that says where copies of other writers' bytes are kept. Those bytes stopped a
 * change and are not in place.
 */
export function keptWords(kept: readonly string[]): string {
  const shown = kept.slice(0, MAX_KEPT).map(pathText).join(', ');
  const more = kept.length > MAX_KEPT ? ` and ${kept.length - MAX_KEPT} more places beside it` : '';
  return `Another program wrote at the same moment; the bytes that are no longer in place are kept at ${shown}${more}.`;
}
