import type { Span } from './lines.ts';
import { MIXED, mayHoldSecret, PHRASES } from './secret-scan.ts';

/** Replaces a masked value. The rest of the line and the line numbers stay the same. */
export const MASK = '[masked]';

/**
 * Matches the names of files that usually contain secrets, but not of their templates. One joined expression is
 * faster than eight.
 */
const SECRET_FILES = new RegExp(
  [
    /(^|\/)\.env(rc|\.(?!([^/]+\.)?(example|sample|template|dist|defaults)$)[^/]+)?$/i,
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

/** Extensions of the files in `SECRET_FILES` whose names do not begin with a dot. */
const SECRET_ENDINGS: ReadonlySet<string> = new Set(
  'env pem key p12 pfx jks keystore ppk kubeconfig tfvars json tfstate backup yml yaml toml ini xml'.split(
    ' ',
  ),
);

/** True if the file's name means that its values are secret. `path` is absolute or relative to a root. */
export function isSecretPath(path: string): boolean {
  const name = path.lastIndexOf('/') + 1;
  const dot = path.lastIndexOf('.');
  // Return early for most files, because compiling the expression takes longer than the rest of a first read.
  if (dot > name && path[name] !== '.' && !SECRET_ENDINGS.has(path.slice(dot + 1).toLowerCase()))
    return false;
  return SECRET_FILES.test(path);
}

/**
 * Formats of tokens that are secret in any file. Each has a distinctive beginning and at least `MIN_RUN` consecutive
 * word characters; `mayHoldSecret` relies on both. The examples in the documentation of AWS and jwt.io are excluded.
 */
export const TOKENS: readonly string[] = [
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
  'xapp-[0-9]-[A-Z0-9]{8,20}-[0-9]{8,20}-[a-f0-9]{32,}',
  `hv[bs]\\.${MIXED}[A-Za-z0-9_-]{24,}`,
  'dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}',
  'GOCSPX-[A-Za-z0-9_-]{28}',
  'ATATT3x[A-Za-z0-9_-]{60,}=[0-9A-F]{8}',
  'dapi[a-f0-9]{32}(?:-[0-9])?',
  'glrt-[A-Za-z0-9_-]{20,}',
  'whsec_[A-Za-z0-9]{32,}',
  'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}',
  'sbp_[a-f0-9]{40}',
  'gsk_[A-Za-z0-9]{48,}',
  'AGE-SECRET-KEY-1[0-9A-Z]{58}',
  'eyJ[A-Za-z0-9_-]{17,600}\\.(?!eyJzdWIiOiIxMjM0NTY3ODkw)eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}',
];
const TOKEN = new RegExp(`(?<![A-Za-z0-9_])(?:${TOKENS.join('|')})(?![A-Za-z0-9_-])`, 'g');
/** The lines of a private key between its first and last line, or up to the end of a text that was cut. */
const KEY_BODY =
  /(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\r?\n)([\s\S]*?)(?=-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/g;

/** The beginning of a private key on one line, as in the JSON file of a service account. The line may be cut. */
const KEY_LINE = /(-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\\r)?\\n)([A-Za-z0-9+/=\\]{32,})/g;

/**
 * Matches a Slack webhook. Its last part has at least `MIN_RUN` consecutive word characters, so
 * `mayHoldSecret` does not miss it.
 */
const WEBHOOK = /(hooks\.slack\.com\/services\/)(T[A-Z0-9]+\/B[A-Z0-9]+\/[A-Za-z0-9]{20,})/g;
/** A line of encoded bytes, as in the body of a private key. */
const ENCODED_LINE = /^([ \t]*)((?=\S*[0-9])(?=\S*[A-Z])(?=\S*[a-z])[A-Za-z0-9+/]{40,}={0,2})[ \t]*\r?$/gm;

/** Shorter texts are searched directly, because encoding them for the prefilter costs more than it saves. */
const PREFILTER_CHARS = 4096;

/** Facts about the source of a text, which decide what counts as a secret. */
interface SecretOptions {
  readonly secretFile: boolean;
  /** True if the text is a part of a file: the first line of a private key may be missing. */
  readonly isPart?: boolean;
  readonly known?: KnownSecrets | undefined;
}

/** Texts and values that are known to be secret in every file. */
export interface KnownSecrets {
  /** True if this is the whole text of a secret file, which may have another name now. */
  isSecretText(text: string): boolean;
  /** The places of known values. */
  spansIn(text: string): readonly Span[];
  /** False if these bytes are no secret text and hold no known value. */
  mayBeIn(bytes: Uint8Array): boolean;
}

/** Finds the secrets in a text, in order and without overlaps. */
export function secretSpans(text: string, options: SecretOptions): readonly Span[] {
  const { isPart, known } = options;
  const secretFile = options.secretFile || known?.isSecretText(text) === true;
  // Lists of lists, because a spread argument (`push(...spans)`) overflows the stack for large files.
  const found: Span[][] = isPart === true ? [valueSpans(text, ENCODED_LINE)] : [];
  if (known !== undefined) found.push([...known.spansIn(text)]);
  // The prefilter does not recognise an encoded line or a known value, so `found` is returned as it is.
  if (!secretFile && text.length > PREFILTER_CHARS && !mayHoldSecret(new TextEncoder().encode(text)))
    return merged(found.flat());
  found.push(
    [...text.matchAll(TOKEN)].map(({ 0: token, index }) => ({ start: index, end: index + token.length })),
  );
  if (text.includes('PRIVATE KEY')) {
    for (const match of text.matchAll(KEY_BODY))
      found.push(lineSpans(match[2] ?? '', match.index + (match[1] ?? '').length));
    found.push(valueSpans(text, KEY_LINE));
  }
  if (text.includes('/B')) found.push(valueSpans(text, WEBHOOK));
  for (const { hints, pattern } of PHRASES)
    if (hints.some((hint) => text.includes(hint))) found.push(valueSpans(text, pattern));
  if (secretFile) found.push(settingSpans(text));
  return merged(found.flat());
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
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    const last = result.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

/** A text with its secrets masked. It has as many lines as the original text. */
export interface MaskedText {
  readonly text: string;
  /** Converts an offset in the original text. An offset inside a secret becomes the start of its mask. */
  readonly offsetOf: (offset: number) => number;
}

/** A text in which nothing is masked. */
export function unmasked(text: string): MaskedText {
  return { text, offsetOf: (offset) => offset };
}

/** Masks the secrets in a text. */
export function maskText(text: string, options: SecretOptions): MaskedText {
  const spans = secretSpans(text, options);
  if (spans.length === 0) return unmasked(text);
  let result = '';
  let at = 0;
  for (const { start, end } of spans) {
    result += text.slice(at, start) + MASK;
    at = end;
  }
  return { text: result + text.slice(at), offsetOf: (offset) => maskedOffset(spans, offset) };
}

function maskedOffset(spans: readonly Span[], offset: number): number {
  let shift = 0;
  for (const { start, end } of spans) {
    if (offset < end) return Math.min(offset, start) + shift;
    shift += MASK.length - (end - start);
  }
  return offset + shift;
}

/** The text with its secrets masked. The number of lines does not change. */
export function masked(text: string, options: SecretOptions): string {
  return maskText(text, options).text;
}

/** Masks the tokens in a text that belongs to no file, such as a command line. */
export function withoutSecrets(text: string): string {
  return masked(text, { secretFile: false });
}

/**
 * True if an anchor (a text to replace) overlaps a masked value. Also true if one of its lines
 * continues the visible part of a masked line, so that a wrong guess of the value gets the same
 * refusal as a right one.
 */
export function touchesSecret(text: string, spans: readonly Span[], anchor: string): boolean {
  let next = 0;
  for (let at = text.indexOf(anchor); anchor !== '' && at !== -1; at = text.indexOf(anchor, at + 1)) {
    // Skip the values before this place. They are before all later places, too.
    while ((spans[next]?.end ?? Number.POSITIVE_INFINITY) <= at) next += 1;
    if ((spans[next]?.start ?? Number.POSITIVE_INFINITY) < at + anchor.length) return true;
  }
  const visible = spans
    .map(({ start }) => text.slice(text.lastIndexOf('\n', start - 1) + 1, start).trim())
    .filter((prefix) => prefix !== '');
  const lines = anchor.split('\n').map((line) => line.trim());
  return visible.some((prefix) =>
    lines.some((line) => line.startsWith(prefix) && line.length > prefix.length),
  );
}

/**
 * Matches a line without a value: a bracket, a heading, the first or last line of a PEM key, a
 * comment, or a blank line.
 */
const HARMLESS =
  /^\s*(?:[{}[\](),:][\s{}[\](),:]*|---|\.\.\.|-----(?:BEGIN|END) [A-Z0-9 ]+-----|\[[\w .:/@-]+\]|(?:[#;]|\/\/[ \t]).*)?$/;
/** Matches the beginning of a setting that was commented out: its name and its mark, `=` or `:`. */
const COMMENTED = /^\s*[#;]+[ \t]*(?:-[ \t]+)?(?:export[ \t]+)?([\w.-]+)[ \t]*([=:])[ \t]*(?=\S)/;
/** Matches names of secrets. In comments, only such a name may be followed by a colon: prose has colons, too. */
const SECRET_NAME = /passw|secret|token|key/i;
/** Matches a line of a .netrc file. NETRC_VALUE matches the secret parts of the line. */
const NETRC = /^\s*(?:machine|default|login|password|account)(?:\s+[^\s:=]|\s*$)/;
const NETRC_VALUE = /\b((?:password|account)[ \t]+)("[^"]*"|\S+)/g;
/** Match the texts and attributes of an XML line. */
const XML_VALUES: readonly RegExp[] = [
  /(>)([^<]+)/g,
  /(=\s*")([^"]+)/g,
  /(=\s*')([^']+)/g,
  /(<!\[CDATA\[)(.+?)(?=\]\]>|$)/g,
];

const PREFIX = /\s*(?:-\s+)*(?:(?:export|set|setx|declare|readonly|typeset|env)\s+(?:-\w+\s+)*)?/iy;
const BETWEEN = /(?:[\s,{}[\]]|[|>][+-]?\d?\s*$)*/y;
/** Matches a name and the `=` or `:` after it. A name in .npmrc may begin with an address. */
const NAME = /(?:"(?:[^"\\]|\\.)*"|'[^']*'|(?:\/\/[^\s="']*:)?:?[\w.$*@-]+)[ \t]*(?:[:?+]?=|:)[ \t]*/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"(?=\s*(?:[,}\]#]|\/\/|$))|'([^']*)'(?=\s*(?:[,}\]#]|\/\/|$))/y;
/** Matches an opening bracket, or the `|` or `>` of a YAML value that begins in the next line. */
const OPENING = /[{[]|[|>][+-]?\d?\s*$/y;
/**
 * Matches values that are not secret if they occur in a list: short numbers, true, false and null.
 */
const LITERAL = /^(?:-?\d{1,3}|true|false|null)$/;
/**
 * Matches a name and the `=` after it. The name is only in upper case or only in lower case. The
 * last line of encoded bytes may also end with `=`, but mixes both cases.
 */
const ONE_CASE = /^\s*(?:[A-Z0-9_.-]+|[a-z0-9_.-]+)[ \t]*=/;

/**
 * The spans of all values, without quotes, in a file of settings: KEY=value, JSON, YAML, TOML, XML,
 * .netrc, and lists. Names, brackets and comments stay visible, but not the values of settings in
 * comments. A line in any other form counts as one value.
 */
function settingSpans(text: string): Span[] {
  const spans: Span[] = [];
  for (const { 0: line, index } of text.matchAll(/[^\r\n]+/g))
    for (const { start, end } of settingsIn(line))
      if (start < end) spans.push({ start: index + start, end: index + end });
  return spans;
}

function settingsIn(line: string): Span[] {
  const [beginning, name = '', mark] = COMMENTED.exec(line) ?? [];
  if (beginning !== undefined && (mark === '=' || SECRET_NAME.test(name)))
    return [{ start: beginning.length, end: line.trimEnd().length }];
  if (HARMLESS.test(line)) return [];
  if (NETRC.test(line)) return groupSpans(line, NETRC_VALUE);
  if (/^\s*</.test(line)) return XML_VALUES.flatMap((pattern) => groupSpans(line, pattern));
  return flowSpans(line);
}

function groupSpans(line: string, pattern: RegExp): Span[] {
  return [...line.matchAll(pattern)].flatMap(({ 1: before = '', 2: value = '', index }) => {
    const start = index + before.length;
    return value.trim() === '' ? [] : [{ start, end: start + value.length }];
  });
}

/** The values of a line with names, quotes and brackets. */
function flowSpans(line: string): Span[] {
  const spans: Span[] = [];
  let valueEnd = VALUE_END;
  let at = lengthAt(PREFIX, line, 0);
  while (at < line.length) {
    const between = line.slice(at, at + lengthAt(BETWEEN, line, at));
    if (/[{[]/.test(between)) valueEnd = LIST_VALUE_END;
    at += between.length;
    if (between !== '' && line[at] === '#') break;
    const start = at + lengthAt(NAME, line, at);
    if (start > at && lengthAt(OPENING, line, start) > 0) {
      at = start;
      continue;
    }
    const value = valueAt(line, start, valueEnd);
    const text = line.slice(value.start, value.end);
    const isLiteral = start === at && valueEnd === LIST_VALUE_END && LITERAL.test(text);
    const from = isEncoded(line.slice(at, start), text) ? at : value.start;
    if (!isLiteral) spans.push({ start: from, end: value.end });
    at = Math.max(value.next, at + 1);
  }
  return spans;
}

/** True if a line that looks like `name=` is really the last line of encoded bytes, which may end with `=`. */
function isEncoded(name: string, value: string): boolean {
  return /^=*$/.test(value) && /^[^"']*=\s*$/.test(name) && !ONE_CASE.test(name);
}

/** Matches the start of a comment, which ends a value without quotes. */
const VALUE_END = /[ \t]#/;
const LIST_VALUE_END = /[,}\]]|[ \t]#/;

/** The value that begins at `start`. `next` is the position after the value and its quotes. */
function valueAt(line: string, start: number, valueEnd: RegExp): Span & { readonly next: number } {
  QUOTED.lastIndex = start;
  const quoted = QUOTED.exec(line);
  if (quoted !== null)
    return { start: start + 1, end: start + quoted[0].length - 1, next: start + quoted[0].length };
  const rest = line.slice(start);
  const cut = rest.search(valueEnd);
  const value = (cut === -1 ? rest : rest.slice(0, cut)).trimEnd().replace(/,$/, '').trimEnd();
  return { start, end: start + value.length, next: cut === -1 ? line.length : start + cut };
}

function lengthAt(pattern: RegExp, line: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0].length ?? 0;
}
