import type { LineRange } from '../model/coverage.ts';
import type { FileKind } from '../model/path.ts';
import type { LostReason, Sighting } from '../model/sighting.ts';
import type { Action } from '../model/verdict.ts';

/**
 * What is to be judged. A plain write is `overwrite` whether or not something is there; `create` is only for callers
 * that demand creation. A move is judged twice: its source as `move`, its destination as `overwrite`.
 */
export type JudgedAction = Extract<
  Action,
  'create' | 'overwrite' | 'edit' | 'insert' | 'delete' | 'move' | 'mkdir'
>;

/** What is at the path now. */
export type Target =
  | { readonly exists: false }
  | {
      readonly exists: true;
      readonly kind: FileKind;
      readonly sizeBytes: number;
      /** No write bit at all (0444 and its like), whoever asks. */
      readonly readOnly: boolean;
      /** It has other names too: hard links. */
      readonly linked?: boolean | undefined;
      /** A file of no bytes. */
      readonly empty: boolean;
      readonly mtimeMs?: number | undefined;
      /** Known only once the gate has allowed looking inside. */
      readonly binary?: boolean | undefined;
    };

/** Why there is no sighting to go by. */
export type Absence = 'never' | 'expired' | 'recreated' | 'unverified' | LostReason;

/** What a delete of a folder rests on. */
export interface FolderFacts {
  readonly empty: boolean;
  /** The caller said `recursive`. */
  readonly recursive: boolean;
  /** This session was shown every entry below it. */
  readonly listedFull?: boolean | undefined;
  readonly listingUnchanged?: boolean | undefined;
}

/**
 * Everything the rules may look at, as plain data. Facts taken from contents (`touched`, `target.binary`, `placeholder`)
 * stay away until a first verdict has allowed looking; judging again with them is cheap.
 */
export interface Facts {
  readonly action: JudgedAction;
  /** As the caller wrote it. */
  readonly path: string;
  readonly target: Target;
  readonly nowMs: number;
  /** The path is a root of the workspace itself. */
  readonly isRoot?: boolean | undefined;
  /** The protecting glob that matches. */
  readonly protectedBy?: string | undefined;
  /** The operator's exempting rule that matches, in words. */
  readonly bypassedBy?: string | undefined;
  /** Id of the operator's grant that `bypassedBy` is about, if it is one. */
  readonly grant?: string | undefined;
  /** As recalled, tombstones and stubs included: the rules tell them apart. */
  readonly sighting?: Sighting | undefined;
  /** Where the caller knows better than `never` why there is no sighting. */
  readonly absence?: Absence | undefined;
  /** Bytes now against the sighting's baseline; absent counts as unknown. */
  readonly freshness?: 'same' | 'changed' | 'unknown' | undefined;
  /** The bytes are not the last ones this session saw, but others that it had seen whole before. */
  readonly cameBack?: boolean | undefined;
  /** Why freshness is unknown. */
  readonly errno?: string | undefined;
  /** The modification time is another than the sighting's; undefined if the sighting has none. For `freshness: mtime`. */
  readonly otherTime?: boolean | undefined;
  /** SHA-256 of the bytes there now, lower-case hex. */
  readonly currentHash?: string | undefined;
  /** Revision of the bytes there now; present when the caller sent one, or its last content was refused as STALE. */
  readonly currentRevision?: string | undefined;
  readonly expectedRevision?: string | undefined;
  readonly totalLines?: number | undefined;
  /** The insert adds to the end of the file and destroys nothing. */
  readonly appends?: boolean | undefined;
  /** Lines of the file as it is now that an edit changes; for an insert, the neighbours that exist. */
  readonly touched?: readonly LineRange[] | undefined;
  readonly folder?: FolderFacts | undefined;
  /** SHA-256 of the content an overwrite would leave, lower-case hex. */
  readonly contentHash?: string | undefined;
  /** What an overwrite brings; absent counts as text. */
  readonly contentKind?: 'text' | 'bytes' | undefined;
  /** The stub or decoration that the new text carries and the file does not, in a few words. */
  readonly placeholder?: string | undefined;
  /** The sibling session whose recorded change the file shows. */
  readonly writer?: { readonly session: string; readonly atMs: number } | undefined;
}
