import type { LineRange } from '../model/coverage.ts';
import type { FileKind } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Action, CopiedText, Writer } from '../model/verdict.ts';

/**
 * The action to judge. A plain write is `overwrite` whether or not the file exists; `create` is only for callers that
 * demand creation. A move is judged twice: its source as `move`, its destination as `overwrite`.
 */
export type JudgedAction = Extract<
  Action,
  'create' | 'overwrite' | 'edit' | 'insert' | 'delete' | 'move' | 'mkdir'
>;

/** The current state of the path. */
export type Target =
  | { readonly exists: false }
  | {
      readonly exists: true;
      readonly kind: FileKind;
      readonly sizeBytes: number;
      /** The size up to which this process can change the file, if that is not `LIMITS.maxEditBytes`. */
      readonly limitBytes?: number | undefined;
      /** True if no user has a write bit (for example mode 0444). */
      readonly readOnly: boolean;
      readonly empty: boolean;
      readonly mtimeMs?: number | undefined;
      /**
       * True if the file is not text. Present only after a first verdict has allowed reading the
       * file.
       */
      readonly binary?: boolean | undefined;
    };

/** The reason why the session has no valid sighting (record of what it was shown) of the file. */
export type Absence =
  | 'never'
  | 'changed'
  | 'expired'
  | 'recreated'
  | 'unverified'
  | NonNullable<Sighting['lost']>;

/** The facts for deleting a folder. */
export interface FolderFacts {
  readonly empty: boolean;
  readonly recursive: boolean;
  /** True if this session was shown every entry below the folder. */
  readonly listedFull?: boolean | undefined;
  readonly listingUnchanged?: boolean | undefined;
}

/**
 * Everything the rules may use, as plain data. Facts from file contents (`touched`,
 * `target.binary`, `placeholder`) are absent until a first verdict has allowed reading the file.
 * The gate then judges again with these facts, which is cheap.
 */
export interface Facts {
  readonly action: JudgedAction;
  /** The path as the caller wrote it. */
  readonly path: string;
  readonly target: Target;
  readonly nowMs: number;
  readonly isRoot?: boolean | undefined;
  /** The reason why only the user may change the path, in words. */
  readonly protectedBy?: string | undefined;
  /** The operator's bypass rule that matches, in words. */
  readonly bypassedBy?: string | undefined;
  /** Id of the operator's grant, if `bypassedBy` describes one. */
  readonly grant?: string | undefined;
  /** The stored sighting. It may be a tombstone (deleted file) or a stub (forgotten sighting). */
  readonly sighting?: Sighting | undefined;
  /** Set if the caller knows a more precise reason than `never` for the missing sighting. */
  readonly absence?: Absence | undefined;
  /**
   * The result of comparing the current bytes with those that the session saw. Absent if they were
   * not compared.
   */
  readonly freshness?: 'same' | 'changed' | 'unknown' | undefined;
  /** True if the session last saw other bytes, but has seen the current bytes whole before. */
  readonly cameBack?: boolean | undefined;
  /**
   * The reason why `freshness` is `unknown`: a system error such as `EACCES`, or another problem.
   */
  readonly errno?: string | undefined;
  /**
   * True if the modification time differs from the sighting's; undefined if the sighting has none.
   * Used only if the policy sets `freshness: mtime`.
   */
  readonly otherTime?: boolean | undefined;
  /** SHA-256 of the current bytes, lower-case hex. */
  readonly currentHash?: string | undefined;
  /**
   * Revision of the current bytes. Present only if needed: the caller sent a revision, or its last
   * content was refused as STALE.
   */
  readonly currentRevision?: string | undefined;
  readonly expectedRevision?: string | undefined;
  readonly totalLines?: number | undefined;
  /** True if the insert only appends to the file and destroys nothing. */
  readonly appends?: boolean | undefined;
  /** Lines of the current file that an edit changes; for an insert, the existing lines next to it. */
  readonly touched?: readonly LineRange[] | undefined;
  readonly folder?: FolderFacts | undefined;
  /** SHA-256 of the content that an overwrite would write, lower-case hex. */
  readonly contentHash?: string | undefined;
  /** The content that an overwrite writes; `file`: a moved or copied file. Absent counts as text. */
  readonly contentKind?: 'text' | 'bytes' | 'file' | undefined;
  /**
   * The number and text of the first line of the new text that is not real content: a placeholder
   * for omitted lines, or a line number from the output of a read.
   */
  readonly placeholder?: CopiedText | undefined;
  /** The first line of the new text that holds a mask of a value that the file's reads mask. */
  readonly mask?: string | undefined;
  /** The other session, or the session's own command, whose recorded change produced the current file. */
  readonly writer?: Writer | undefined;
}

/** The session's knowledge of the target: a valid sighting, or the reason why there is none. */
type Knowledge =
  | { readonly known: true; readonly sighting: Sighting }
  | { readonly known: false; readonly absence: Absence; readonly seenAtMs?: number };

/**
 * Separates valid sightings from tombstones (deleted files), stubs (forgotten sightings), and
 * listings of a folder that is now a file.
 */
export function knowledgeOf(facts: Facts): Knowledge {
  const { sighting } = facts;
  if (sighting === undefined) return { known: false, absence: facts.absence ?? 'never' };
  if (isStub(sighting))
    return { known: false, absence: sighting.lost ?? 'forgotten', seenAtMs: sighting.atMs };
  if (sighting.tombstone === true && facts.target.exists)
    return { known: false, absence: 'recreated', seenAtMs: sighting.atMs };
  if (sighting.how === 'listing' && facts.target.exists && facts.target.kind !== 'directory')
    return { known: false, absence: 'never' };
  return { known: true, sighting };
}

/**
 * True if only the reason of the loss is left of a sighting: no shown lines, no hash and no stamp.
 */
export function isStub(sighting: Sighting): boolean {
  return sighting.lost !== undefined && sighting.fingerprint === undefined && sighting.stamp === undefined;
}

/** True if the content to write equals the current content, so that nothing can be lost. */
export function bringsWhatIsThere(facts: Facts): boolean {
  const { action, contentHash, currentHash } = facts;
  return action === 'overwrite' && contentHash !== undefined && contentHash === currentHash;
}
