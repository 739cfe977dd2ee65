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
import type { Format, Reader } from '../format.ts';
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
  open: (fold) => new CodexReader(fold),
};

interface CodexState {
  readonly cwd: string | null;
  readonly turns: readonly number[];
}

class CodexReader implements Reader {
  readonly #fold: Fold;
  #cwd: string | undefined;
  /** Positions of the records with which the latest turns began, oldest first. */
  #turns: number[] = [];

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  read(record: JsonRecord): void {
    this.#fold.place += 1;
    const payload = objectIn(record, 'payload');
    if (payload === undefined) return;
    const atMs = timeIn(record, 'timestamp');
    switch (record['type']) {
      case 'session_meta':
      case 'turn_context':
        this.#cwd = enterDirectory(this.#cwd, stringIn(payload, 'cwd'));
        return;
      case 'response_item':
        readItem(this.#fold, payload, { cwd: this.#cwd, atMs });
        return;
      case 'event_msg':
        this.#event(payload, atMs);
        return;
      case 'compacted':
        this.#compacted(payload);
        return;
      default:
    }
  }

  state(): unknown {
    const state: CodexState = { cwd: this.#cwd ?? null, turns: [...this.#turns] };
    return state;
  }

  restore(state: unknown): void {
    // The cast is safe: Lookfirst wrote this snapshot itself, and its version was checked on
    // opening.
    const { cwd, turns } = state as CodexState;
    this.#cwd = cwd ?? undefined;
    this.#turns = [...turns];
  }

  #event(payload: JsonRecord, atMs: number | undefined): void {
    switch (payload['type']) {
      case 'task_started':
        this.#turns = [...this.#turns.slice(1 - MAX_TURNS), this.#fold.place];
        return;
      case 'thread_rolled_back':
        this.#rolledBack(integerIn(payload, 'num_turns') ?? Number.POSITIVE_INFINITY);
        return;
      case 'item_completed': {
        const item = objectIn(payload, 'item');
        if (item?.['type'] === 'FileChange') this.#changed(item, atMs);
        return;
      }
      default:
    }
  }

  /**
   * Reads the record of an applied patch. The record has line numbers; the patch in the tool call
   * has only context lines.
   */
  #changed(item: JsonRecord, atMs: number | undefined): void {
    const id = stringIn(item, 'id');
    if (id === undefined) return;
    const views = Object.entries(objectIn(item, 'changes') ?? {}).flatMap(([path, change]) =>
      isRecord(change) ? changesOf(path, change).map(changeView) : [],
    );
    this.#fold.result({ id, ok: item['status'] === 'completed', flagged: true, views, atMs });
  }

  #compacted(payload: JsonRecord): void {
    this.#fold.compact();
    for (const item of objectsIn(payload, 'replacement_history'))
      readItem(this.#fold, item, { cwd: this.#cwd });
  }

  #rolledBack(turns: number): void {
    if (turns < 1) return;
    const start = this.#turns.at(-turns);
    this.#turns = start === undefined ? [] : this.#turns.slice(0, -turns);
    this.#fold.forgetFrom(start ?? 0);
  }
}

function changesOf(path: string, change: JsonRecord): FileChange[] {
  const content = stringIn(change, 'content');
  if (change['type'] === 'add' && content !== undefined) return [{ kind: 'added', path, content }];
  const diff = stringIn(change, 'unified_diff');
  const moved = stringIn(change, 'move_path');
  return diff === undefined ? [] : [{ kind: 'updated', path: moved ?? path, diff }];
}
