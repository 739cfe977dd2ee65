import type { Coverage, LineRange } from './coverage.ts';

/** One replacement inside a file. */
export interface Edit {
  readonly oldString: string;
  readonly newString: string;
  readonly replaceAll?: boolean | undefined;
  /** The new text may be the old one: such an edit is looked for and changes nothing. Default false: it is refused. */
  readonly mayBeSame?: boolean | undefined;
  /** With `replaceAll`: how often the text must be there; any other number is AMBIGUOUS_MATCH. */
  readonly occurrences?: number | undefined;
  /** A hunk of a patch: the text is whole lines, and of several equal places this may choose one. */
  readonly lines?:
    | {
        /** It is at the end of the file. */
        readonly atEnd?: boolean | undefined;
        /** It is at the end of the file, and its last new line gets no ending. */
        readonly unended?: boolean | undefined;
        /** It begins at this line, counted from 1. */
        readonly near?: number | undefined;
        /** It comes after the first line that holds this text. */
        readonly after?: string | undefined;
      }
    | undefined;
}

/** The change someone wants, before it is allowed. Paths are as the caller wrote them. */
export type Intent = FileIntent | ApplyIntent;

export type FileIntent =
  | {
      readonly kind: 'write';
      readonly path: string;
      readonly content: string | Uint8Array;
      readonly expectedRevision?: string | undefined;
      /** Default true; false refuses when the parent folder is missing. */
      readonly makeParents?: boolean | undefined;
      /** Default true; false refuses whatever is there. */
      readonly overwrite?: boolean | undefined;
      /** Permission bits of a file that is created; default: by the umask. */
      readonly mode?: number | undefined;
      /** How much of the content this session has seen. Default: all of it, because it wrote it; a copy may hold more. */
      readonly seen?: Coverage | undefined;
    }
  | {
      readonly kind: 'edit';
      readonly path: string;
      readonly edits: readonly Edit[];
      readonly expectedRevision?: string | undefined;
      readonly withDiff?: boolean | undefined;
      /** Where the file goes, in the same step. A file that is there is overwritten as by a move. */
      readonly moveTo?: string | undefined;
      /** Whether the file can be run afterwards; default: as before. */
      readonly executable?: boolean | undefined;
    }
  | {
      readonly kind: 'insert';
      readonly path: string;
      /** 0 = top; absent = append. */
      readonly afterLine?: number | undefined;
      readonly content: string;
      readonly expectedRevision?: string | undefined;
    }
  | {
      readonly kind: 'delete';
      readonly path: string;
      readonly recursive?: boolean | undefined;
      /** A folder is refused, also an empty one. */
      readonly only?: 'file' | undefined;
    }
  | {
      readonly kind: 'move';
      readonly source: string;
      readonly destination: string;
      readonly makeParents?: boolean | undefined;
      /** Default true; false refuses whatever is at the destination. */
      readonly overwrite?: boolean | undefined;
    }
  | { readonly kind: 'mkdir'; readonly path: string };

/** Many files, all or none. */
export interface ApplyIntent {
  readonly kind: 'apply';
  readonly changes: readonly FileIntent[];
  readonly dryRun?: boolean | undefined;
}

/** A change that another program wants to make, as far as its call tells. */
export type ForeignIntent = FileIntent | TouchIntent;

/**
 * A change inside a file whose text only the other program knows: by symbol, pattern or line number. Creating the file
 * needs nothing. An existing file must have been seen in those lines (all of it, without `lines`) and be unchanged since.
 */
export interface TouchIntent {
  readonly kind: 'touch';
  readonly path: string;
  readonly lines?: readonly LineRange[] | undefined;
}
