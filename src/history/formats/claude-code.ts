import type { RecordedPage } from '../../dialect/calls/answer.ts';
import { claudePage } from '../../dialect/calls/hosts/answers.ts';
import { pageShown } from '../../dialect/calls/shown/delivered.ts';
import { isRecord, type JsonRecord, objectIn, objectsIn, stringIn, timeIn } from '../../model/record.ts';
import { lineCount } from '../../text/lines.ts';
import { changeView } from '../edit-view.ts';
import type { Fold } from '../fold.ts';
import type { Format } from '../format.ts';
import { shownView } from '../history-sighting.ts';
import {
  type Edited,
  type EditedSpan,
  editedBetween,
  type RecordedResult,
  replacedIn,
  textAfter,
} from '../tool-result.ts';
import { type BlockPlace, blocksOf, callBlock, isCall, isResult, resultOf } from './anthropic-messages.ts';
import {
  beginAnew,
  emptyChain,
  isInChain,
  knows,
  type LinkKind,
  link,
  type RecordChain,
} from './record-chain.ts';

/**
 * Types of records that have no uuid. A record with such a type and a `sessionId` shows that the
 * transcript is one of Claude Code.
 */
const OTHER_TYPES = new Set(['queue-operation', 'last-prompt', 'file-history-snapshot', 'summary', 'mode']);

/**
 * Transcripts of Claude Code, of the main conversation or of one sub-agent. Records form a tree by `parentUuid`. The
 * conversation is the path from the last record back to the beginning or the last `compact_boundary`.
 */
export const CLAUDE_CODE: Format = {
  name: 'claude-code',
  claim(record) {
    if ('parentUuid' in record && typeof record['uuid'] === 'string') return 'sure';
    const type = stringIn(record, 'type') ?? '';
    return typeof record['sessionId'] === 'string' &&
      (OTHER_TYPES.has(type) || type.startsWith('api-request'))
      ? 'sure'
      : 'no';
  },
  open: (fold) => {
    const state: ClaudeState = { chain: emptyChain() };
    fold.sees = ({ place }) => isInChain(state.chain, place);
    return (record) => read(record, fold, state);
  },
};

interface ClaudeState {
  readonly chain: RecordChain;
  /** True for the transcript of a sub-agent. Undefined until the first record is read. */
  side?: boolean;
  /** Uuid of the last compaction record. */
  boundary?: string;
}

function read(record: JsonRecord, fold: Fold, state: ClaudeState): void {
  if (record['type'] === 'content-replacement') {
    // The host moved the results of these calls to files and left only notes in the conversation.
    fold.forgetCalls(objectsIn(record, 'replacements').flatMap((one) => stringIn(one, 'toolUseId') ?? []));
    return;
  }
  const uuid = stringIn(record, 'uuid');
  if (uuid === undefined) return;
  // The main transcript also contains records of sub-agents, which are read from the transcripts of
  // the sub-agents instead.
  state.side ??= record['isSidechain'] === true;
  if (state.side !== (record['isSidechain'] === true)) return;
  if (record['subtype'] === 'compact_boundary') {
    compacted(record, uuid, { fold, state });
    return;
  }
  if (knows(state.chain, uuid)) return;
  // The model does not see the progress records of tools and sub-agents.
  const blocks = record['type'] === 'progress' ? [] : blocksOf(objectIn(record, 'message') ?? {});
  linkRecord(record, kindOf(record, blocks), { fold, state });
  const atMs = timeIn(record, 'timestamp');
  const place = { atMs, message: uuid };
  if (record['type'] === 'attachment') attached(fold, record, place);
  for (const block of blocks) {
    // Calls get no message id. Only results need one: a compaction names the messages that it
    // keeps, and with them their results.
    if (isCall(block)) callBlock(fold, block, { atMs, cwd: stringIn(record, 'cwd') });
    else if (isResult(block)) resultBlock(fold, block, { record, place });
  }
}

/** The fold and the state of the transcript that is read. */
interface Reading {
  readonly fold: Fold;
  readonly state: ClaudeState;
}

function linkRecord(record: JsonRecord, kind: LinkKind, { fold, state }: Reading): void {
  const { chain, boundary } = state;
  const parent = stringIn(record, 'parentUuid');
  // After an unknown parent, the records so far may belong to another conversation.
  const isAdrift = kind !== 'aside' && parent !== undefined && !knows(chain, parent);
  fold.place = link(chain, parent, kind, stringIn(record, 'uuid') ?? '');
  // A summary without a `compact_boundary` record before it is a compaction, too.
  if (isAdrift || (record['isCompactSummary'] === true && parent !== boundary)) fold.compact();
}

function compacted(record: JsonRecord, uuid: string, { fold, state }: Reading): void {
  const preserved = preservedIn(objectIn(record, 'compactMetadata') ?? {});
  state.boundary = uuid;
  fold.place = beginAnew(state.chain, uuid, preserved);
  fold.compact((entry) => entry.message !== undefined && preserved.has(entry.message));
}

function resultBlock(
  fold: Fold,
  block: JsonRecord,
  { record, place }: { readonly record: JsonRecord; readonly place: BlockPlace },
): void {
  const result = resultOf(block, place);
  if (result === undefined) return;
  const { failed, ended, ...detail } = claudeDetail(record['toolUseResult'], result.text);
  const ok = result.ok && !failed;
  fold.result({
    ...result,
    ...detail,
    ok,
    ended: ended === undefined ? undefined : result.ok && ended,
    countsEmptyEnd: true,
  });
}

/**
 * Adds files that the host itself showed to the model: files that the user named, and files shown
 * again after a compaction.
 */
function attached(fold: Fold, record: JsonRecord, { atMs, message = '' }: BlockPlace): void {
  const attachment = objectIn(record, 'attachment');
  const content = attachment?.['type'] === 'file' ? objectIn(attachment, 'content') : undefined;
  const file = content === undefined ? undefined : objectIn(content, 'file');
  const path = file === undefined ? undefined : stringIn(file, 'filePath');
  const page = file === undefined || content?.['type'] !== 'text' ? undefined : claudePage(file);
  if (path === undefined || page === undefined) return;
  fold.show(message, shownView(path, pageShown(path, page)), { atMs, message });
}

function kindOf(record: JsonRecord, blocks: readonly JsonRecord[]): LinkKind {
  if (record['type'] === 'user') return blocks.some(isResult) ? 'result' : 'message';
  return record['type'] === 'assistant' ? 'message' : 'aside';
}

/** Uuids of the messages that a compaction kept unchanged. */
function preservedIn(metadata: JsonRecord): ReadonlySet<string> {
  const kept = metadata['preservedMessages'];
  if (!isRecord(kept)) return new Set();
  const names = [kept['uuids'], kept['allUuids']].flatMap((list) => (Array.isArray(list) ? list : []));
  return new Set(names.filter((name) => typeof name === 'string'));
}

/** The details that Claude Code records of a result, in addition to its text. */
type ClaudeDetail = Pick<RecordedResult, 'ended' | 'page' | 'edited' | 'before' | 'views'> & {
  readonly failed: boolean;
};

/**
 * The details in `toolUseResult`. None if it is missing, as in transcripts of sub-agents, or if it
 * is a string, which reports an error.
 */
function claudeDetail(detail: unknown, text: string | undefined): ClaudeDetail {
  if (!isRecord(detail)) return { failed: false };
  const page = detail['type'] === 'text' ? pageIn(detail, text) : undefined;
  if (page !== undefined) return { failed: false, page };
  if (typeof detail['stdout'] === 'string') {
    const ended = hasEnded(detail);
    return { failed: !ended || (detail['stderr'] ?? '') !== '', ended };
  }
  const edited = editedIn(detail);
  if (edited !== undefined) return { failed: false, edited };
  return { failed: false, before: beforeIn(detail), views: rewrittenIn(detail) };
}

/**
 * The lines that a read returned, as the host recorded them. Undefined if the model was shown a
 * note instead of the lines.
 */
function pageIn(detail: JsonRecord, text: string | undefined): RecordedPage | undefined {
  const file = objectIn(detail, 'file');
  const empty = file?.['content'] === '';
  return file !== undefined && (empty || /^ *\d+[\t→]/.test(text ?? '')) ? claudePage(file) : undefined;
}

/** True if a command was not interrupted and is not still running. */
function hasEnded(detail: JsonRecord): boolean {
  return detail['interrupted'] !== true && !('backgroundTaskId' in detail);
}

/** The file's text before a write; null if the write created the file, undefined if it is not recorded. */
function beforeIn(detail: JsonRecord): string | null | undefined {
  const before = detail['originalFile'];
  return typeof before === 'string' || before === null ? before : undefined;
}

/**
 * The edit that the call made. Undefined if the record does not keep it, or if the user changed the
 * model's proposal.
 */
function editedIn(detail: JsonRecord): Edited | undefined {
  const before = stringIn(detail, 'originalFile');
  if (before === undefined || detail['userModified'] === true) return undefined;
  if (!Array.isArray(detail['edits'])) return oneEdit(detail, before);
  let after = before;
  for (const edit of objectsIn(detail, 'edits')) {
    const replacement = replacementIn(edit);
    const edited = replacement === undefined ? undefined : replacedIn(after, replacement);
    if (edited === undefined) return undefined;
    after = textAfter(edited);
  }
  return editedBetween(before, after);
}

/**
 * The edit of a call that makes one edit. Claude Code may delete the newline after a deleted text,
 * too. So if the plain deletion does not match the host's patch, tries the deletion with that
 * newline.
 */
function oneEdit(detail: JsonRecord, before: string): Edited | undefined {
  const replacement = replacementIn(detail);
  const plain = replacement === undefined ? undefined : replacedIn(before, replacement);
  if (replacement === undefined || replacement.to !== '' || isPatched(plain, detail)) return plain;
  const line = replacedIn(before, { ...replacement, from: `${replacement.from}\n` });
  return isPatched(line, detail) ? line : plain;
}

/** True if the host's patch and this edit add or remove the same number of lines. */
function isPatched(edited: Edited | undefined, detail: JsonRecord): boolean {
  if (edited === undefined) return false;
  let lines = lineCount(textAfter(edited)) - lineCount(edited.before);
  for (const hunk of objectsIn(detail, 'structuredPatch'))
    lines -= Number(hunk['newLines']) - Number(hunk['oldLines']);
  return lines === 0;
}

function replacementIn(edit: JsonRecord): EditedSpan | undefined {
  const from = stringIn(edit, 'oldString') ?? stringIn(edit, 'old_string');
  const to = stringIn(edit, 'newString') ?? stringIn(edit, 'new_string');
  if (from === undefined || to === undefined) return undefined;
  const isAll = edit['replaceAll'] === true || edit['replace_all'] === true;
  return { from, to, which: isAll ? 'all' : 'first' };
}

/**
 * The whole new file as a view. Present if the user changed the content of a write before the host
 * made the write.
 */
function rewrittenIn(detail: JsonRecord): RecordedResult['views'] {
  const path = stringIn(detail, 'filePath');
  const content = stringIn(detail, 'content');
  if (detail['userModified'] !== true || path === undefined || content === undefined) return undefined;
  return [changeView({ kind: 'added', path, content })];
}
