import { isUtf8 } from 'node:buffer';
import type { LineChange } from '../ledger/carry-coverage.ts';
import type { Edit } from '../model/intent.ts';
import type { Policy } from '../model/policy.ts';
import type { MatchTier } from '../model/results.ts';
import { type Change, insertAfterLine } from '../text/change.ts';
import { decodeText, encodeText } from '../text/decode.ts';
import type { FoldTier } from '../text/match.ts';
import { hasCurlyQuotes, straightenContent } from '../text/quotes/quotes.ts';
import { applyEdits, type EditFailure } from '../text/splice.ts';
import { spliceBytes } from '../text/splice-bytes.ts';
import type { DecodedText } from '../text/unicode.ts';
import { lineChangesOf } from './line-changes.ts';

/** The bytes of a file after a text change. */
export interface PlannedText {
  readonly ok: true;
  readonly bytes: Uint8Array;
  readonly changes: readonly LineChange[];
  readonly replaced: number;
  readonly tier: MatchTier;
  readonly inserted?: { readonly from: number; readonly to: number };
  /** Number of typographic quotes in the new text that were used as code and were made straight. */
  readonly straightened: number;
}

/** How new text is written into a file. */
export interface Style {
  /** The file name, which determines the language. */
  readonly path: string;
  readonly quotes: Policy['quotes'];
}

export type PlanFailure =
  | EditFailure
  | { readonly ok: false; readonly kind: 'not-text' }
  | { readonly ok: false; readonly kind: 'not-encodable'; readonly encoding: string }
  | { readonly ok: false; readonly kind: 'no-such-line' };

/** Applies edits to bytes: directly if the anchors match the bytes exactly, otherwise through decoded text. */
export function planEdits(
  bytes: Uint8Array,
  edits: readonly Edit[],
  options: Style & { readonly loosest: FoldTier; readonly matching: Policy['matching'] },
): PlannedText | PlanFailure {
  // An anchor with curly quotes shows that the file uses them on purpose.
  const straighten =
    edits.some((edit) => hasCurlyQuotes(edit.newString)) &&
    !edits.some((edit) => hasCurlyQuotes(edit.oldString));
  const { matching } = options;
  const spliced = straighten
    ? undefined
    : spliceBytes(bytes, edits, isUtf8(bytes) ? { encoding: 'utf-8', matching } : { matching });
  if (spliced !== undefined) {
    const changes = lineChangesOf(bytes, spliced.bytes, spliced.changes);
    return {
      ok: true,
      bytes: spliced.bytes,
      changes,
      replaced: spliced.replaced,
      tier: 'exact',
      straightened: 0,
    };
  }
  const decoded = decodeText(bytes);
  if (decoded === undefined) return { ok: false, kind: 'not-text' };
  const applied = applyEdits(decoded.text, edits, options);
  if (!applied.ok) return applied;
  const { replaced, tier } = applied;
  const style = straighten ? options : { ...options, quotes: 'off' as const };
  return written(decoded, applied, style, { replaced, tier });
}

/** Inserts whole lines. All other bytes stay unchanged. */
export function planInsert(
  bytes: Uint8Array,
  insertion: Style & { readonly content: string; readonly afterLine: number | undefined },
): PlannedText | PlanFailure {
  const decoded = decodeText(bytes);
  if (decoded === undefined) return { ok: false, kind: 'not-text' };
  const made = insertAfterLine(decoded.text, insertion.afterLine, insertion.content);
  if (made === undefined) return { ok: false, kind: 'no-such-line' };
  const { inserted, text } = made;
  const changes = inserted === undefined ? [] : [made.change];
  const counts = { replaced: 0, tier: 'exact' as const, ...(inserted === undefined ? {} : { inserted }) };
  return written(decoded, { text, changes }, insertion, counts);
}

/** The new text in the file's encoding. Curly quotes that the model used as code become straight. */
function written(
  decoded: DecodedText,
  made: { readonly text: string; readonly changes: readonly Change[] },
  style: Style,
  counts: Pick<PlannedText, 'replaced' | 'tier' | 'inserted'>,
): PlannedText | PlanFailure {
  const within = made.changes.map((change) => change.after);
  const straight = straightenContent(style.path, made.text, { mode: style.quotes, within });
  const encoded = encodeText(straight.text, decoded);
  if (encoded === undefined) return { ok: false, kind: 'not-encodable', encoding: decoded.encoding };
  const changes = lineChangesOf(decoded.text, made.text, made.changes);
  return { ok: true, bytes: encoded, changes, straightened: straight.count, ...counts };
}
