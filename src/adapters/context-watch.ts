import { createHash } from 'node:crypto';
import { isRecord, type JsonRecord, objectsIn, stringIn } from '../model/record.ts';
import type { ResumeOptions } from '../model/transcript.ts';
import { gatedSession, type SessionSource } from '../tools/toolset.ts';

/**
 * A tool result in the messages that the model is about to get: the id of its call, and its
 * content.
 */
export type ShownResult = readonly [call: string, shown: unknown];

/**
 * Compares the tool results in the model's messages with those of the session's previous request.
 * If a result was removed or changed, only the results in the current messages count as seen. At
 * the first request after a session was resumed, contents that were seen before count only if the
 * current messages contain them.
 */
export class ContextWatch {
  readonly #session: SessionSource;
  readonly #format: NonNullable<ResumeOptions['format']>;

  constructor(session: SessionSource, format: NonNullable<ResumeOptions['format']>) {
    this.#session = session;
    this.#format = format;
  }

  /** Call this before the model gets `messages`, and before any tool call in its answer. */
  async look(messages: readonly unknown[], results: Iterable<ShownResult>): Promise<void> {
    const session = gatedSession(this.#session);
    const shown = new Map<string, string>();
    for (const [call, result] of results) shown.set(call, digest(result));
    const { modelContext } = session;
    const before = modelContext.results;
    const isCut =
      before === undefined
        ? await modelContext.forgetPast()
        : [...before].some(([call, hash]) => shown.get(call) !== hash);
    if (isCut && before !== undefined) await session.compacted();
    if (isCut) await session.resumeFrom(messages, { format: this.#format });
    // Store the results only after `resumeFrom` has succeeded. If it fails, the next call must find
    // the same results missing.
    modelContext.results = shown;
  }
}

/** A tool call as a message of the Anthropic API. */
export function toolCallMessage(id: string, name: string, input: unknown): JsonRecord {
  return { role: 'assistant', content: [{ type: 'tool_use', id, name, input }] };
}

/** A tool result as a message of the Anthropic API. */
export function toolResultMessage(
  call: string,
  result: { readonly content: unknown; readonly is_error: boolean },
): JsonRecord {
  return { role: 'user', content: [{ type: 'tool_result', tool_use_id: call, ...result }] };
}

/** The tool results in messages of the Anthropic API. */
export function* resultsIn(messages: readonly unknown[]): Generator<ShownResult> {
  for (const message of messages) {
    if (!isRecord(message)) continue;
    for (const block of objectsIn(message, 'content')) {
      const call = stringIn(block, 'tool_use_id');
      if (call !== undefined && block['type'] === 'tool_result') yield [call, block['content']];
    }
  }
}

function digest(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('base64');
}
