import type { Edit } from '../model/intent.ts';
import type { Refusal } from '../model/verdict.ts';
import { decodeText } from '../text/decode.ts';
import type { LookedFile } from './look.ts';
import type { World } from './world.ts';

/**
 * Adds to a NO_MATCH refusal whether the session has seen the whole file as it is now, or has seen
 * the missing text in an earlier version of the file. Another read helps only in the second case.
 */
export async function withSight(
  { baselines }: World,
  { facts, sighting }: LookedFile,
  { refusal, edits }: { readonly refusal: Refusal; readonly edits: readonly Edit[] },
): Promise<Refusal> {
  const isWhole = sighting?.coverage.kind === 'whole' && !sighting.flags.clamped && !sighting.flags.redacted;
  if (refusal.code !== 'NO_MATCH' || !isWhole || facts.freshness !== 'same') return refusal;
  const { detail } = refusal;
  const wanted = edits[detail?.index ?? 0]?.oldString;
  for (const earlier of wanted === undefined ? [] : (sighting.seenBefore ?? [])) {
    const bytes = await baselines.recall(earlier);
    if (bytes !== undefined && decodeText(bytes)?.text.includes(wanted ?? '') === true)
      return {
        ...refusal,
        detail: { ...detail, reason: 'it was there when you saw the file, and was changed since' },
      };
  }
  return { ...refusal, detail: { ...detail, seenWhole: true } };
}
