import type { Edit, FileIntent } from '../model/intent.ts';
import type {
  ApplyResult,
  ChangeResult,
  FindResult,
  InfoResult,
  ListResult,
  ReadResult,
  RunResult,
  SearchResult,
  StatusResult,
  UndoResult,
} from '../model/results.ts';
import type {
  EditOptions,
  FindOptions,
  InsertOptions,
  ListOptions,
  MoveOptions,
  Patch,
  ReadOptions,
  SearchOptions,
  UndoSelection,
  WriteOptions,
} from '../model/session.ts';
import type { Outcome } from '../model/verdict.ts';

/**
 * The options of an operation that a dialect can set. The signal, the progress callback and the
 * working directory come from the caller of the tool.
 */
type Asked<T> = Omit<T, 'signal' | 'onProgress' | 'cwd'>;

/** Every operation that a tool can request, by kind. Dialects translate all calls to these. */
export interface Operations {
  readonly read: Asked<ReadOptions> & {
    readonly path: string;
    /** The most bytes of lines that the client shows its model, if that is less than the policy allows. */
    readonly maxAnswerBytes?: number;
  };
  /** A read if the path is a file, a listing if it is a folder. */
  readonly view: Asked<ReadOptions> & { readonly path: string; readonly folder: Asked<ListOptions> };
  readonly 'read-many': {
    readonly paths: readonly string[];
    readonly each: Asked<ReadOptions>;
    /** Maximum total bytes of all files; a file that no longer fits is refused as TOO_LARGE. */
    readonly together?: number;
  };
  /** Reads the bytes of a file of any type. */
  readonly media: { readonly path: string; readonly maxBytes: number };
  readonly write: WriteOptions & { readonly path: string; readonly content: string };
  readonly edit: EditOptions & { readonly path: string; readonly edits: readonly Edit[] };
  readonly insert: InsertOptions & { readonly path: string; readonly content: string };
  readonly apply: {
    readonly changes: readonly FileIntent[];
    readonly dryRun: boolean;
    /**
     * For a dry run: also shows changes of files that the session has not read. The lines in the
     * shown diff then count as read.
     */
    readonly unread?: 'show';
  };
  readonly patch: Patch;
  readonly delete: { readonly path: string; readonly recursive?: boolean };
  readonly move: MoveOptions & { readonly source: string; readonly destination: string };
  readonly mkdir: { readonly path: string };
  readonly list: Asked<ListOptions> & { readonly path?: string };
  readonly find: Asked<FindOptions> & { readonly pattern: string };
  readonly search: Asked<SearchOptions> & { readonly pattern: string };
  readonly status: { readonly path?: string };
  readonly undo: Pick<UndoSelection, 'change' | 'path'>;
  readonly run: { readonly command: string; readonly timeoutMs?: number };
  readonly info: { readonly path: string };
  readonly roots: Readonly<Record<string, never>>;
}

/** The result of each kind of operation. */
export interface Results {
  readonly read: ReadResult;
  readonly view: ListResult;
  readonly 'read-many': { readonly files: readonly ManyRead[] };
  readonly media: MediaResult;
  readonly write: ChangeResult;
  readonly edit: ChangeResult;
  readonly insert: ChangeResult;
  readonly apply: ApplyResult;
  readonly patch: ApplyResult;
  readonly delete: ChangeResult;
  readonly move: ChangeResult;
  readonly mkdir: ChangeResult;
  readonly list: ListResult;
  readonly find: FindResult;
  readonly search: SearchResult;
  readonly status: StatusResult;
  readonly undo: UndoResult;
  readonly run: RunResult;
  readonly info: InfoResult;
  readonly roots: { readonly roots: readonly string[] };
}

interface ManyRead {
  readonly path: string;
  readonly outcome: Outcome<ReadResult>;
}

interface MediaResult {
  readonly path: string;
  /** The `file:` URL of the canonical path. */
  readonly uri: string;
  readonly base64: string;
}
