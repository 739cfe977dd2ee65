import type { Snapshot } from '../disk/read.ts';
import { ABSENT, addDelta, type Delta } from '../model/delta.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { ChangeResult, Notice } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Action } from '../model/verdict.ts';

/** A delta, and what is known for applying it. Each extra saves work; none changes the result. */
export interface PlannedDelta extends Delta {
  /** The path, for messages and to locate the place again. */
  readonly path: ResolvedPath;
  /** The names that did not exist when the path was judged: folders, outermost first, then its own. */
  readonly missing?: readonly string[] | undefined;
  /** Returns the new bytes. Default: the stored ones. */
  readonly bytes?: (() => Uint8Array) | undefined;
  /** The file in the state `before`, if it is in memory. */
  readonly was?: Pick<Snapshot, 'bytes'> | undefined;
  /** The stamp of the file in the state `before`, if an unchanged stamp proves unchanged bytes. */
  readonly stamp?: Stamp | undefined;
  /** The mode of the parent folder, in case it must be created. */
  readonly folderMode?: number | undefined;
  /**
   * `asBefore`: restores an earlier state. A file that was read-only in it may be replaced, and a
   * folder in use stays. `default`: a new file or folder gets the system's default mode.
   */
  readonly mode?: 'asBefore' | 'default' | undefined;
}

/** One allowed change, as data: what to do, what the caller is told, and what the session then knows. */
export interface ChangePlan {
  readonly action: Action;
  readonly path: ResolvedPath;
  /** In the order in which they are applied. Empty if nothing will change. */
  readonly deltas: readonly PlannedDelta[];
  /** The file's bytes after the change, if it writes one file. */
  readonly bytes?: { readonly bytes: Uint8Array; readonly fingerprint: Fingerprint };
  /** The lines of `bytes` that count as seen. */
  readonly seen?:
    | Pick<Sighting, 'coverage' | 'totalLines' | 'flags' | 'how' | 'pages' | 'unplaced'>
    | undefined;
  /** Like `seen`, for an answer without the notices about other programs' changes. */
  readonly untold?: Pick<Sighting, 'coverage' | 'unplaced'> | undefined;
  /** Further result fields of an edit. */
  readonly more?: Pick<ChangeResult, 'replaced' | 'tier' | 'inserted' | 'diff'> | undefined;
  readonly result: Omit<ChangeResult, 'change'>;
  /** The session's knowledge after the change. */
  readonly sightings: readonly Sighting[];
  /** Keys of files that the session then knows to be gone. */
  readonly tombstones: readonly string[];
  /** The result of a dry run, with a bounded diff. The user sees it before approving. */
  preview?(): Pick<ChangeResult, 'diff' | 'sizeBytes' | 'replaced' | 'inserted'>;
}

/** The deltas that the journal announces for a plan. */
export function deltasOfPlan({ deltas }: ChangePlan): readonly Delta[] {
  const announced: Delta[] = [];
  for (const delta of deltas) for (const each of [...foldersAround(delta), delta]) addDelta(announced, each);
  return announced;
}

/** The deltas that make the missing folders around the path of a delta, outermost first. */
export function foldersAround({
  path,
  missing = [],
  after,
  folderMode,
}: PlannedDelta): readonly PlannedDelta[] {
  if (missing.length < 2 || after.kind === 'absent') return [];
  const [keys, names, absolute] = [path.key, path.relative, path.absolute].map((each) => each.split('/'));
  const last = missing.length - 1;
  return missing.slice(0, -1).map((_name, index) => {
    const [key = '', relative = '', at = ''] = [keys, names, absolute].map((parts) =>
      (parts ?? []).slice(0, index - last).join('/'),
    );
    const mode = index === last - 1 ? folderMode : undefined;
    return {
      key,
      relative,
      path: { ...path, key, relative, absolute: at },
      before: ABSENT,
      after: { kind: 'directory', mode: mode ?? 0o755 },
      ...(mode === undefined ? { mode: 'default' } : {}),
    };
  });
}

/** Adds notices to the result of a plan. */
export function told(plan: ChangePlan, notices: readonly Notice[]): ChangePlan {
  if (notices.length === 0) return plan;
  return { ...plan, result: { ...plan.result, notices: [...notices, ...plan.result.notices] } };
}
