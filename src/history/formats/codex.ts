import {
  integerIn,
  isRecord,
  type JsonRecord,
  objectIn,
  objectsIn,
  stringIn,
  timeIn,
} from '../../model/record.ts';
import { changeView, type FileChange } from '../edit-view.ts';
import type { Fold } from '../fold.ts';
import type { Format } from '../format.ts';
import { enterDirectory } from '../paths.ts';
import { readItem } from './openai-agents.ts';

const TYPES = new Set([
  'session_meta',
  'turn_context',
  'response_item',
  'event_msg',
  'compacted',
  'world_state',
]);
/** Maximum number of turns that a rollback can remove; a larger rollback forgets everything. */
const MAX_TURNS = 256;

/**
 * Transcripts of Codex, which it calls rollouts. Codex has no read tool: reads are shell commands,
 * and count only if they certainly show a file.
 */
export const CODEX: Format = {
  name: 'codex',
  claim: (record) =>
    TYPES.has(stringIn(record, 'type') ?? '') && isRecord(record['payload']) ? 'sure' : 'no',
  open: (fold) => {
    const state: CodexState = { turns: [] };
    return (record) => read(record, fold, state);
  },
};

interface CodexState {
  cwd?: string | undefined;
  /** Positions of the records with which the latest turns began, oldest first. */
  turns: readonly number[];
}

function read(record: JsonRecord, fold: Fold, state: CodexState): void {
  fold.place += 1;
  const payload = objectIn(record, 'payload');
  if (payload === undefined) return;
  const { cwd } = state;
  const atMs = timeIn(record, 'timestamp');
  switch (record['type']) {
    case 'session_meta':
    case 'turn_context':
      state.cwd = enterDirectory(cwd, stringIn(payload, 'cwd'));
      return;
    case 'response_item':
      readItem(fold, payload, { cwd, atMs });
      return;
    case 'event_msg':
      readEvent(payload, atMs, { fold, state });
      return;
    case 'compacted':
      fold.compact();
      for (const item of objectsIn(payload, 'replacement_history')) readItem(fold, item, { cwd });
      return;
    default:
  }
}

function readEvent(
  payload: JsonRecord,
  atMs: number | undefined,
  { fold, state }: { readonly fold: Fold; readonly state: CodexState },
): void {
  const item = objectIn(payload, 'item');
  switch (payload['type']) {
    case 'task_started':
      state.turns = [...state.turns.slice(1 - MAX_TURNS), fold.place];
      return;
    case 'thread_rolled_back': {
      const count = integerIn(payload, 'num_turns') ?? Number.POSITIVE_INFINITY;
      if (count < 1) return;
      fold.forgetFrom(state.turns.at(-count) ?? 0);
      state.turns = state.turns.slice(0, -count);
      return;
    }
    case 'item_completed':
      if (item?.['type'] === 'FileChange') readChange(fold, item, atMs);
      return;
    default:
  }
}

/**
 * Reads the record of an applied patch. The record has line numbers; the patch in the tool call
 * has only context lines.
 */
function readChange(fold: Fold, item: JsonRecord, atMs: number | undefined): void {
  const id = stringIn(item, 'id');
  if (id === undefined) return;
  const views = Object.entries(objectIn(item, 'changes') ?? {}).flatMap(([path, change]) =>
    isRecord(change) ? changesOf(path, change).map(changeView) : [],
  );
  fold.result({ id, ok: item['status'] === 'completed', flagged: true, views, atMs });
}

function changesOf(path: string, change: JsonRecord): FileChange[] {
  const content = stringIn(change, 'content');
  if (change['type'] === 'add' && content !== undefined) return [{ kind: 'added', path, content }];
  const diff = stringIn(change, 'unified_diff');
  const moved = stringIn(change, 'move_path');
  return diff === undefined ? [] : [{ kind: 'updated', path: moved ?? path, diff }];
}
