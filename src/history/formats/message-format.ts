import type { JsonRecord } from '../../model/record.ts';
import type { FormatName } from '../../model/transcript.ts';
import type { Fold } from '../fold.ts';
import { type Format, type FormatClaim, strongest } from '../format.ts';

/** The message structure of a framework. */
interface MessageShape {
  readonly name: FormatName;
  /** The messages of a record that contains a whole conversation. */
  listOf(record: JsonRecord): readonly JsonRecord[] | undefined;
  /** The certainty that a single message has this format. */
  claim(message: JsonRecord): FormatClaim;
  /**
   * Passes the calls and results of one message to the fold, which collects what the model has
   * seen.
   */
  read(fold: Fold, messages: NamedMessages, message: JsonRecord): void;
}

/**
 * A format whose records are single messages or whole conversations. A record with a whole
 * conversation replaces everything before it: only its own contents count as seen.
 */
export function messageFormat({ name, listOf, claim, read }: MessageShape): Format {
  return {
    name,
    claim(record) {
      const list = listOf(record);
      return list === undefined ? claim(record) : strongest(list.map(claim));
    },
    open(fold) {
      const messages = new NamedMessages(fold);
      return {
        read(record) {
          const list = listOf(record);
          if (list !== undefined) messages.clear();
          for (const message of list ?? [record]) read(fold, messages, message);
        },
        state: () => messages.state(),
        restore: (state) => messages.restore(state),
      };
    },
  };
}

/** Tracks messages with ids: a later message with the same id replaces the earlier one. */
export class NamedMessages {
  readonly #fold: Fold;
  #names = new Set<string>();

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  /**
   * Begins a message. If an earlier message had this id, forgets what the earlier message showed.
   */
  begin(id: string | undefined): void {
    if (id === undefined) return;
    if (this.#names.has(id)) this.#fold.forgetMessage(id);
    this.#names.add(id);
  }

  /**
   * Forgets all messages. Call it before reading a list of the whole conversation: content that is
   * missing from the list does not count as seen.
   */
  clear(): void {
    this.#fold.reset();
    this.#names.clear();
  }

  state(): unknown {
    return { names: [...this.#names] };
  }

  restore(state: unknown): void {
    // The cast is safe: Lookfirst wrote this snapshot itself, and its version was checked on
    // opening.
    this.#names = new Set((state as { names: string[] }).names);
  }
}
