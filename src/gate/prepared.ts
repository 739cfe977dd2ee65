import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { View } from './look.ts';
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

/** Lets go of a place that was looked at, unless a step goes on with it. */
export async function closedUnlessOk(view: View, prepare: () => Promise<Prepared>): Promise<Prepared> {
  let ok = false;
  try {
    const prepared = await prepare();
    ok = prepared.ok;
    return prepared;
  } finally {
    if (!ok) view.located.place.dir.close();
  }
}
