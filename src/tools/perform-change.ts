import type { Call } from '../dialect/tool.ts';
import { applyOutcome, undoOutcome } from '../report/json.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { type Audience, type Performed, rendered } from './tool-answer.ts';

/** A call that may change files. */
export type ChangeCall = Extract<
  Call,
  { kind: 'write' | 'edit' | 'insert' | 'apply' | 'patch' | 'delete' | 'move' | 'mkdir' | 'undo' }
>;

/**
 * Performs a change and renders its result. Once the first file is touched, a change cannot be
 * cancelled: it finishes and is recorded in the journal.
 */
export async function performChange(
  call: ChangeCall,
  session: GatedSession,
  performing: Audience & { readonly watch: { readonly signal?: AbortSignal | undefined } },
): Promise<Performed> {
  const audience: Audience = performing;
  const { signal } = performing.watch;
  switch (call.kind) {
    case 'write': {
      const { path, content, ...options } = call.operation;
      return rendered(await session.write(path, content, { ...options, signal }), audience, {
        render: call.render,
      });
    }
    case 'edit': {
      const { path, edits, ...options } = call.operation;
      return rendered(await session.edit(path, edits, { ...options, signal }), audience, {
        render: call.render,
      });
    }
    case 'insert': {
      const { path, content, ...options } = call.operation;
      return rendered(await session.insert(path, content, { ...options, signal }), audience, {
        render: call.render,
      });
    }
    case 'apply': {
      const { changes, dryRun, unread } = call.operation;
      const outcome = await (unread === 'show'
        ? session.preview(changes, { signal })
        : session.apply(changes, { dryRun, signal }));
      return rendered(outcome, audience, { render: call.render, summary: applyOutcome });
    }
    case 'patch':
      return rendered(await session.patch(call.operation, { names: audience.names, signal }), audience, {
        render: call.render,
        summary: applyOutcome,
      });
    case 'delete': {
      const { path, ...options } = call.operation;
      return rendered(await session.delete(path, { ...options, signal }), audience, { render: call.render });
    }
    case 'move': {
      const { source, destination, ...options } = call.operation;
      return rendered(await session.move(source, destination, { ...options, signal }), audience, {
        render: call.render,
      });
    }
    case 'mkdir':
      return rendered(await session.mkdir(call.operation.path, { signal }), audience, {
        render: call.render,
      });
    case 'undo':
      return rendered(await session.undo(call.operation, { signal }), audience, {
        render: call.render,
        summary: undoOutcome,
      });
    default:
      return call satisfies never;
  }
}
