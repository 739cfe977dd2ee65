import { createHash } from 'node:crypto';
import type { Session } from '../model/session.ts';
import type { ResumeOptions } from '../model/transcript.ts';
import { gatedSession } from '../tools/toolset.ts';

/**
 * A tool result in the messages that the model is about to get: the id of its call, and its
 * content.
 */
export type ShownResult = readonly [call: string, shown: unknown];

/** Maximum number of sessions whose previous request is remembered. */
const MAX_SESSIONS = 1000;

/**
 * Compares the tool results in the model's messages with those of the session's previous request.
 * If a result was removed or changed, only the results in the current messages count as seen.
 */
export class ContextWatch {
  readonly #session: Session | (() => Session);
  readonly #format: NonNullable<ResumeOptions['format']>;
  /** The results in the previous request of each session, by its id, ordered by last use. */
  readonly #shown = new Map<string, ReadonlyMap<string, string>>();

  constructor(session: Session | (() => Session), format: NonNullable<ResumeOptions['format']>) {
    this.#session = session;
    this.#format = format;
  }

  /** Call this before the model gets `messages`, and before any tool call in its answer. */
  async look(messages: readonly unknown[], results: Iterable<ShownResult>): Promise<void> {
    const session = gatedSession(this.#session);
    const shown = new Map<string, string>();
    for (const [call, result] of results) shown.set(call, digest(result));
    const before = this.#shown.get(session.id) ?? new Map<string, string>();
    if ([...before].some(([call, hash]) => shown.get(call) !== hash)) {
      await session.compacted();
      await session.resumeFrom(messages, { format: this.#format });
    }
    // Only now: after an error, the next call must find the same results missing.
    this.#shown.delete(session.id);
    this.#shown.set(session.id, shown);
    const [oldest] = this.#shown.keys();
    if (this.#shown.size > MAX_SESSIONS && oldest !== undefined) this.#shown.delete(oldest);
  }
}

function digest(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('base64');
}
