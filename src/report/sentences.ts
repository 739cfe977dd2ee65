import type { FileKind } from '../model/path.ts';
import type { Action, Refusal, RefusalCode, RefusalOf } from '../model/verdict.ts';
import { byteSize } from './amounts.ts';
import { pathText, phrase } from './bounded.ts';

/**
 * The first sentence of a refusal: what was refused, why, and the code. `refusing to overwrite a.txt: read it
 * first [NOT_READ]`
 */
export function firstSentence(refusal: Refusal): string {
  return `refusing to ${what(refusal)}: ${why(refusal)} [${refusal.code}]`;
}

/**
 * Names the refused operation. The path is empty if the operation concerns no single file, as with
 * an undo, a rewind, a command or an unreadable patch.
 */
function what(refusal: Refusal): string {
  const { action, path } = refusal;
  if (action === 'run') return command(refusal);
  const source = sourceOf(refusal);
  if (action === 'move' && source !== undefined) return `move ${source}to ${pathText(path)}`;
  if (refusal.code === 'INVALID_ARGUMENT' && refusal.detail?.cause === 'patch') return 'apply the patch';
  if (refusal.code === 'NOT_FOUND' && refusal.detail?.cause === 'turn') return 'rewind';
  return action === 'undo' && path === '' ? 'undo' : `${VERBS[action]} ${pathText(path)}`.trimEnd();
}

/**
 * Names a refused command. The path is the folder where the command starts, a file that it may
 * change, the tool that runs it, or a command of Lookfirst itself.
 */
function command(refusal: Refusal): string {
  const { path, code } = refusal;
  const cause = code === 'PROTECTED' ? refusal.detail?.cause : undefined;
  if (path === '' || code === 'NO_SANDBOX' || cause === 'tampering') return 'run the command';
  const isNamed = code === 'INVALID_ARGUMENT' || cause === 'own-command';
  return isNamed ? `run ${pathText(path)}` : `run the command in ${pathText(path)}`;
}

/** The source of a refused move, if the refusal's path is its destination. Empty if it is not known. */
function sourceOf({ code, detail }: Refusal): string | undefined {
  const source = detail !== undefined && 'source' in detail ? detail.source : undefined;
  if (source === undefined) return code === 'ALREADY_EXISTS' ? '' : undefined;
  return `${pathText(source)} `;
}

/** The words for each action; a path follows them. */
export const VERBS: Readonly<Record<Action, string>> = {
  read: 'read',
  list: 'list',
  search: 'search',
  status: 'show the status of',
  create: 'create',
  overwrite: 'overwrite',
  edit: 'edit',
  insert: 'insert into',
  delete: 'delete',
  move: 'move',
  mkdir: 'make the folder',
  undo: 'undo changes to',
  settle: 'settle',
  call: 'run',
  run: 'run',
  commit: 'commit what the command did to',
};

const KINDS: Readonly<Record<FileKind, string>> = {
  file: 'a file',
  directory: 'a directory',
  link: 'a symbolic link',
  fifo: 'a FIFO',
  socket: 'a socket',
  device: 'a device',
};

type ByCode<T> = { readonly [C in RefusalCode]: (refusal: RefusalOf<C>) => T };

function why<C extends RefusalCode>(refusal: RefusalOf<C>): string {
  return REASONS[refusal.code](refusal);
}

const REASONS: ByCode<string> = {
  OUTSIDE_WORKSPACE: ({ detail }) => phrase(detail?.reason ?? 'it is outside the workspace'),
  PROTECTED: ({ action, detail }) => {
    if (action === 'run' && detail?.reason !== undefined) return phrase(detail.reason);
    if (detail?.cause === 'root') return 'it is the workspace itself';
    if (detail?.cause === 'declined') return 'the user declined this change';
    if (detail?.cause === 'approval') return "a change of it needs the user's approval";
    return detail?.kind === 'directory' ? 'something in it is protected' : 'it is protected';
  },
  READ_ONLY: ({ detail }) => {
    if (detail?.cause === 'session') return 'this session is read-only';
    if (detail?.cause === 'root') return 'its folder is read-only here';
    return detail?.kind === 'directory' ? phrase(detail.reason ?? '') : 'the file is read-only';
  },
  NOT_FOUND: ({ detail }) => phrase(detail?.reason ?? 'there is nothing at that path'),
  NOT_A_FILE: ({ detail }) => {
    if (detail?.reason !== undefined) return phrase(detail.reason);
    return `it is ${detail?.kind === undefined ? 'not a file' : KINDS[detail.kind]}`;
  },
  NOT_READ: ({ next }) => (next === 'list' ? 'list it first' : 'read it first'),
  PARTIALLY_READ: ({ detail }) =>
    detail?.reason === 'clamped' ? 'some of its lines were shown only in part' : 'only part of it was read',
  READ_EXPIRED: () => 'it was read too long ago',
  STALE: ({ detail, next }) => {
    if (detail?.cause === 'repeated')
      return 'the same content was refused before, because the file had changed';
    if (detail?.reason !== undefined) return phrase(detail.reason);
    return next === 'list' ? 'its entries changed since it was listed' : 'it changed since it was read';
  },
  DELETED: ({ detail }) => {
    if (detail?.cause === 'by this session') return 'this session deleted it';
    if (detail?.reason !== undefined) return phrase(detail.reason);
    return `it was deleted since it was ${detail?.kind === 'directory' ? 'listed' : 'read'}`;
  },
  ALREADY_EXISTS: ({ detail }) =>
    `${detail?.kind === undefined ? 'something' : KINDS[detail.kind]} is already there`,
  REVISION_MISMATCH: () => 'it is not at the expected revision',
  NO_MATCH: ({ action, detail }) =>
    action === 'delete'
      ? 'the removed lines are not all of its lines'
      : `${toReplace(detail?.index)} is not in it`,
  AMBIGUOUS_MATCH: ({ detail }) =>
    `${toReplace(detail?.index)} is in it ${detail?.count === undefined ? 'more than once' : `${detail.count} times`}`,
  NOT_TEXT: () => 'it is not text',
  TOO_LARGE: ({ next, detail }) =>
    next === 'use_edit'
      ? 'the result would be too large'
      : `it is too large${sizes(detail?.sizeBytes, detail?.limitBytes)}`,
  PLACEHOLDER_CONTENT: ({ detail }) => {
    if (detail?.cause === 'line-numbers') return 'its new lines begin with the line numbers of a read';
    return detail?.cause === 'mask'
      ? MASKED
      : 'the new text contains a placeholder instead of the real lines';
  },
  REDACTED_READ: ({ detail }) => {
    if (detail?.cause === 'mask') return MASKED;
    return detail?.reason === undefined
      ? 'some of its values were masked when it was read'
      : 'reads mask some of its values';
  },
  UNVERIFIABLE: ({ action, detail }) => {
    const cause = action === 'commit' ? (detail?.reason ?? detail?.errno) : detail?.errno;
    return `it could not be checked${cause === undefined ? '' : ` (${phrase(cause)})`}`;
  },
  BUSY: ({ path, detail }) =>
    detail?.writer === undefined
      ? `another writer is changing ${path === '' ? 'the same files' : 'it'} right now`
      : 'another session is working on it',
  NO_SANDBOX: ({ detail }) => phrase(detail?.reason ?? '') || 'there is no sandbox for it here',
  COMMAND_CONFLICT: ({ detail }) => phrase(detail?.reason ?? '') || 'it changed while the command ran',
  WOULD_DESTROY: ({ detail }) => {
    const count = detail?.atRisk?.length ?? 0;
    const things = count === 1 ? 'something that exists' : `${count || 'some'} things that exist`;
    return phrase(detail?.reason ?? '') || `it would destroy ${things} nowhere else`;
  },
  INVALID_ARGUMENT: ({ detail }) => phrase(detail?.reason ?? '') || 'an argument is not valid',
};

const MASKED = 'the new text contains a mask instead of the real value';

/**
 * The words for the text that an edit replaces. From the second edit of a call on, they contain its
 * number.
 */
function toReplace(index = 0): string {
  return index === 0 ? 'the text to replace' : `the text that edit ${index + 1} is to replace`;
}

function sizes(size: number | undefined, limit: number | undefined): string {
  if (size === undefined) return '';
  return ` (${byteSize(size)}${limit === undefined ? '' : `, limit ${byteSize(limit)}`})`;
}
