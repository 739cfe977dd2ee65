import { type JsonRecord, objectIn, objectsIn, stringIn, textOf, timeIn } from '../../model/record.ts';
import type { Fold } from '../fold.ts';
import type { Format, Reader } from '../format.ts';

const TYPES = new Set(['TOOL_CALL', 'TOOL_RESULT', 'COMPACTION', 'USER_MESSAGE', 'AGENT_MESSAGE']);
/** Maximum depth of compactions inside compactions. The events of a deeper compaction are ignored. */
const MAX_DEPTH = 4;

/**
 * Transcripts that consist of events, as in the system that the preset `thread-history` copies.
 * `TOOL_CALL` and `TOOL_RESULT` share an id; `COMPACTION` contains the events that it kept.
 */
export const THREAD_EVENTS: Format = {
  name: 'thread-events',
  claim: (record) => (TYPES.has(stringIn(record, 'type') ?? '') && 'data' in record ? 'sure' : 'no'),
  open: (fold) => new ThreadReader(fold),
};

class ThreadReader implements Reader {
  readonly #fold: Fold;

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  read(event: JsonRecord): void {
    this.#read(event, 0);
  }

  state(): unknown {
    return null;
  }

  restore(): void {}

  #read(event: JsonRecord, depth: number): void {
    this.#fold.place += 1;
    const data = objectIn(event, 'data');
    // Skip events that a compaction replaced. They stay in the transcript, marked as invisible to
    // the model.
    if (data === undefined || event['visibleToModel'] === false) return;
    switch (event['type']) {
      case 'TOOL_CALL':
        this.#call(event, data);
        return;
      case 'TOOL_RESULT':
        this.#result(event, data);
        return;
      case 'COMPACTION':
        this.#compaction(data, depth);
        return;
      default:
    }
  }

  #call(event: JsonRecord, data: JsonRecord): void {
    const id = stringIn(data, 'id');
    const name = stringIn(data, 'name');
    if (id === undefined || name === undefined) return;
    const cwd = stringIn(data, 'workingDirectory');
    this.#fold.call({ id, name, args: data['arguments'], cwd, atMs: timeIn(event, 'timestamp') });
  }

  #result(event: JsonRecord, data: JsonRecord): void {
    const id = stringIn(data, 'id');
    if (id === undefined) return;
    const status = stringIn(data, 'status') ?? 'completed';
    const ok = data['isError'] !== true && status === 'completed';
    const text = textOf(data['content']);
    this.#fold.result({ id, ok, flagged: true, text, atMs: timeIn(event, 'timestamp') });
  }

  /**
   * Forgets everything seen so far, then reads the kept events, which the compaction contains.
   */
  #compaction(data: JsonRecord, depth: number): void {
    this.#fold.compact();
    if (depth >= MAX_DEPTH) return;
    for (const event of objectsIn(data, 'compactedEvents')) this.#read(event, depth + 1);
  }
}
