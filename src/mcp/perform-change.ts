import type { Call } from '../dialect/tool.ts';
import type { Words } from '../dialect/words.ts';
import type { Session } from '../model/session.ts';
import { applyOutcome } from '../report/json.ts';
import { type Answer, answerOf } from './tool-results.ts';

/** A call that may change files. */
export type ChangeCall = Extract<
  Call,
  { kind: 'write' | 'edit' | 'insert' | 'apply' | 'delete' | 'move' | 'mkdir' | 'undo' }
>;

/**
 * Makes a change and tells it. A change is not cancelled half-way: once the gate has begun it finishes, and the journal
 * knows of it.
 */
export async function performChange(call: ChangeCall, session: Session, words: Words): Promise<Answer> {
  switch (call.kind) {
    case 'write': {
      const { path, content, ...options } = call.operation;
      return answerOf(await session.write(path, content, options), { words, render: call.render });
    }
    case 'edit': {
      const { path, edits, ...options } = call.operation;
      return answerOf(await session.edit(path, edits, options), { words, render: call.render });
    }
    case 'insert': {
      const { path, content, ...options } = call.operation;
      return answerOf(await session.insert(path, content, options), { words, render: call.render });
    }
    case 'apply': {
      const { changes, dryRun } = call.operation;
      const outcome = await session.apply(changes, { dryRun });
      return answerOf(outcome, { words, render: call.render, summary: applyOutcome });
    }
    case 'delete': {
      const { path, ...options } = call.operation;
      return answerOf(await session.delete(path, options), { words, render: call.render });
    }
    case 'move': {
      const { source, destination, ...options } = call.operation;
      return answerOf(await session.move(source, destination, options), { words, render: call.render });
    }
    case 'mkdir':
      return answerOf(await session.mkdir(call.operation.path), { words, render: call.render });
    case 'undo':
      return answerOf(await session.undo(call.operation), { words, render: call.render });
    default:
      return call satisfies never;
  }
}
