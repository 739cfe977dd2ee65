import { Calls, type Scribe } from '../scribe.ts';
import type { CallStep, ResultStep, Step } from '../step.ts';

/** A message and the call it belongs to. */
export interface ListedMessage {
  readonly id: string;
  readonly kind: 'call' | 'result';
  readonly record: object;
}

/**
 * The form in which one framework records messages. The framework stores its context as a list of
 * messages, so a message that is missing from the list is no longer in the context.
 */
export interface ListWords {
  call(call: CallStep, directory: string | undefined): object;
  result(calls: Calls, step: ResultStep): object;
  /** The record that lists all messages. */
  list(messages: readonly object[]): object;
  /**
   * The records that a compaction writes, from the messages that it keeps. Default: a list of these
   * messages.
   */
  compact?(kept: readonly object[]): readonly object[];
  /** The records that clear the oldest `count` results. */
  clear?(count: number): readonly object[];
  readonly knowsDirectories?: true;
}

/**
 * Writes a record for each new message. When earlier messages change or disappear, writes the whole
 * list again.
 */
export class ListScribe implements Scribe {
  readonly #calls = new Calls();
  readonly #words: ListWords;
  #messages: ListedMessage[] = [];
  #directory: string | undefined;

  constructor(words: ListWords) {
    this.#words = words;
  }

  write(step: Step): readonly object[] | undefined {
    switch (step.do) {
      case 'call':
        this.#calls.note(step);
        return this.#add(step.id, 'call', this.#words.call(step, this.#directory));
      case 'result':
        return this.#add(step.id, 'result', this.#words.result(this.#calls, step));
      case 'compact':
        return this.#compact(step.keep ?? []);
      case 'rewind':
        return this.#rewind(step.before);
      case 'clear':
        return this.#words.clear?.(step.count);
      case 'blank':
        return this.#blank(step.id);
      case 'enter':
        if (this.#words.knowsDirectories !== true) return undefined;
        this.#directory = step.directory;
        return [];
      default:
        return step satisfies never;
    }
  }

  #add(id: string, kind: ListedMessage['kind'], record: object): readonly object[] {
    this.#messages.push({ id, kind, record });
    return [record];
  }

  #list(): readonly object[] {
    return [this.#words.list(this.#messages.map((message) => message.record))];
  }

  #compact(keep: readonly string[]): readonly object[] {
    this.#messages = this.#messages.filter((message) => keep.includes(message.id));
    return this.#words.compact?.(this.#messages.map((message) => message.record)) ?? this.#list();
  }

  #rewind(id: string): readonly object[] {
    const at = this.#messages.findIndex((message) => message.id === id);
    if (at !== -1) this.#messages = this.#messages.slice(0, at);
    return this.#list();
  }

  #blank(id: string): readonly object[] {
    this.#messages = this.#messages.map((message) =>
      message.id === id && message.kind === 'result'
        ? { ...message, record: this.#words.result(this.#calls, { do: 'result', id, is: 'blank' }) }
        : message,
    );
    return this.#list();
  }
}
