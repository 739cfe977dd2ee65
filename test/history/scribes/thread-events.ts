import { Calls, editOf, ownText, type Scribe, type ScribeKind } from '../scribe.ts';
import type { CallStep, ResultStep, Step } from '../step.ts';

/** Writes a history as the events of a thread: `TOOL_CALL`, `TOOL_RESULT` and others. */
export const THREAD_EVENTS: ScribeKind = {
  format: 'thread-events',
  name: 'thread-events',
  open: () => new ThreadScribe(),
};

type EventData = { readonly id: string; readonly [key: string]: unknown };

class ThreadScribe implements Scribe {
  readonly #calls = new Calls();
  readonly #events: { readonly type: string; readonly data: EventData }[] = [];
  #directory: string | undefined;

  write(step: Step): readonly object[] | undefined {
    switch (step.do) {
      case 'call':
        this.#calls.note(step);
        return [this.#event('TOOL_CALL', this.#call(step))];
      case 'result':
        return [this.#event('TOOL_RESULT', this.#result(step))];
      case 'compact': {
        const keep = step.keep ?? [];
        const compactedEvents = this.#events.filter((event) => keep.includes(event.data.id));
        return [{ type: 'COMPACTION', data: { strategyId: 'summarize', compactedEvents } }];
      }
      case 'enter':
        this.#directory = step.directory;
        return [];
      default:
        return undefined;
    }
  }

  #event(type: string, data: EventData): object {
    const event = { type, timestamp: '2026-01-02T03:04:05.678Z', data };
    this.#events.push(event);
    return event;
  }

  #call(call: CallStep): EventData {
    const place = this.#directory === undefined ? {} : { workingDirectory: this.#directory };
    return { id: call.id, ...toolOf(call), ...place };
  }

  #result(step: ResultStep): EventData {
    const { id, is = 'ok' } = step;
    const status = { ok: 'completed', blank: 'completed', error: 'failed', denied: 'denied' }[is];
    const text = ownText(this.#calls, step, 6);
    const content = [{ type: 'text', text }];
    return { id, content, status, ...(is === 'error' ? { isError: true } : {}) };
  }
}

function toolOf(call: CallStep): { readonly name: string; readonly arguments: object } {
  switch (call.tool) {
    case 'read': {
      const [startLine, endLine] = call.lines ?? [];
      const paged = startLine === undefined ? {} : { startLine, endLine };
      return { name: 'file_read', arguments: { path: call.path, ...paged } };
    }
    case 'write':
      return { name: 'file_write', arguments: { path: call.path, content: call.content } };
    case 'edit':
      return { name: 'file_edit', arguments: { path: call.path, edits: [editOf(call.path)] } };
    case 'shell':
      return { name: 'bash', arguments: { command: call.command } };
    default:
      return call satisfies never;
  }
}
