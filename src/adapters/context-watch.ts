import { createHash } from 'node:crypto';
import type { Session } from '../model/session.ts';
import type { ResumeOptions } from '../model/transcript.ts';
import { gatedSession } from '../tools/toolset.ts';

/**
 * A tool result in the messages that the model is about to get: the id of its call, and its
 * content.
 */
export type ShownResult = readonly [call: string, shown: unknown];

/**
 * Compares the tool results in the model's messages with those of the previous request. If a result
 * was removed or changed, only the results in the current messages count as seen.
 */
export class ContextWatch {
  readonly #session: Session | (() => Session);
  readonly #format: NonNullable<ResumeOptions['format']>;
  #shown = new Map<string, string>();

  constructor(session: Session | (() => Session), format: NonNullable<ResumeOptions['format']>) {
    this.#session = session;
    this.#format = format;
  }

  /** Call this before the model gets `messages`, and before any tool call in its answer. */
  async look(messages: readonly unknown[], results: Iterable<ShownResult>): Promise<void> {
    const shown = new Map<string, string>();
    for (const [call, result] of results) shown.set(call, digest(result));
    const isGone = ([call, hash]: [string, string]) => shown.get(call) !== hash;
    const cut = [...this.#shown].some(isGone);
    this.#shown = shown;
    if (!cut) return;
    const session = gatedSession(this.#session);
    await session.compacted();
    await session.resumeFrom(messages, { format: this.#format });
  }
}

function digest(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('base64');
}
