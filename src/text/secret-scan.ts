import { viewOf } from './lines.ts';

/**
 * Looks ahead: the text that follows must have a digit, an upper-case and a lower-case letter.
 * Real keys have this mix; class and file names that begin like a key do not.
 */
export const MIXED = '(?=[\\w-]{0,200}[0-9])(?=[\\w-]{0,200}[A-Z])(?=[\\w-]{0,200}[a-z])';

/** A secret that is recognised by the text before it. */
interface Phrase {
  /** Every match contains one of these texts. Searching for a hint is fast if its first character is rare. */
  readonly hints: readonly string[];
  readonly pattern: RegExp;
  /**
   * Given a hint found at `at`, returns the bytes in which to search for the pattern. They contain
   * every match with this hint. Undefined if no match can contain the hint at this place.
   */
  readonly around: (buffer: Buffer, at: number) => Buffer | undefined;
}

/** The credentials of documentation: `Aladdin:open sesame`, `username:password`, `user:pass…`, and words for them. */
const BASIC_EXAMPLES =
  'QWxhZGRpbjpvcGVuIHNlc2FtZQ|dXNlcm5hbWU6cGFzc3dvcmQ|dXNlcjpwYXNz|[Yy]our|YOUR|[Bb]ase64|BASE64|[Xx]{3}';

/**
 * Values that are secret because of the text before them, in any file. The published example keys
 * of AWS and of Azure's emulator are excluded.
 */
export const PHRASES: readonly Phrase[] = [
  {
    hints: ['ke', 'Ke', 'KE', 'kE'],
    pattern:
      /(secret_?access_?key["']?[ \t]*[:=][ \t]*["']?)((?![A-Za-z0-9/+]*EXAMPLEKEY)[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
    around: aroundKeyName,
  },
  {
    hints: ['Key='],
    pattern: /(AccountKey=)((?!Eby8vdM02xNOcqFl)[A-Za-z0-9+/]{86}==)/g,
    around: aroundHint,
  },
  {
    hints: ['Bearer '],
    pattern: new RegExp(`(\\bBearer )(${MIXED}[A-Za-z0-9._~+/-]{32,}=*)`, 'g'),
    around: aroundHint,
  },
  {
    hints: ['Basic '],
    pattern: new RegExp(
      `(\\b(?:[Aa]uthorization|AUTHORIZATION)["']?[ \\t]{0,9}[:=,][ \\t]{0,9}["']?Basic )((?!${BASIC_EXAMPLES})(?=[A-Za-z+/]*[0-9])[A-Za-z0-9+/]{16,}={0,2})(?![A-Za-z0-9+/=])`,
      'g',
    ),
    around: aroundHint,
  },
  {
    hints: ['@'],
    pattern:
      /(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s:@/"'`<>(){}$]*:)((?=[^\s:@/"'`]*[0-9])(?=[^\s:@/"'`]*[A-Za-z])[^\s:@/"'`<>(){}$\\]{8,})(?=@)/gi,
    around: beforeAt,
  },
];

/** Minimum length of a token's run of letters, digits, `_` and `-`. */
const MIN_RUN = 20;
const IS_WORD = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-')
  IS_WORD[char.charCodeAt(0)] = 1;
/** Matches the beginning of a token in a run: at its start, or after a `-` in it. */
const BEGINNING =
  /(?:^|-)(?:gh._|gith|glp[at]|glrt|A[KS]IA|sk-|[sr]k_l|xox|xapp|AIza|npm_|pypi|hf_|do._|SK|eyJ|dckr|GOCS|ATAT|dapi|whse|shp|sbp_|gsk_|AGE-)/;
/**
 * Matches the beginning of a token before the run: of a token that contains a dot (`SG.`, `ya29.`,
 * `hvs.`, `hvb.`), or of a Slack webhook.
 */
const BEFORE_RUN = /(?:SG|29|v[sb])\.$|\/B[A-Z0-9]+\/$/;
const DOT = 0x2e;
const SLASH = 0x2f;
const COLON = 0x3a;
const AT = 0x40;
const CAPITAL_S = 0x53;
const UNDERSCORE = 0x5f;
const SMALL_S = 0x73;
/** The bytes that may stand between the name of a key and its value. */
const BEFORE_VALUE: ReadonlySet<number | undefined> = new Set(Buffer.from('"\': =\t'));

/**
 * False if UTF-8 bytes certainly contain no secret. Several times as fast as the regular
 * expressions, because it skips most text: each token contains a run of `MIN_RUN` word characters,
 * so a byte that is none rules out every run across it.
 */
export function mayHoldSecret(bytes: Uint8Array): boolean {
  const end = bytes.byteLength;
  let start = 0;
  for (let at = MIN_RUN - 1; at < end; at = start + MIN_RUN - 1) {
    let from = at;
    while (from >= start && isWord(bytes, from)) from -= 1;
    if (from < start) {
      while (isWord(bytes, at + 1)) at += 1;
      if (mayBeToken(bytes, start, at + 1)) return true;
      from = at + 1;
    }
    start = from + 1;
  }
  return mayHoldKey(bytes) || mayHoldPhrase(bytes);
}

/** Tries the patterns only around their hints: many texts contain a hint, but few of these contain a secret. */
function mayHoldPhrase(bytes: Uint8Array): boolean {
  const buffer = viewOf(bytes);
  return PHRASES.some(({ hints, pattern, around }) =>
    hints.some((hint) => {
      for (let at = buffer.indexOf(hint); at !== -1; at = buffer.indexOf(hint, at + hint.length)) {
        // Decode as UTF-8, because in `latin1` a byte of the letter à is a space.
        const text = around(buffer, at)?.toString('utf8');
        if (text !== undefined && text.search(pattern) !== -1) return true;
      }
      return false;
    }),
  );
}

/** The first bytes of a match are at most this far before its hint. */
const BYTES_BEFORE = 400;
/** The bytes that decide about a match are at most this far after the beginning of its hint. */
const BYTES_AFTER = 600;

function aroundHint(buffer: Buffer, at: number): Buffer {
  return buffer.subarray(Math.max(0, at - BYTES_BEFORE), at + BYTES_AFTER);
}

const KEY_NAME = /secret_?access_?$/i;
/** Length of the longest text that `KEY_NAME` matches. */
const KEY_NAME_BYTES = 14;
/** Bytes of a key of AWS, and one byte after it. */
const KEY_VALUE_BYTES = 41;

/**
 * The name that ends with the word `key` at `at`, and the value after it. Undefined if `KEY_NAME`
 * does not match the text before that word.
 */
function aroundKeyName(buffer: Buffer, at: number): Buffer | undefined {
  const last = buffer[at - 1] === UNDERSCORE ? buffer[at - 2] : buffer[at - 1];
  if (last !== SMALL_S && last !== CAPITAL_S) return undefined;
  const start = Math.max(0, at - KEY_NAME_BYTES);
  if (!KEY_NAME.test(buffer.toString('latin1', start, at))) return undefined;
  let value = at + 'key'.length;
  while (BEFORE_VALUE.has(buffer[value])) value += 1;
  return buffer.subarray(start, value + KEY_VALUE_BYTES);
}

/** Maximum bytes from the beginning of an address to its `//`. */
const SCHEME_BYTES = 32;

/**
 * The address with a password that may end at this `@`. A `:` and, before it, a `/` must precede
 * the `@`, without a quote, a space or another `@` in between.
 */
function beforeAt(buffer: Buffer, end: number): Buffer | undefined {
  let hasColon = false;
  for (let at = end - 1; at > 0; at -= 1) {
    const byte = buffer[at] ?? 0;
    if (byte === SLASH)
      return hasColon ? buffer.subarray(Math.max(0, at - 1 - SCHEME_BYTES), end + 1) : undefined;
    if (byte === COLON) hasColon = true;
    else if (byte <= 0x20 || byte === AT || byte === 0x22 || byte === 0x27 || byte === 0x60) return undefined;
  }
  return undefined;
}

function isWord(bytes: Uint8Array, at: number): boolean {
  return IS_WORD[bytes[at] ?? 0] === 1;
}

/** True if a run of word characters may contain a token, or the end of one. */
function mayBeToken(bytes: Uint8Array, start: number, end: number): boolean {
  const buffer = viewOf(bytes);
  if (BEGINNING.test(buffer.toString('latin1', start, end))) return true;
  const previous = bytes[start - 1];
  if (previous !== DOT && previous !== SLASH) return false;
  return BEFORE_RUN.test(buffer.toString('latin1', Math.max(0, start - BYTES_BEFORE), start));
}

/**
 * True if the bytes may contain a private key. Searches for a short text with a rare first character, which is much
 * faster than searching for the whole phrase.
 */
function mayHoldKey(bytes: Uint8Array): boolean {
  const buffer = viewOf(bytes);
  return (buffer.includes('KEY----') || buffer.includes('KEY BLO')) && buffer.includes('PRIVATE KEY');
}

/** Matches the beginning of a line of encoded bytes (`ENCODED_LINE` in secrets.ts). */
const ENCODED = /^[ \t]*[A-Za-z0-9+/]{40}/m;

/**
 * False if UTF-8 bytes certainly contain no line of encoded bytes, as in the body of a private key.
 * In a part of a file, such a line counts as secret, because the first line of the key may be
 * missing.
 */
export function mayHoldEncodedLine(bytes: Uint8Array): boolean {
  return ENCODED.test(viewOf(bytes).toString('latin1'));
}
