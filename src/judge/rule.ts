import type { Policy } from '../model/policy.ts';
import type { Notice } from '../model/results.ts';
import type { NextStep, Refusal, RefusalCode, RefusalDetail } from '../model/verdict.ts';
import type { Facts } from './facts.ts';

/**
 * What one rule says: nothing against it, no, something the caller should know, or that an edit must be carried over a
 * change (and may still turn out stale).
 */
export type Ruling =
  | { readonly kind: 'pass' }
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  | { readonly kind: 'note'; readonly notices: readonly Notice[] }
  | { readonly kind: 'carry' };

/** One check over facts; asks nothing, changes nothing. */
export type Rule = (facts: Facts, policy: Policy) => Ruling;

export const PASS: Ruling = { kind: 'pass' };

/** A refusal of these facts. */
export function no(facts: Facts, reason: { code: RefusalCode; next: NextStep; detail?: Detail }): Ruling {
  const detail = present(reason.detail ?? {});
  const refusal: Refusal = {
    code: reason.code,
    action: facts.action,
    path: facts.path,
    next: reason.next,
    ...(detail === undefined ? {} : { detail }),
  };
  return { kind: 'refuse', refusal };
}

/** A pass that tells something. */
export function note(...notices: readonly Notice[]): Ruling {
  return { kind: 'note', notices };
}

type Detail = { readonly [K in keyof RefusalDetail]: RefusalDetail[K] | undefined };

/** Without the fields that are undefined, so that details compare and serialise cleanly. */
function present(detail: Detail): RefusalDetail | undefined {
  const entries = Object.entries(detail).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
