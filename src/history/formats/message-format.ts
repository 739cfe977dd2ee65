import type { JsonRecord } from '../../model/record.ts';
import type { FormatName } from '../../model/transcript.ts';
import type { Fold } from '../fold.ts';
import { type Format, type FormatClaim, strongest } from '../format.ts';
import { NamedMessages } from './named-messages.ts';

/** The message structure of a framework. */
export interface MessageShape {
  readonly name: FormatName;
  /** The messages of a record that contains a whole conversation. */
  listOf(record: JsonRecord): readonly JsonRecord[] | undefined;
  /** How certain the format is about a single message. */
  claim(message: JsonRecord): FormatClaim;
  /** Passes one message to the fold. */
  read(fold: Fold, messages: NamedMessages, message: JsonRecord): void;
}

/**
 * A format whose records are single messages or whole conversations. Content missing from a whole conversation was not
 * seen.
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
