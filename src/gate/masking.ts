import { isUtf8 } from 'node:buffer';
import type { Intent } from '../model/intent.ts';
import type { Policy } from '../model/policy.ts';
import type { Refusal } from '../model/verdict.ts';
import { decodeText } from '../text/decode.ts';
import { isSecretPath, masked, secretSpans, touchesSecret } from '../text/secrets.ts';
import type { View } from './look.ts';
import type { World } from './world.ts';

/** How a text of this file is shown to a session. */
export function maskFor({ secrets }: Pick<Policy, 'secrets'>, path: string): (text: string) => string {
  if (secrets === 'show') return (text) => text;
  return (text) => masked(text, { secretFile: isSecretPath(path) });
}

/** An edit may not rest on a value that reads show masked, whether it guesses it or not. */
export function touchesMasked(
  { policy, baselines }: World,
  intent: Intent,
  { snapshot, path }: View,
): boolean {
  if (policy.secrets !== 'mask' || intent.kind !== 'edit' || snapshot === undefined) return false;
  const secretFile = isSecretPath(path.relative);
  const { bytes, fingerprint } = snapshot;
  if (!secretFile && isUtf8(bytes) && !baselines.mayHoldSecret(fingerprint, bytes)) return false;
  const text = decodeText(bytes)?.text ?? '';
  const spans = secretSpans(text, { secretFile });
  return spans.length > 0 && intent.edits.some(({ oldString }) => touchesSecret(text, spans, oldString));
}

/** The lines that a refusal quotes, with their secrets masked. Of a secret file, similar lines are not quoted at all. */
export function withMasks({ policy }: World, { path }: View, refusal: Refusal): Refusal {
  const { nearest, places, ...rest } = refusal.detail ?? {};
  if (policy.secrets === 'show' || (nearest === undefined && places === undefined)) return refusal;
  const show = maskFor(policy, path.relative);
  const quoted = nearest === undefined || isSecretPath(path.relative) ? {} : { nearest: show(nearest) };
  const found = places && { places: places.map((place) => ({ ...place, text: show(place.text) })) };
  return { ...refusal, detail: { ...rest, ...quoted, ...found } };
}
