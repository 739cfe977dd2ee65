import { type JsonRecord, objectIn, objectsIn, stringIn, textOf, timeIn } from '../../model/record.ts';
import type { Fold } from '../fold.ts';
import type { Format } from '../format.ts';

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
  open: (fold) => (event) => readEvent(event, fold, 0),
};

function readEvent(event: JsonRecord, fold: Fold, depth: number): void {
  fold.place += 1;
  const data = objectIn(event, 'data');
  // Skip events that a compaction replaced. They stay in the transcript, marked as invisible to the
  // model.
  if (data === undefined || event['visibleToModel'] === false) return;
  const id = stringIn(data, 'id');
  const atMs = timeIn(event, 'timestamp');
  switch (event['type']) {
    case 'TOOL_CALL': {
      const name = stringIn(data, 'name');
      const cwd = stringIn(data, 'workingDirectory');
      if (id !== undefined && name !== undefined) fold.call({ id, name, args: data['arguments'], cwd, atMs });
      return;
    }
    case 'TOOL_RESULT': {
      const ok = data['isError'] !== true && (stringIn(data, 'status') ?? 'completed') === 'completed';
      if (id !== undefined) fold.result({ id, ok, flagged: true, text: textOf(data['content']), atMs });
      return;
    }
    case 'COMPACTION':
      fold.compact();
      if (depth < MAX_DEPTH)
        for (const kept of objectsIn(data, 'compactedEvents')) readEvent(kept, fold, depth + 1);
      return;
    default:
  }
}
