import { type Span, viewOf } from './lines.ts';
import { settingSpans } from './setting-values.ts';

/** Replaces a masked value. The rest of the line and the line numbers stay the same. */
export const MASK = '[masked]';

/** Files that usually contain secrets. Their templates do not. Joined, because one search is faster than eight. */
const SECRET_FILES = new RegExp(
  [
    /(^|\/)\.env(rc|\.(?!example$|sample$|template$|dist$|defaults$)[^/]+)?$/i,
    /(^|\/)(?!example\.|sample\.)[^/]+\.env$/i,
    /\.(pem|key|p12|pfx|jks|keystore|ppk|kubeconfig|tfvars(\.json)?|tfstate(\.backup)?)$/i,
    /(^|\/)id_(rsa|dsa|ecdsa|ed25519)(_sk)?$/i,
    /(^|\/)\.(netrc|npmrc|pypirc|pgpass|git-credentials|htpasswd|my\.cnf|s3cfg|boto|dockercfg|terraformrc|vault-token)$/i,
    /(^|\/)\.?(credentials|secrets)(\.(json|ya?ml|toml|ini|tfrc\.json))?$/i,
    /(^|\/)(auth|local\.settings|(service[-_]account|client[-_]secret)[^/]*)\.json$/i,
    /(^|\/)(kubeconfig|\.kube\/config|\.docker\/config\.json|gh\/hosts\.ya?ml|\.m2\/settings(-security)?\.xml)$/i,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);

/** True if the file's name means that its values are secret. `path` is absolute or relative to a root. */
export function isSecretPath(path: string): boolean {
  return SECRET_FILES.test(path);
}

/** Real keys mix cases and digits. Class and file names with the same beginning do not. */
const MIXED = '(?=[\\w-]{0,200}[0-9])(?=[\\w-]{0,200}[A-Z])(?=[\\w-]{0,200}[a-z])';

/**
 * Formats of tokens that are secret in any file. Each has a distinctive beginning and at least `MIN_RUN` consecutive
 * word characters; `mayHoldSecret` relies on both. The examples in the documentation of AWS and jwt.io are excluded.
 */
const TOKENS: readonly string[] = [
  'gh[pousr]_[A-Za-z0-9]{36,255}',
  'github_pat_[A-Za-z0-9_]{22,255}',
  'glpat-[A-Za-z0-9_-]{20,}',
  '(?:AKIA|ASIA)(?![0-9A-Z]{9}EXAMPLE)[0-9A-Z]{16}',
  'sk-ant-[A-Za-z0-9_-]{20,}',
  `sk-${MIXED}(?:proj-)?[A-Za-z0-9_-]{32,}`,
  '[sr]k_live_[A-Za-z0-9]{20,}',
  'xox[abeprs]-[A-Za-z0-9-]{15,300}',
  'AIza[A-Za-z0-9_-]{35}',
  'ya29\\.[A-Za-z0-9_-]{20,}',
  'npm_[A-Za-z0-9]{36}',
  'pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}',
  'SG\\.[A-Za-z0-9_-]{20,}\\.[A-Za-z0-9_-]{20,}',
  'hf_[A-Za-z0-9]{34,}',
  'do[por]_v1_[a-f0-9]{64}',
  'SK[0-9a-f]{32}',
  'eyJ[A-Za-z0-9_-]{17,600}\\.(?!eyJzdWIiOiIxMjM0NTY3ODkw)eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}',
];
const TOKEN = new RegExp(`(?<![A-Za-z0-9_])(?:${TOKENS.join('|')})(?![A-Za-z0-9_-])`, 'g');
/** The lines of a private key between its first and last line, or up to the end of a text that was cut. */
const KEY_BODY =
  /(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\r?\n)([\s\S]*?)(?=-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/g;

/** The beginning of a private key on one line, as in the JSON file of a service account. The line may be cut. */
const KEY_LINE = /(-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\\r)?\\n)([A-Za-z0-9+/=\\]{32,})/g;

/** A Slack webhook. Its last part is a run of at least `MIN_RUN` characters, so that it needs no search of its own. */
const WEBHOOK = /(hooks\.slack\.com\/services\/)(T[A-Z0-9]+\/B[A-Z0-9]+\/[A-Za-z0-9]{20,})/g;
/** Matches the end of a webhook's text before its last run of characters. */
const BEFORE_RUN = /\/B[A-Z0-9]+\/$/;

const ADDRESS = '@';

/**
 * Values that are secret because of the text before them, in any file. Every match, or the `@` after it, contains one
 * of the `hints`. Searching for a hint is fast if it has at most 7 characters. The published keys in the documentation
 * of AWS and of Azure's emulator are excluded.
 */
const PHRASES: readonly { readonly hints: readonly string[]; readonly pattern: RegExp }[] = [
  {
    hints: ['_access', '_ACCESS', 'Access'],
    pattern:
      /(secret_?access_?key["']?[ \t]*[:=][ \t]*["']?)((?![A-Za-z0-9/+]*EXAMPLEKEY)[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
  },
  {
    hints: ['Key='],
    pattern: /(AccountKey=)((?!Eby8vdM02xNOcqFl)[A-Za-z0-9+/]{86}==)/g,
  },
  {
    hints: ['Bearer '],
    pattern: new RegExp(`(\\bBearer )(${MIXED}[A-Za-z0-9._~+/-]{32,}=*)`, 'g'),
  },
  {
    hints: [ADDRESS],
    pattern:
      /(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s:@/"'`<>(){}$]*:)((?=[^\s:@/"'`]*[0-9])(?=[^\s:@/"'`]*[A-Za-z])[^\s:@/"'`<>(){}$\\]{8,})(?=@)/gi,
  },
];

/** A line of encoded bytes, as in the body of a private key. */
const ENCODED_LINE = /^([ \t]*)((?=\S*[0-9])(?=\S*[A-Z])(?=\S*[a-z])[A-Za-z0-9+/]{40,}={0,2})[ \t]*\r?$/gm;

/** Shorter texts are searched directly, because encoding them for the prefilter costs more than it saves. */
const PREFILTER_CHARS = 4096;

/** Facts about the source of a text, which decide what counts as a secret. */
export interface SecretOptions {
  readonly secretFile: boolean;
  /** True if the text is a part of a file: the first line of a private key may be missing. */
  readonly isPart?: boolean;
}

/** Finds the secrets in a text, in order and without overlaps. */
export function secretSpans(text: string, { secretFile, isPart }: SecretOptions): readonly Span[] {
  const spans: Span[] = isPart === true ? valueSpans(text, ENCODED_LINE) : [];
  if (
    !secretFile &&
    isPart !== true &&
    text.length > PREFILTER_CHARS &&
    !mayHoldSecret(new TextEncoder().encode(text))
  )
    return spans;
  for (const match of text.matchAll(TOKEN))
    spans.push({ start: match.index, end: match.index + match[0].length });
  if (text.includes('PRIVATE KEY')) {
    for (const match of text.matchAll(KEY_BODY))
      spans.push(...lineSpans(match[2] ?? '', match.index + (match[1] ?? '').length));
    spans.push(...valueSpans(text, KEY_LINE));
  }
  if (text.includes('/B')) spans.push(...valueSpans(text, WEBHOOK));
  for (const { hints, pattern } of PHRASES)
    if (hints.some((hint) => text.includes(hint))) spans.push(...valueSpans(text, pattern));
  if (secretFile) spans.push(...settingSpans(text));
  return merged(spans);
}

/** Minimum length of a token's run of letters, digits, `_` and `-`. */
const MIN_RUN = 20;
const IS_WORD = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-')
  IS_WORD[char.charCodeAt(0)] = 1;
/** The first characters of tokens that begin with their run; `?` matches any character. */
const BEGINNINGS = 'gh?_ gith glpa AKIA ASIA sk-? sk_l rk_l xox? AIza npm_ pypi hf_? do?_ SK?? eyJ?'
  .split(' ')
  .map((four) => ({
    mask: codeOf([...four].map((char) => (char === '?' ? 0 : 0xff))),
    code: codeOf([...four].map((char) => (char === '?' ? 0 : char.charCodeAt(0)))),
  }));
/** The text before the run, in tokens that contain a dot: `SG.` and `ya29.`. */
const BEFORE_DOT = new Set(
  ['SG.', '29.'].map((text) => codeOf([0, ...[...text].map((char) => char.charCodeAt(0))])),
);
const NEWLINE = 0x0a;
const DASH = 0x2d;
const DOT = 0x2e;
const SLASH = 0x2f;

/** 1 at the index made of two bytes with which a token may begin, otherwise 0. */
const MAY_BEGIN = new Uint8Array(1 << 16);
for (const { code } of BEGINNINGS) MAY_BEGIN[code >>> 16] = 1;

function codeOf(bytes: readonly number[]): number {
  return bytes.reduce((code, byte) => (code << 8) | byte, 0);
}

/** The bits that `separators` sets, as a 32-bit number. */
const SEPARATED = 0x80808080 | 0;

/**
 * Returns false if UTF-8 bytes contain no secret. Takes a fortieth of the time of the regular expressions, because it
 * skips most text: a run of `MIN_RUN` bytes contains four aligned words of four bytes without a separator, and few groups
 * of four words have none. Each group is tested as a whole, because a branch per word would be mispredicted too often.
 */
export function mayHoldSecret(bytes: Uint8Array): boolean {
  const skipped = -bytes.byteOffset & 3;
  const length = (bytes.byteLength - skipped) >> 2;
  if (length < 4) return mayHoldKey(bytes) || mayHoldPhrase(bytes);
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + skipped, length);
  let third = -1;
  let second = -1;
  let first = -1;
  let searched = 0;
  for (let group = 0; group < length; group += 4) {
    // The last four words are a group, too, even if they overlap with the group before them.
    const at = Math.min(group, length - 4);
    const a = separators(words[at]);
    const b = separators(words[at + 1]);
    const c = separators(words[at + 2]);
    const d = separators(words[at + 3]);
    if (
      ((third | second | first | a) & SEPARATED) === 0 ||
      ((second | first | a | b) & SEPARATED) === 0 ||
      ((first | a | b | c) & SEPARATED) === 0 ||
      ((a | b | c | d) & SEPARATED) === 0
    ) {
      const from = skipped + 4 * at;
      if (from >= searched) searched = runEnd(bytes, from + 3, from);
      if (searched < 0) return true;
    }
    third = b;
    second = c;
    first = d;
  }
  return mayHoldKey(bytes) || mayHoldPhrase(bytes);
}

/** Bytes around a hint in which its value is looked for. */
const BYTES_BEFORE = 400;
const BYTES_AFTER = 600;

/** Tries the patterns only around their hints: many texts contain a hint, but few of these contain a secret. */
function mayHoldPhrase(bytes: Uint8Array): boolean {
  const buffer = viewOf(bytes);
  return PHRASES.some(({ hints, pattern }) =>
    hints.some((hint) => {
      for (let at = buffer.indexOf(hint); at !== -1; at = buffer.indexOf(hint, at + hint.length)) {
        if (hint === ADDRESS && !mayHavePassword(buffer, at)) continue;
        const around = buffer.subarray(Math.max(0, at - BYTES_BEFORE), at + BYTES_AFTER);
        if (around.toString('latin1').search(pattern) !== -1) return true;
      }
      return false;
    }),
  );
}

/** True if an address with a password may end at this `@`: before it are `:` and, without a quote or space, `/`. */
function mayHavePassword(buffer: Buffer, end: number): boolean {
  let hasColon = false;
  for (let at = end - 1; at > end - BYTES_BEFORE; at -= 1) {
    const byte = buffer[at] ?? 0;
    if (byte === SLASH) return hasColon;
    if (byte === 0x3a) hasColon = true;
    else if (byte <= 0x20 || byte === 0x22 || byte === 0x27 || byte === 0x60) return false;
  }
  return false;
}

/**
 * Sets the highest bit of a byte if one of the four is below `-` (spaces, quotes, brackets, commas) or not ASCII. No
 * token's run contains such a byte.
 */
function separators(word = 0): number {
  return (word - 0x2d2d2d2d) | word;
}

/**
 * The position from which the search continues: the last byte from `from` to `to` that no token contains, or else the
 * end of the run of token characters around them. Returns -1 if that run may be a token.
 */
function runEnd(bytes: Uint8Array, to: number, from: number): number {
  for (let at = to; at >= from; at -= 1) if (!isWord(bytes, at)) return at;
  let start = from;
  while (isWord(bytes, start - 1)) start -= 1;
  let end = to + 1;
  while (isWord(bytes, end)) end += 1;
  return end - start >= MIN_RUN && mayBeToken(bytes, start, end) ? -1 : end;
}

function isWord(bytes: Uint8Array, at: number): boolean {
  return IS_WORD[bytes[at] ?? 0] === 1;
}

/**
 * True if a run may contain a token. A token begins at the start of the run, after a `-` in it, or shortly before the
 * run, with a dot or, in a webhook, a slash in between.
 */
function mayBeToken(bytes: Uint8Array, start: number, end: number): boolean {
  if (bytes[start - 1] === DOT && BEFORE_DOT.has(codeAt(bytes, start - 4) & 0xffffff)) return true;
  if (bytes[start - 1] === SLASH && isWebhook(bytes, start)) return true;
  if (beginsToken(bytes, start)) return true;
  for (let at = start; at < end; at += 1) if (bytes[at] === DASH && beginsToken(bytes, at + 1)) return true;
  return false;
}

function isWebhook(bytes: Uint8Array, start: number): boolean {
  return BEFORE_RUN.test(viewOf(bytes).toString('latin1', Math.max(0, start - BYTES_BEFORE), start));
}

function beginsToken(bytes: Uint8Array, at: number): boolean {
  if (MAY_BEGIN[((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)] !== 1) return false;
  const code = codeAt(bytes, at);
  return BEGINNINGS.some((one) => (code & one.mask) === one.code);
}

function codeAt(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] ?? 0) << 24) |
    ((bytes[at + 1] ?? 0) << 16) |
    ((bytes[at + 2] ?? 0) << 8) |
    (bytes[at + 3] ?? 0)
  );
}

/** Maximum number of places that are checked one by one. A text with more of them is searched as a whole. */
const MAX_PLACES = 20;

/**
 * True if this text occurs in the bytes, and only in lines without a token, and the file contains no private key. False
 * means: search the whole file. It spares that search for an edit of a large file; a token never spans two lines.
 */
export function isPlainAround(bytes: Uint8Array, text: string): boolean {
  const buffer = viewOf(bytes);
  const wanted = Buffer.from(text, 'utf8');
  let at = wanted.byteLength === 0 ? -1 : buffer.indexOf(wanted);
  if (at === -1 || mayHoldKey(bytes)) return false;
  for (let places = 0; at !== -1; places += 1) {
    const start = at === 0 ? 0 : buffer.lastIndexOf(NEWLINE, at - 1) + 1;
    const newline = buffer.indexOf(NEWLINE, at + wanted.byteLength);
    const lines = buffer.subarray(start, newline === -1 ? undefined : newline);
    if (places === MAX_PLACES || mayHoldSecret(lines)) return false;
    at = buffer.indexOf(wanted, at + wanted.byteLength);
  }
  return true;
}

/**
 * True if the bytes may contain a private key. Searches for a short text with a rare first character, which is much
 * faster than searching for the whole phrase.
 */
function mayHoldKey(bytes: Uint8Array): boolean {
  const buffer = viewOf(bytes);
  return (buffer.includes('KEY----') || buffer.includes('KEY BLO')) && buffer.includes('PRIVATE KEY');
}

/** The spans of the values in a text, without their quotes. Group 1 of `pattern` is the text before the value. */
function valueSpans(text: string, pattern: RegExp): Span[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const value = match.slice(2).find((group) => group !== undefined) ?? '';
    if (value.trim() === '') return [];
    const start = text.indexOf(value, match.index + (match[1] ?? '').length);
    return [{ start, end: start + value.length }];
  });
}

function lineSpans(text: string, offset: number): Span[] {
  return [...text.matchAll(/[^\r\n]+/g)].map(({ 0: line, index }) => ({
    start: offset + index,
    end: offset + index + line.length,
  }));
}

function merged(spans: readonly Span[]): readonly Span[] {
  const result: { start: number; end: number }[] = [];
  for (const { start, end } of [...spans].sort((one, other) => one.start - other.start)) {
    const last = result.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

/** The text with its secrets masked. The number of lines does not change. */
export function masked(text: string, options: SecretOptions): string {
  const spans = secretSpans(text, options);
  if (spans.length === 0) return text;
  let result = '';
  let at = 0;
  for (const { start, end } of spans) {
    result += text.slice(at, start) + MASK;
    at = end;
  }
  return result + text.slice(at);
}

/** Masks the tokens in a text that belongs to no file, such as a command line. */
export function withoutSecrets(text: string): string {
  return masked(text, { secretFile: false });
}

/**
 * True if an anchor concerns a masked value: it overlaps one, or one of its lines begins like the visible part of a
 * masked line. It makes no difference whether the anchor guesses the value, so that the answer does not confirm a
 * guess.
 */
export function touchesSecret(text: string, spans: readonly Span[], anchor: string): boolean {
  for (let at = text.indexOf(anchor); anchor !== '' && at !== -1; at = text.indexOf(anchor, at + 1))
    if (spans.some(({ start, end }) => start < at + anchor.length && at < end)) return true;
  const visible = spans
    .map(({ start }) => text.slice(text.lastIndexOf('\n', start - 1) + 1, start).trim())
    .filter((prefix) => prefix !== '');
  const lines = anchor.split('\n').map((line) => line.trim());
  return visible.some((prefix) =>
    lines.some((line) => line.startsWith(prefix) && line.length > prefix.length),
  );
}
