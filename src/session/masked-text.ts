import type { World } from '../gate/world.ts';
import type { LineRange } from '../model/coverage.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { lineAt } from '../text/lines.ts';
import { isSecretPath, masked, secretSpans } from '../text/secrets.ts';
import { type FileText, textOf } from './shown-text.ts';

/** A file's text as a session may see it. */
export interface VisibleText {
  readonly text: FileText;
  /** True if something in these lines is masked. */
  isMasked(range: LineRange | 'all'): boolean;
}

const EVERYTHING: LineRange = { from: 1, to: Number.MAX_SAFE_INTEGER };

/** A file whose text is to be shown. */
export interface Showable {
  readonly file: FileText;
  /** Relative to its root. */
  readonly path: string;
  readonly fingerprint: Fingerprint;
}

/** Masks secrets in a file's text, as the policy says. */
export function visibleText(
  { policy, baselines }: World,
  { file, path, fingerprint }: Showable,
): VisibleText {
  const plain = { text: file, isMasked: () => false };
  if (policy.secrets === 'show') return plain;
  const options = { secretFile: isSecretPath(path) };
  // Only UTF-8 can be scanned without decoding it.
  if (!options.secretFile && file.body !== undefined && !baselines.mayHoldSecret(fingerprint, file.body))
    return plain;
  const text = file.slice(EVERYTHING);
  const spans = secretSpans(text, options);
  if (spans.length === 0) return plain;
  const shown = textOf(Buffer.from(masked(text, options), 'utf8'));
  if (shown === undefined) return plain;
  const lines = spans.map(({ start, end }) => ({ from: lineAt(text, start), to: lineAt(text, end - 1) }));
  return {
    text: { ...shown, encoding: file.encoding },
    isMasked: (range) =>
      lines.some(({ from, to }) => range === 'all' || (from <= range.to && range.from <= to)),
  };
}
