import type { LineRange } from '../model/coverage.ts';
import type { Policy } from '../model/policy.ts';
import { lineAt } from './lines.ts';
import type { Content } from './middle.ts';
import { isSecretPath, masked, mayHoldSecret, secretSpans } from './secrets.ts';
import { type UnifiedDiff, type UnifiedOptions, unifiedDiff } from './unified.ts';

export interface MaskedDiffOptions extends UnifiedOptions {
  readonly secrets: Policy['secrets'];
  /** Path of the file; decides whether all of its values are secret. */
  readonly path: string;
}

/**
 * Builds a unified diff with secrets masked, as the policy demands. `diff` is the diff of the unmasked texts. A line
 * with a masked value does not count as shown.
 */
export function maskedDiff<T extends Content>(before: T, after: T, options: MaskedDiffOptions): UnifiedDiff {
  const secretFile = isSecretPath(options.path);
  const plain = unifiedDiff(before, after, options);
  if (options.secrets === 'show' || plain.text === '') return plain;
  if (!secretFile && !mayHold(before) && !mayHold(after)) return plain;
  const [was, is] = [textOf(before), textOf(after)];
  const [then, now] = [masked(was, { secretFile }), masked(is, { secretFile })];
  if (then === was && now === is) return plain;
  const shown = unifiedDiff(then, now, options);
  if (shown.text === '') return { ...plain, text: ONLY_MASKED, shownAfter: [] };
  const lines = secretSpans(is, { secretFile }).map(({ start, end }) => ({
    from: lineAt(is, start),
    to: lineAt(is, end - 1),
  }));
  return { ...shown, shownAfter: without(shown.shownAfter, lines), diff: plain.diff };
}

const ONLY_MASKED = '(only masked values differ)';

function mayHold(content: Content): boolean {
  return typeof content === 'string' || mayHoldSecret(content);
}

function textOf(content: Content): string {
  return typeof content === 'string' ? content : new TextDecoder().decode(content);
}

/** The ranges minus the lines of `others`; both must be sorted. */
function without(ranges: readonly LineRange[], others: readonly LineRange[]): readonly LineRange[] {
  return others.reduce<readonly LineRange[]>(
    (left, { from, to }) =>
      left.flatMap((range) => {
        if (to < range.from || from > range.to) return [range];
        return [
          { from: range.from, to: from - 1 },
          { from: to + 1, to: range.to },
        ].filter((part) => part.from <= part.to);
      }),
    ranges,
  );
}
