import type { Policy } from '../model/policy.ts';
import type { Notice } from '../model/results.ts';
import type { NextStep, Refusal, RefusalCode, RefusalDetail } from '../model/verdict.ts';
import type { Facts } from './facts.ts';

/**
 * The result of one rule: pass, refuse, pass with notices, or `carry`. `carry`: the file has
 * changed since the session saw it, and the edit must be merged with that change. The merge may
 * still fail as STALE.
 */
export type Ruling =
  | { readonly kind: 'pass' }
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  | { readonly kind: 'note'; readonly notices: readonly Notice[] }
  | { readonly kind: 'carry' };

/** A rule: checks the facts of a change without any I/O. */
export type JudgeRule = (facts: Facts, policy: Policy) => Ruling;

export const PASS: Ruling = { kind: 'pass' };

/** Builds a refusal from the facts and a reason. */
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

/** A pass with notices. */
export function note(...notices: readonly Notice[]): Ruling {
  return { kind: 'note', notices };
}

type Detail = { readonly [K in keyof RefusalDetail]: RefusalDetail[K] | undefined };

/** Removes undefined fields, so that details compare and serialise cleanly. */
function present(detail: Detail): RefusalDetail | undefined {
  const entries = Object.entries(detail).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
