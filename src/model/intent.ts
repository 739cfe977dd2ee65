import type { Coverage, LineRange } from './coverage.ts';

/** One replacement inside a file. */
export interface Edit {
  readonly oldString: string;
  readonly newString: string;
  readonly replaceAll?: boolean | undefined;
  /**
   * Allows a new text equal to the old one. The old text must still occur in the file. Default
   * false: such an edit is refused.
   */
  readonly mayBeSame?: boolean | undefined;
  /**
   * With `replaceAll`: the required number of matches; any other number is refused as
   * AMBIGUOUS_MATCH.
   */
  readonly occurrences?: number | undefined;
  /**
   * Set for a hunk of a patch, whose text is whole lines. The fields say where the hunk must match.
   */
  readonly lines?:
    | {
        /** True if the match must be at the end of the file. */
        readonly atEnd?: boolean | undefined;
        /**
         * True if the match must be at the end of the file, and the last line of the new text gets
         * no line ending.
         */
        readonly unended?: boolean | undefined;
        /**
         * True if the match must be at the end of the file, and the last line of the new text gets
         * a line ending, even if the last line of the file has none.
         */
        readonly ended?: boolean | undefined;
        /** The line at which the match begins, counted from 1. Used only if several places match. */
        readonly near?: number | undefined;
        /**
         * A line above the match, without white space at its ends. If the file has that line, the
         * match does not begin above it. It also chooses between several places if `near` is absent.
         */
        readonly after?: string | undefined;
      }
    | undefined;
}

/** A requested change that is not yet allowed. Paths are as the caller wrote them. */
export type Intent = FileIntent | ApplyIntent;

export type FileIntent =
  | {
      readonly kind: 'write';
      readonly path: string;
      readonly content: string | Uint8Array;
      readonly expectedRevision?: string | undefined;
      /** Default true; false refuses when the parent folder is missing. */
      readonly makeParents?: boolean | undefined;
      /** Default true; false refuses if anything exists at the path. */
      readonly overwrite?: boolean | undefined;
      /** Permission bits of a created file; default: derived from the umask. */
      readonly mode?: number | undefined;
      /**
       * The part of the content that the session has seen. Default: all of it, because the session
       * wrote it. Set for a copy, which may contain unseen lines.
       */
      readonly seen?: Coverage | undefined;
    }
  | {
      readonly kind: 'edit';
      readonly path: string;
      readonly edits: readonly Edit[];
      readonly expectedRevision?: string | undefined;
      readonly withDiff?: boolean | undefined;
      /**
       * Destination to which the file is moved in the same step. If a file exists there, the rules
       * of a move apply.
       */
      readonly moveTo?: string | undefined;
      /** True if the file is executable afterwards; default: unchanged. */
      readonly executable?: boolean | undefined;
    }
  | {
      readonly kind: 'insert';
      readonly path: string;
      /** The line after which the text is inserted. 0 = at the top; absent = append. */
      readonly afterLine?: number | undefined;
      readonly content: string;
      readonly expectedRevision?: string | undefined;
      /** Destination to which the file is moved in the same step, as for the intent `edit`. */
      readonly moveTo?: string | undefined;
    }
  | {
      readonly kind: 'delete';
      readonly path: string;
      readonly recursive?: boolean | undefined;
      /** `file` refuses a folder, even an empty one. */
      readonly only?: 'file' | undefined;
      /**
       * The whole text of the file, as a patch lists it. Any other text is refused as NO_MATCH. Line
       * endings and a missing final newline do not matter.
       */
      readonly content?: string | undefined;
    }
  | {
      readonly kind: 'move';
      readonly source: string;
      readonly destination: string;
      readonly makeParents?: boolean | undefined;
      /** Default true; false refuses if anything exists at the destination. */
      readonly overwrite?: boolean | undefined;
    }
  | { readonly kind: 'mkdir'; readonly path: string };

/** Changes to many files, all or none. */
export interface ApplyIntent {
  readonly kind: 'apply';
  readonly changes: readonly FileIntent[];
  readonly dryRun?: boolean | undefined;
}

/** A change that another program wants to make, as far as its call describes it. */
export type HostIntent = FileIntent | TouchIntent;

/**
 * A change whose new text only the other program knows, because the call names a symbol, a pattern
 * or line numbers. Creating the file needs no read. If the file exists, the session must have seen
 * the lines in `lines` (all lines if absent), and they must be unchanged since.
 */
export interface TouchIntent {
  readonly kind: 'touch';
  readonly path: string;
  readonly lines?: readonly LineRange[] | undefined;
}

/** A requested change, with each of its paths converted by `at`. */
export function locatedIntent(at: (path: string) => string, intent: HostIntent): HostIntent {
  return intent.kind === 'move'
    ? { ...intent, source: at(intent.source), destination: at(intent.destination) }
    : { ...intent, path: at(intent.path) };
}
