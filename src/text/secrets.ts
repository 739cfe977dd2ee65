import type { Span } from './lines.ts';

/** Replaces a masked value. The rest of the line and the line numbers stay the same. */
const MASK = '[masked]';

/** Files that hold secrets by custom. Templates of them hold none. */
const SECRET_FILES: readonly RegExp[] = [
  /(^|\/)\.env(\.(?!example$|sample$|template$|dist$|defaults$)[^/]+)?$/i,
  /(^|\/)(?!example\.|sample\.)[^/]+\.env$/i,
  /\.(pem|key|p12|pfx|jks|keystore|ppk)$/i,
  /(^|\/)id_(rsa|dsa|ecdsa|ed25519)$/i,
  /(^|\/)\.(netrc|npmrc|pypirc|pgpass|git-credentials|htpasswd)$/i,
  /(^|\/)(credentials|secrets)(\.(json|ya?ml|toml|ini))?$/i,
];

/** True for a file whose values are secret by its name. `path` is relative to a root, or absolute. */
export function isSecretPath(path: string): boolean {
  return SECRET_FILES.some((pattern) => pattern.test(path));
}

/** Formats of tokens that are secret wherever they are. Each begins with a text that hardly anything else begins with. */
const TOKENS: readonly string[] = [
  'gh[pousr]_[A-Za-z0-9]{36,255}',
  'github_pat_[A-Za-z0-9_]{22,255}',
  'glpat-[A-Za-z0-9_-]{20,}',
  '(?:AKIA|ASIA)[0-9A-Z]{16}',
  'sk-ant-[A-Za-z0-9_-]{20,}',
  'sk-(?:proj-)?[A-Za-z0-9_-]{32,}',
  '[sr]k_live_[A-Za-z0-9]{20,}',
  'xox[abeprs]-[A-Za-z0-9-]{10,}',
  'AIza[A-Za-z0-9_-]{35}',
  'ya29\\.[A-Za-z0-9_-]{20,}',
  'npm_[A-Za-z0-9]{36}',
  'pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}',
  'SG\\.[A-Za-z0-9_-]{20,}\\.[A-Za-z0-9_-]{20,}',
  'hf_[A-Za-z0-9]{34,}',
  'eyJ[A-Za-z0-9_-]{10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}',
];
const TOKEN = new RegExp(`(?<![A-Za-z0-9_])(?:${TOKENS.join('|')})(?![A-Za-z0-9_-])`, 'g');
/** The lines of a private key between its first and its last. */
const KEY_BODY = /(-----BEGIN [A-Z ]*PRIVATE KEY-----\r?\n)([\s\S]*?)(?=-----END [A-Z ]*PRIVATE KEY-----)/g;

/** `KEY=value`, also with `export`; the quotes around a value stay. */
const ASSIGNMENT =
  /^([ \t]*(?:export[ \t]+)?[\w.:/-]+[ \t]*=[ \t]*)(?:"([^"\r\n]*)"|'([^'\r\n]*)'|([^\r\n#]*?))(?=[ \t]*(?:#.*)?\r?$)/gm;
/** `"key": "value"` and `key: value`. */
const MEMBER =
  /^([ \t]*(?:-[ \t]+)?"?[\w.-]+"?[ \t]*:[ \t]*)(?:"([^"\r\n]+)"|'([^'\r\n]+)'|([^\s{[&|>,"'#][^\r\n,#]*?))(?=[ \t]*,?[ \t]*(?:#.*)?\r?$)/gm;
/** `password value` of .netrc and its kin. */
const WORD_PAIR = /\b((?:password|passwd|account)[ \t]+)(\S+)/gi;

/** Finds the secrets in a text, in order and without overlaps. */
export function secretSpans(text: string, { secretFile }: { readonly secretFile: boolean }): readonly Span[] {
  const spans: Span[] = [];
  for (const match of text.matchAll(TOKEN))
    spans.push({ start: match.index, end: match.index + match[0].length });
  if (text.includes('PRIVATE KEY-----'))
    for (const match of text.matchAll(KEY_BODY))
      spans.push(...lineSpans(match[2] ?? '', match.index + (match[1] ?? '').length));
  if (secretFile)
    for (const pattern of [ASSIGNMENT, MEMBER, WORD_PAIR]) spans.push(...valueSpans(text, pattern));
  return merged(spans);
}

/** The values that a pattern captures behind its first group, with the quote between them left out. */
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

/** A text with its secrets masked. It has as many lines as before. */
export function masked(text: string, options: { readonly secretFile: boolean }): string {
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

/**
 * True if an anchor concerns a masked value, whether it guesses it or not: it lies over one, or one of its lines begins like
 * the visible part of a masked line. The answer must not tell a right guess from a wrong one.
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
