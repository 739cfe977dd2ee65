import { isUtf8 } from 'node:buffer';
import type { LineRange } from '../model/coverage.ts';
import type { Edit } from '../model/intent.ts';
import type { Policy } from '../model/policy.ts';
import type { MatchTier } from '../model/results.ts';
import { type Action, invalidArgument, passOn, type Refusal } from '../model/verdict.ts';
import { type Change, type EditedLines, editedLines, insertAfterLine } from '../text/change.ts';
import { type DecodedText, decodeText, encodeText } from '../text/decode.ts';
import type { FoldTier } from '../text/fold.ts';
import type { Nearest } from '../text/nearest.ts';
import type { QuoteOptions } from '../text/quoted-lines.ts';
import { hasCurlyQuotes, straightenContent } from '../text/quotes/quotes.ts';
import { applyEdits, applyToBytes, type EditFailure } from '../text/splice.ts';

/** The bytes of a file after a text change. */
export interface PlannedText {
  readonly ok: true;
  readonly bytes: Uint8Array;
  readonly changes: readonly EditedLines[];
  readonly replaced: number;
  readonly tier: MatchTier;
  readonly inserted?: { readonly from: number; readonly to: number };
  /** Number of typographic quotes in the new text that were made straight. */
  readonly straightened: number;
}

/** The form in which new text is written into a file. */
interface Style {
  /** The file name, which determines the language. */
  readonly path: string;
  readonly quotes: Policy['quotes'];
}

export type PlanFailure =
  | EditFailure
  | { readonly ok: false; readonly kind: 'not-text' }
  | { readonly ok: false; readonly kind: 'not-encodable'; readonly encoding: string }
  | { readonly ok: false; readonly kind: 'no-such-line' };

/** Applies edits to bytes: directly if their old texts match exactly, otherwise to decoded text. */
export function planEdits(
  bytes: Uint8Array,
  edits: readonly Edit[],
  options: Style & QuoteOptions & { readonly loosest: FoldTier; readonly matching: Policy['matching'] },
): PlannedText | PlanFailure {
  // Keep curly quotes in the new text if the text to replace has some: the file then contains them
  // on purpose.
  const straighten =
    edits.some((edit) => hasCurlyQuotes(edit.newString)) &&
    !edits.some((edit) => hasCurlyQuotes(edit.oldString));
  const { matching } = options;
  const encoding = isUtf8(bytes) ? 'utf-8' : 'other';
  const edited = straighten ? undefined : applyToBytes(bytes, edits, { encoding, matching });
  if (edited !== undefined) {
    const { before, after, replaced } = edited;
    const changes = editedLines(before, after, edited.changes);
    return { ok: true, bytes: edited.bytes, changes, replaced, tier: 'exact', straightened: 0 };
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

/** The new text in the file's encoding. Curly quotes become straight as the policy `quotes` says. */
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
  const changes = editedLines(decoded.text, made.text, made.changes);
  return { ok: true, bytes: encoded, changes, straightened: straight.count, ...counts };
}

/** The lines of the old text that the changes touch. For a pure insertion: the existing neighbour lines. */
export function touchedLines(changes: readonly EditedLines[], totalLines: number): LineRange[] {
  return changes.map(({ beforeStart: above, beforeEnd: to }) =>
    to > above
      ? { from: above + 1, to }
      : { from: Math.max(1, above), to: Math.max(1, Math.min(above + 1, totalLines)) },
  );
}

export function totalAfter(totalLines: number, changes: readonly EditedLines[]): number {
  const last = changes.at(-1);
  return last === undefined ? totalLines : totalLines + last.afterEnd - last.beforeEnd;
}

/** The refusal for a text change that cannot be made. Called only after the gate has allowed access to the content. */
export function planRefusal(failure: PlanFailure, action: Action, path: string): Refusal {
  switch (failure.kind) {
    case 'not-text':
      return { code: 'NOT_TEXT', action, path, next: 'other_tool' };
    case 'not-encodable':
      return invalidArgument(
        action,
        path,
        `the text has characters that the file's encoding (${failure.encoding}) lacks`,
      );
    case 'no-such-line':
      return invalidArgument(action, path, 'after_line is past the end of the file');
    case 'empty-anchor':
      return invalidEdit(action, path, { reason: 'old_string is empty', index: failure.index });
    case 'same':
      return invalidEdit(action, path, {
        reason: 'old_string and new_string are the same',
        index: failure.index,
      });
    case 'too-large':
      return { code: 'TOO_LARGE', action, path, next: 'use_edit', detail: { index: failure.index } };
    case 'ambiguous': {
      const { count, places, index } = failure;
      return { code: 'AMBIGUOUS_MATCH', action, path, next: 'add_context', detail: { count, places, index } };
    }
    case 'no-match': {
      const { nearest, index } = failure;
      const detail = { count: 0, index, ...(nearest === undefined ? {} : quoted(nearest)) };
      return { code: 'NO_MATCH', action, path, next: 'add_context', detail };
    }
    default:
      return failure satisfies never;
  }
}

function invalidEdit(action: Action, path: string, detail: { reason: string; index: number }): Refusal {
  return passOn(invalidArgument(action, path, detail.reason), detail);
}

function quoted({ shown, difference, anchor }: Nearest) {
  return {
    nearest: shown,
    ...(difference === undefined ? {} : { difference }),
    ...(anchor === undefined ? {} : { anchor }),
  };
}
