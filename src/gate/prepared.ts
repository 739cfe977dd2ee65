import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Step } from './step.ts';

/** A change that may be done, or why not; `credit` is what the refusal itself shows of the file. */
export type Prepared = { readonly ok: true; readonly step: Step } | Denied;

export interface Denied {
  readonly ok: false;
  readonly refusal: Refusal;
  readonly credit?: Sighting;
}

export function no(refusal: Refusal, credit?: Sighting): Denied {
  return { ok: false, refusal, ...(credit === undefined ? {} : { credit }) };
}
