import { isUtf8 } from 'node:buffer';
import type { LineChange } from '../ledger/carry-coverage.ts';
import type { Edit } from '../model/intent.ts';
import type { MatchTier } from '../model/results.ts';
import { decodeText, encodeText } from '../text/decode.ts';
import { insertAfterLine } from '../text/insert.ts';
import { applyEdits, type EditFailure } from '../text/splice.ts';
import { spliceBytes } from '../text/splice-bytes.ts';
import { lineChangesOf } from './line-changes.ts';

/** What a text change makes of a file's bytes. */
export interface PlannedText {
  readonly ok: true;
  readonly bytes: Uint8Array;
  readonly changes: readonly LineChange[];
  readonly replaced: number;
  readonly tier: MatchTier;
  readonly inserted?: { readonly from: number; readonly to: number };
}

export type PlanFailure =
  | EditFailure
  | { readonly ok: false; readonly kind: 'not-text' }
  | { readonly ok: false; readonly kind: 'not-encodable'; readonly encoding: string }
  | { readonly ok: false; readonly kind: 'no-such-line' };

/** Applies edits to bytes: on the bytes themselves where anchors stand there exactly, else through decoded text. */
export function planEdits(
  bytes: Uint8Array,
  edits: readonly Edit[],
  options: { readonly loosest: MatchTier },
): PlannedText | PlanFailure {
  const spliced = spliceBytes(bytes, edits, isUtf8(bytes) ? { encoding: 'utf-8' } : {});
  if (spliced !== undefined) {
    const changes = lineChangesOf(bytes, spliced.bytes, spliced.changes);
    return { ok: true, bytes: spliced.bytes, changes, replaced: spliced.replaced, tier: 'exact' };
  }
  const decoded = decodeText(bytes);
  if (decoded === undefined) return { ok: false, kind: 'not-text' };
  const applied = applyEdits(decoded.text, edits, options);
  if (!applied.ok) return applied;
  const encoded = encodeText(applied.text, decoded);
  if (encoded === undefined) return { ok: false, kind: 'not-encodable', encoding: decoded.encoding };
  const changes = lineChangesOf(decoded.text, applied.text, applied.changes);
  return { ok: true, bytes: encoded, changes, replaced: applied.replaced, tier: applied.tier };
}

/** Inserts whole lines; everything else stays the same byte for byte. */
export function planInsert(
  bytes: Uint8Array,
  content: string,
  afterLine: number | undefined,
): PlannedText | PlanFailure {
  const decoded = decodeText(bytes);
  if (decoded === undefined) return { ok: false, kind: 'not-text' };
  const made = insertAfterLine(decoded.text, afterLine, content);
  if (made === undefined) return { ok: false, kind: 'no-such-line' };
  const encoded = encodeText(made.text, decoded);
  if (encoded === undefined) return { ok: false, kind: 'not-encodable', encoding: decoded.encoding };
  const changes = made.inserted === undefined ? [] : lineChangesOf(decoded.text, made.text, [made.change]);
  return {
    ok: true,
    bytes: encoded,
    changes,
    replaced: 0,
    tier: 'exact',
    ...(made.inserted === undefined ? {} : { inserted: made.inserted }),
  };
}
