import { type Span, viewOf } from '../text/lines.ts';
import { type KnownSecrets, MASK, secretSpans } from '../text/secrets.ts';

/**
 * Minimum length of a secret value that is masked even where it occurs without its name. A shorter
 * value may be an ordinary word, so it is masked only together with its name.
 */
const MIN_TELLING_CHARS = 12;

/** A text with a secret value, and the same text masked. */
export interface SecretText {
  readonly text: string;
  readonly shown: string;
}

/** Maximum number of secret texts, and of secret values, that are remembered. */
const MAX_REMEMBERED = 1000;
/** Matches values that also occur in files that are not secret: addresses without a password, and paths. */
const ORDINARY = /^(?:[a-z]+:\/\/[^@]*|[./~].*|.*localhost.*)$/i;

/** The secrets that this process has met, so that they are masked in every file. */
export class SecretValues implements KnownSecrets {
  readonly #texts = new Map<string, number>();
  readonly #values = new Map<string, Buffer>();

  /** Remembers the text of a secret file. */
  learn(text: string): void {
    const known = secretTexts(text);
    if (known.length === 0 || this.#texts.size >= MAX_REMEMBERED || this.#texts.has(text)) return;
    this.#texts.set(text, Buffer.byteLength(text));
    for (const { text: value, shown } of known)
      if (shown === MASK && !ORDINARY.test(value) && this.#values.size < MAX_REMEMBERED)
        this.#values.set(value, Buffer.from(value));
  }

  isSecretText(text: string): boolean {
    return this.#texts.has(text);
  }

  spansIn(text: string): readonly Span[] {
    const spans: Span[] = [];
    for (const value of this.#values.keys())
      for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + value.length))
        spans.push({ start: at, end: at + value.length });
    return spans;
  }

  mayBeIn(bytes: Uint8Array): boolean {
    const buffer = viewOf(bytes);
    const isKnown = [...this.#values.values()].some((value) => buffer.includes(value));
    return isKnown || [...this.#texts.values()].some((size) => size === bytes.byteLength);
  }
}

/**
 * The texts to mask in a command's output: each value of a secret file together with its name. A
 * long value with letters and digits is also masked alone.
 */
export function secretTexts(text: string): SecretText[] {
  return secretSpans(text, { secretFile: true }).flatMap(({ start, end }) => {
    const name = text.slice(text.lastIndexOf('\n', start - 1) + 1, start).trimStart();
    const value = text.slice(start, end);
    const line = name === '' ? [] : [{ text: name + value, shown: `${name}${MASK}` }];
    const isTelling = value.length >= MIN_TELLING_CHARS && /\d/.test(value) && /[A-Za-z]/.test(value);
    return isTelling ? [...line, { text: value, shown: MASK }] : line;
  });
}
