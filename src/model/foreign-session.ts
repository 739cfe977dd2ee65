import type { ForeignIntent } from './intent.ts';
import type { Notice, StatusResult, WitnessEvent } from './results.ts';
import type { ChangeEnding } from './session.ts';
import type { TurnMark } from './turn.ts';
import type { Action, Outcome } from './verdict.ts';

/** What the proxy needs of a session. It never changes files itself: another server does, between `announce` and `settle`. */
export interface ForeignSession {
  readonly id: string;
  /** It may change nothing at all. */
  readonly readOnly: boolean;
  /** Where a path leads, if the session may look there to do this; at once if it can be told at once. Reads nothing. */
  locate(path: string, action: Action): Located | Promise<Located>;
  /** The path as its names are spelt on disk, where one is the same but for its Unicode form. */
  spelt(path: string): string;
  /** A command that names this file has printed `output`: lines in it that equal lines of the file count as seen. */
  witnessOutput(path: string, output: string): Promise<void>;
  /** May all of these changes be made? See `Session.announce`. Every announced change is settled exactly once. */
  announce(
    intents: readonly ForeignIntent[],
    times?: CallTimes,
    /** The tool that was called, for a bypass that names tools. */
    tool?: string,
  ): Promise<Outcome<{ readonly change: string; readonly notices: readonly Notice[] }>>;
  /** The other server has answered, or never will. */
  settle(change: string, ending: ChangeEnding): Promise<Outcome<{ readonly notices: readonly Notice[] }>>;
  /**
   * Notes what the other server showed or ran. With `content`, a read is noted by what was shown, not by what is there
   * now: content that is not (any more) on disk is recorded as a sighting of older bytes and refused as STALE. Content
   * that is only guessed to be the file's is then none of it: the file was shown, but nobody can say what of it.
   */
  witness(
    event: WitnessEvent | ListingEvent | LookEvent | GuessedEvent,
    times?: CallTimes,
  ): Promise<Outcome<{ readonly notices: readonly Notice[] }>>;
  /**
   * Notes that a whole file was shown, if what was shown is exactly what is there. False: nothing was noted, and
   * `witness` must be told what was shown. The quick way for the most common of all calls; `key` is from `locate`.
   */
  sawWhole(
    file: { readonly path: string; readonly key: string },
    shown: ShownBytes,
    times?: CallTimes,
  ): Promise<boolean>;
  /** The model's context was summarised. */
  compacted(): Promise<void>;
  beginTurn(mark: TurnMark): Promise<void>;
  /** Present: the session lasts for one call, and this is called when the call is over. */
  readonly ended?: (() => void) | undefined;
  /** Writes one sentence into the journal. */
  note(text: string, path?: string): Promise<void>;
  status(path?: string): Promise<Outcome<StatusResult>>;
}

/**
 * When a call arrived and when its answer was handed to the transport, on the clock of `performance.now()`. What an answer
 * shows licenses only calls that arrived later.
 */
export interface CallTimes {
  readonly arrivedAt: number;
  /** Infinity as long as it is not answered. */
  answeredAt: number;
}

export type Located = Outcome<{ readonly key: string }>;

/** Something that was shown and can be compared with bytes. */
export interface ShownBytes {
  equals(bytes: Uint8Array): boolean;
}

/** A tool that nobody has described was called with the path of a file, and showed this. */
export type GuessedEvent = Extract<WitnessEvent, { readonly kind: 'read' }> & { readonly guessed: true };

/** A tool that only looks (a search, a file's size) has shown this; it licenses nothing. */
export interface LookEvent {
  readonly kind: 'look';
  readonly path: string;
  readonly shown: string;
}

/** A folder was listed in full. */
export interface ListingEvent {
  readonly kind: 'list';
  readonly path: string;
}
