import { isUtf8 } from 'node:buffer';
import type { Intent } from '../model/intent.ts';
import { LIMITS } from '../model/limits.ts';
import type { Policy } from '../model/policy.ts';
import type { ReadResult } from '../model/results.ts';
import { type How, showsAll } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import { clip } from '../report/bounded.ts';
import { decodeText, decodeUtf16, encodeText, type Utf16Encoding } from '../text/decode.ts';
import {
  isSecretPath,
  type KnownSecrets,
  MASK,
  type MaskedText,
  maskText,
  secretSpans,
  touchesSecret,
  unmasked,
} from '../text/secrets.ts';
import type { MaskedDiffOptions } from '../text/unified.ts';
import type { LookedFile } from './look.ts';
import type { World } from './world.ts';

/** A quoted line of the new text is cut to this length. */
const MAX_QUOTED = 120;

/** The parts of a world that decide what is masked. */
interface Masking {
  readonly policy: Pick<Policy, 'secrets'>;
  readonly secretValues: KnownSecrets;
}

/**
 * Returns the function that masks secrets in a part of the file at `path`. Under the policy
 * `secrets: show`, that function returns the text unchanged.
 */
export function maskFor(world: Masking, path: string): (text: string) => string {
  const mask = maskTextFor(world, path);
  return (text) => mask(text).text;
}

/** Like `maskFor`, for callers that also need offsets in the masked text. */
export function maskTextFor(
  { policy, secretValues: known }: Masking,
  path: string,
): (text: string) => MaskedText {
  if (policy.secrets === 'show') return unmasked;
  const options = { secretFile: isSecretPath(path), isPart: true, known };
  return (text) => maskText(text, options);
}

/** The options of a diff that an answer shows: its secrets are masked, and its length is limited. */
export function diffOptions({ policy, secretValues: known }: Masking, path: string): MaskedDiffOptions {
  return { maxLines: LIMITS.maxDiffLines, secrets: policy.secrets, known, path };
}

/**
 * A part of the file at `path` with secrets masked, in the encoding of the file. Bytes that are not
 * text stay as they are, because masking would damage them; their encoding is `binary`. Returns
 * `bytes` itself if nothing is masked. `utf16`: the encoding, if the file is known to be UTF-16. The
 * bytes of a part do not always show that.
 */
export function maskedBytes(
  world: Masking,
  path: string,
  bytes: Uint8Array,
  utf16?: Utf16Encoding,
): Required<Pick<ReadResult, 'bytes' | 'encoding'>> {
  const decoded =
    utf16 === undefined
      ? decodeText(bytes)
      : { text: decodeUtf16(bytes, utf16), encoding: utf16, bom: false };
  if (decoded === undefined) return { bytes, encoding: 'binary' };
  const { text, encoding } = decoded;
  const shown = maskFor(world, path)(text);
  return { bytes: (shown === text ? undefined : encodeText(shown, decoded)) ?? bytes, encoding };
}

/**
 * True if the text that an edit replaces overlaps a secret value, or quotes the mask that reads show
 * instead of the value. Such an edit is refused, even if it guesses the value. It is allowed if the
 * session knows every value, because it wrote the file or its own client showed it.
 */
export function touchesMasked(
  { policy, baselines, secretValues: known }: World,
  intent: Intent,
  view: Pick<LookedFile, 'snapshot' | 'path' | 'sighting' | 'facts'>,
): boolean {
  const { snapshot, path } = view;
  if (policy.secrets !== 'mask' || intent.kind !== 'edit' || snapshot === undefined) return false;
  if (isKnownUnmasked(view)) return false;
  const secretFile = isSecretPath(path.relative);
  const { bytes, fingerprint } = snapshot;
  const mayHold = secretFile || known.mayBeIn(bytes) || !isUtf8(bytes);
  if (!mayHold && !baselines.mayHoldSecret(fingerprint, bytes)) return false;
  const text = decodeText(bytes)?.text ?? '';
  const spans = secretSpans(text, { secretFile, known });
  const isMasked = (oldString: string): boolean =>
    (oldString.includes(MASK) && !text.includes(MASK)) || touchesSecret(text, spans, oldString);
  return spans.length > 0 && intent.edits.some(({ oldString }) => isMasked(oldString));
}

/**
 * The first line of a new text that holds one of our masks, if the file holds values that the
 * session was shown masked. Undefined for a file that holds the word `[masked]` itself.
 */
export function maskIn(
  { policy, secretValues: known }: World,
  view: Pick<LookedFile, 'snapshot' | 'path' | 'sighting' | 'facts'>,
  text: string | undefined,
): string | undefined {
  const { snapshot, sighting, path } = view;
  if (snapshot === undefined || text?.includes(MASK) !== true) return undefined;
  const there = decodeText(snapshot.bytes)?.text ?? '';
  const isMasked =
    policy.secrets === 'mask' &&
    !isKnownUnmasked(view) &&
    secretSpans(there, { secretFile: isSecretPath(path.relative), known }).length > 0;
  if (there.includes(MASK) || !(isMasked || sighting?.flags.redacted === true)) return undefined;
  const lines = text.split('\n');
  const at = lines.findIndex((line) => line.includes(MASK));
  return `a masked value, line ${at + 1}: ${clip(lines[at]?.trim() ?? '', MAX_QUOTED)}`;
}

/** The ways to learn a file after which the sighting records whether a value was masked. */
const EXACT: ReadonlySet<How> = new Set(['read', 'output', 'write', 'edit', 'witness', 'cure']);

/**
 * True if the session knows every value of the file as it is now. A masked read makes the sighting
 * `redacted`, and a line that a diff shows masked is not covered.
 */
function isKnownUnmasked({ sighting, facts }: Pick<LookedFile, 'sighting' | 'facts'>): boolean {
  if (sighting === undefined || facts.freshness !== 'same') return false;
  const { how, coverage, flags } = sighting;
  return EXACT.has(how) && coverage.kind === 'whole' && showsAll(flags);
}

/**
 * The refusal of reading a secret file under the policy `secrets: refuse`; undefined for other files.
 * `relative`: the path in its root, with links resolved.
 */
export function secretRefusal(path: string, relative: string): Refusal | undefined {
  if (!isSecretPath(relative)) return undefined;
  const detail = { reason: 'files that hold secrets' };
  return { code: 'PROTECTED', action: 'read', path, next: 'ask_human', detail };
}

/** For a secret file, removes the quoted line that is most similar to the edit's text. */
export function withoutSecretQuote({ policy }: World, { path }: LookedFile, refusal: Refusal): Refusal {
  if (refusal.code !== 'NO_MATCH') return refusal;
  const { nearest, ...detail } = refusal.detail ?? {};
  if (policy.secrets === 'show' || nearest === undefined || !isSecretPath(path.relative)) return refusal;
  return { ...refusal, detail };
}
