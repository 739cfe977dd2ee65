import { pathText } from './bounded.ts';

const MAX_KEPT = 3;

/** Where those bytes of others are that stopped a change and are not in place: one sentence, bounded. */
export function keptWords(kept: readonly string[]): string {
  const shown = kept.slice(0, MAX_KEPT).map(pathText).join(', ');
  const more = kept.length > MAX_KEPT ? ` and ${kept.length - MAX_KEPT} more places beside it` : '';
  return `Someone else wrote at the same moment; what is no longer in place is kept at ${shown}${more}.`;
}
