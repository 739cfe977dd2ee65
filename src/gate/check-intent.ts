import { isRecord } from '../model/record.ts';
import type { Action, Refusal } from '../model/verdict.ts';

/** What a refusal of a kind of change says was tried. */
const ACTIONS: Readonly<Record<string, Action>> = {
  write: 'overwrite',
  edit: 'edit',
  insert: 'insert',
  delete: 'delete',
  move: 'move',
  mkdir: 'mkdir',
};

/**
 * Why this is no intent that could be judged; undefined for one that is. A program without types may hand over anything,
 * and what is not checked here would fail half way. Paths are checked where they are resolved.
 */
export function whyNoIntent(intent: unknown): Refusal | undefined {
  if (!isRecord(intent)) return invalid(intent, 'a change must be an object');
  if (intent['kind'] !== 'apply') return whyNoChange(intent);
  const { changes } = intent;
  if (!Array.isArray(changes)) return invalid(intent, 'changes must be an array');
  if (!isFlag(intent['dryRun'])) return invalid(intent, 'dryRun must be true or false');
  for (const [index, change] of changes.entries()) {
    const refusal = whyNoChange(change);
    if (refusal !== undefined) return { ...refusal, detail: { ...refusal.detail, index } };
  }
  return undefined;
}

function whyNoChange(change: unknown): Refusal | undefined {
  if (!isRecord(change)) return invalid(change, 'a change must be an object');
  const reason = whyInvalid(change);
  return reason === undefined ? undefined : invalid(change, reason);
}

function whyInvalid(change: Readonly<Record<string, unknown>>): string | undefined {
  switch (change['kind']) {
    case 'write':
      return isContent(change['content']) ? undefined : 'content must be a string or a Uint8Array';
    case 'edit':
      return whyNoEdits(change['edits']);
    case 'insert':
      return typeof change['content'] === 'string' ? undefined : 'content must be a string';
    case 'delete':
      return isFlag(change['recursive']) ? undefined : 'recursive must be true or false';
    case 'move':
    case 'mkdir':
      return undefined;
    default:
      return `kind must be one of ${Object.keys(ACTIONS).join(', ')}`;
  }
}

function whyNoEdits(edits: unknown): string | undefined {
  if (!Array.isArray(edits)) return 'edits must be an array';
  for (const edit of edits) {
    if (!isRecord(edit)) return 'an edit must be an object';
    if (typeof edit['oldString'] !== 'string' || typeof edit['newString'] !== 'string')
      return 'oldString and newString of an edit must be strings';
    if (!isFlag(edit['replaceAll'])) return 'replaceAll must be true or false';
  }
  return undefined;
}

export function isContent(value: unknown): value is string | Uint8Array {
  return typeof value === 'string' || value instanceof Uint8Array;
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean';
}

function invalid(change: unknown, reason: string): Refusal {
  const { kind, path, source } = isRecord(change) ? change : {};
  const given = path ?? source;
  return {
    code: 'INVALID_ARGUMENT',
    action: (typeof kind === 'string' && Object.hasOwn(ACTIONS, kind) ? ACTIONS[kind] : undefined) ?? 'edit',
    path: typeof given === 'string' ? given : '',
    next: 'fix_argument',
    detail: { reason },
  };
}
