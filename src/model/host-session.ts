import type { ClientCall } from './call.ts';
import type { HostIntent } from './intent.ts';
import type { Notice, StatusResult, WitnessEvent } from './results.ts';
import type { ChangeEnding } from './session.ts';
import type { TurnMark } from './turn.ts';
import type { Action, Outcome } from './verdict.ts';

/**
 * The part of a session that the proxy uses. The session changes no files: another server does, between `announce` and
 * `settle`.
 */
export interface HostSession {
  readonly id: string;
  /** True if the session may not change anything. */
  readonly readOnly: boolean;
  /** Resolves a path if the session may access it for this action. Synchronous where possible. Reads no content. */
  locate(path: string, action: Action): HostPlace | Promise<HostPlace>;
  /**
   * The path with its names spelled as on disk. Corrects only names that differ in their Unicode
   * form.
   */
  pathOnDisk(path: string): string;
  /** SHA-256 of the file's present bytes; undefined if it cannot be read. */
  hashOf(path: string): Promise<string | undefined>;
  /** Records the output of a command. Output lines that equal lines of the file count as seen. */
  witnessOutput(shown: OutputEvent): Promise<void>;
  /**
   * Records that a command such as `echo` wrote `content`, which the command's text contains, into
   * this file. If the file holds exactly `content`, it counts as seen.
   */
  witnessWritten(path: string, content: string): Promise<void>;
  /** The reason why only the user may make this change outside the workspace; undefined if there is none. */
  guardOutside(intent: HostIntent): Promise<string | undefined>;
  /** True if a client's settings file, or a file in a client's folder, holds entries of Lookfirst. */
  holdsOurs(path: string): Promise<boolean>;
  /**
   * Checks whether all of these changes may be made; see `Session.announce`. Call `settle` exactly
   * once for every announced change.
   */
  announce(
    intents: readonly HostIntent[],
    times?: ClientCall,
  ): Promise<Outcome<{ readonly change: string; readonly notices: readonly Notice[] }>>;
  /** Ends an announced change: the other server has answered, or never will. */
  settle(change: string, ending: ChangeEnding): Promise<Outcome<{ readonly notices: readonly Notice[] }>>;
  /**
   * Records what the other server showed or ran. A read with `content` records that text instead of
   * the file on disk. If the two differ, later changes of the file are refused as STALE. If
   * the text was only guessed to be the file's, only the lines count that it contains.
   */
  witness(
    event: WitnessEvent | ListingEvent | LookEvent | HostRead,
    times?: ClientCall,
  ): Promise<Outcome<{ readonly notices: readonly Notice[] }>>;
  /** True if `mask` may change texts. */
  readonly masks: boolean;
  /** Masks secrets in the texts of another server's answer, as the policy says. */
  mask(texts: readonly string[], content: AnswerContent): Promise<readonly string[]>;
  /**
   * Call this after the model's context was summarised: shown lines then no longer count, unless
   * the policy keeps them.
   */
  compacted(): Promise<void>;
  beginTurn(mark: TurnMark): Promise<void>;
  /** Called when the call for which the session was chosen is over. */
  readonly ended?: (() => void) | undefined;
  /** Writes one sentence into the journal. */
  note(text: string): Promise<void>;
  status(path?: string): Promise<Outcome<StatusResult>>;
}

export type HostPlace = Outcome<{ readonly key: string }>;

/** A read through another server whose text may not prove which bytes it showed. */
export type HostRead = Extract<WitnessEvent, { readonly kind: 'read' }> & {
  /** `output`: a diff, which shows lines of the file but is no read of it. */
  readonly how?: 'output' | undefined;
  /** The result of `hashOf` before the call. Shows whether the file changed during the call. */
  readonly before?: string | undefined;
  /** True if the tool is unknown: its text may or may not be the file's content. */
  readonly guessed?: true;
};

/**
 * The result of a tool that shows only metadata or matches (a search, a file size). Nothing in it
 * counts as seen.
 */
export interface LookEvent {
  readonly kind: 'look';
  readonly path: string;
  readonly shown: string;
}

/** The content of an answer: the text of one file, of several files, or the output of a search or command. */
export type AnswerContent =
  | { readonly kind: 'file'; readonly path: string; readonly extent: 'whole' | 'part' }
  | { readonly kind: 'files' | 'output'; readonly paths: readonly string[] };

/** The output of a command or search that names a file. */
export interface OutputEvent {
  readonly path: string;
  readonly output: string;
  /** `read`: in a client without a read tool, the command certainly prints the file. */
  readonly how?: 'read' | 'output';
}

/** A complete listing of a folder. */
export interface ListingEvent {
  readonly kind: 'list';
  readonly path: string;
}
