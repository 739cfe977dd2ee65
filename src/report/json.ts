import type { ApplyResult, MatchTier, Notice, UndoResult } from '../model/results.ts';
import { type NextStep, type Refusal, type RefusalCode, reasonOf } from '../model/verdict.ts';
import { quotation } from './bounded.ts';

/** The key under which a tool result carries its outcome for programs. */
export const OUTCOME_KEY = 'dev.lookfirst/outcome';

/** A refusal in a form for programs: plain JSON with stable names. */
export interface RefusalOutcome {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly path?: string;
  readonly next: NextStep;
  readonly detail?: NonNullable<Refusal['detail']>;
}

/**
 * The outcome of a successful call, in a form for programs. The operation determines which fields
 * are present.
 */
export interface SuccessOutcome {
  readonly ok: true;
  readonly path?: string;
  /** The file's revision; present only if the session has seen the whole file as it is now. */
  readonly revision?: string;
  readonly complete?: boolean;
  readonly created?: boolean;
  readonly changed?: boolean;
  /** The id of the change in the journal. */
  readonly change?: string;
  /**
   * The difference that was ignored when the text of an edit was matched; absent for an exact
   * match.
   */
  readonly tier?: MatchTier;
  readonly notice?: readonly Notice[];
  /** For a listing: true if it was cut and more entries follow. */
  readonly more?: boolean;
  /** For several files: the outcome of each, in the order of the paths. */
  readonly files?: readonly (SuccessOutcome | RefusalOutcome)[];
}

/** The fields that an outcome copies from the result of a session's method, whatever the method. */
type Shown = Omit<SuccessOutcome, 'ok' | 'notice' | 'files'> & { readonly notices?: readonly Notice[] };

export function refusalOutcome(refusal: Refusal): RefusalOutcome {
  const { code, path, next } = refusal;
  const detail = boundedDetail(refusal);
  return {
    ok: false,
    code,
    ...(path === '' ? {} : { path }),
    next,
    ...(detail === undefined ? {} : { detail }),
  };
}

/** Picks the outcome's fields from a result. Everything else is only in the text of the answer. */
export function successOutcome(result: Shown = {}): SuccessOutcome {
  const { path, revision, complete, created, changed, change, tier, notices, more } = result;
  // Assigned step by step, because spreading objects costs more than the whole answer to a small
  // read.
  const outcome: { -readonly [K in keyof SuccessOutcome]: SuccessOutcome[K] } = { ok: true };
  if (path !== undefined) outcome.path = path;
  if (revision !== undefined) outcome.revision = revision;
  if (complete !== undefined) outcome.complete = complete;
  if (created !== undefined) outcome.created = created;
  if (changed !== undefined) outcome.changed = changed;
  if (change !== undefined) outcome.change = change;
  if (more !== undefined) outcome.more = more;
  if (tier !== undefined) outcome.tier = tier;
  if (notices !== undefined && notices.length > 0) outcome.notice = notices.map(boundedNotice);
  return outcome;
}

/**
 * The outcome of a call that changes many files: the id of its one change, and the notices of all
 * files. A dry run has no change.
 */
export function applyOutcome(result: ApplyResult): SuccessOutcome {
  const changed = !result.dryRun && result.results.some((one) => one.changed);
  const notices = result.results.flatMap((one) => one.notices);
  return successOutcome({
    changed,
    notices,
    ...(result.change === undefined ? {} : { change: result.change }),
  });
}

/**
 * The outcome of an undo. `changed` is false for a preview, and if every file already was in its
 * earlier state.
 */
export function undoOutcome({ change }: UndoResult): SuccessOutcome {
  return successOutcome({ changed: change !== undefined, ...(change === undefined ? {} : { change }) });
}

function boundedDetail(refusal: Refusal): Refusal['detail'] {
  const { detail } = refusal;
  if (detail === undefined) return undefined;
  const reason = reasonOf(refusal);
  return {
    ...detail,
    ...(reason === undefined ? {} : { reason }),
    ...('diff' in detail && { diff: quotation(detail.diff) }),
    ...('nearest' in detail && { nearest: quotation(detail.nearest) }),
  };
}

function boundedNotice(notice: Notice): Notice {
  return notice.kind === 'changed-elsewhere' ? { ...notice, diff: quotation(notice.diff) } : notice;
}
