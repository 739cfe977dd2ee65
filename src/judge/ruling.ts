import type { Policy } from '../model/policy.ts';
import type { Notice } from '../model/results.ts';
import type { NextStep, Refusal, RefusalCode, RefusalOf } from '../model/verdict.ts';
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

/** Builds a refusal from the facts and a reason. Facts that are undefined are left out of the detail. */
export function no<C extends RefusalCode>(
  facts: Facts,
  {
    code,
    next,
    detail = {},
  }: { code: C; next: NextStep; detail?: Loose<NonNullable<RefusalOf<C>['detail']>> },
): Ruling {
  const known = Object.entries(detail).filter(([, value]) => value !== undefined);
  const refusal = { code, action: facts.action, path: facts.path, next };
  // `detail` is that of `code`, without the undefined facts.
  const told = known.length === 0 ? refusal : { ...refusal, detail: Object.fromEntries(known) };
  return { kind: 'refuse', refusal: told as Refusal };
}

type Loose<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** A pass with notices. */
export function note(...notices: readonly Notice[]): Ruling {
  return { kind: 'note', notices };
}
