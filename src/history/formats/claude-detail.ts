import type { RecordedPage } from '../../dialect/calls/answer.ts';
import { claudePage } from '../../dialect/calls/hosts/recorded-page.ts';
import { isRecord, type JsonRecord, objectIn, objectsIn, stringIn } from '../../model/record.ts';
import { lineCount } from '../../text/lines.ts';
import { changeView } from '../edit-view.ts';
import { type Edited, type EditedSpan, editedBetween, replacedIn, textAfter } from '../edited.ts';
import type { RecordedResult } from '../tool-result.ts';

/** What Claude Code recorded about a result, in addition to its text. */
export type ClaudeDetail = Pick<RecordedResult, 'page' | 'edited' | 'before' | 'views'> & {
  readonly failed: boolean;
};

/** Parses `toolUseResult`. Sub-agents have none; an error is a string. */
export function claudeDetail(detail: unknown, text: string | undefined): ClaudeDetail {
  if (!isRecord(detail)) return { failed: false };
  const page = detail['type'] === 'text' ? pageIn(detail, text) : undefined;
  if (page !== undefined) return { failed: false, page };
  if (typeof detail['stdout'] === 'string') return { failed: !isQuiet(detail) };
  const edited = editedIn(detail);
  if (edited !== undefined) return { failed: false, edited };
  return { failed: false, before: beforeIn(detail), views: rewrittenIn(detail) };
}

/** The page of a read. It counts only if the model was shown the lines, not a note in their place. */
function pageIn(detail: JsonRecord, text: string | undefined): RecordedPage | undefined {
  const file = objectIn(detail, 'file');
  const empty = file?.['content'] === '';
  return file !== undefined && (empty || /^ *\d+[\t→]/.test(text ?? '')) ? claudePage(file) : undefined;
}

/** Whether a command had no standard error, was not interrupted and is not still running. */
function isQuiet(detail: JsonRecord): boolean {
  return (detail['stderr'] ?? '') === '' && detail['interrupted'] !== true && !('backgroundTaskId' in detail);
}

/** The file before a write; null if the write created it. */
function beforeIn(detail: JsonRecord): string | null | undefined {
  const before = detail['originalFile'];
  return typeof before === 'string' || before === null ? before : undefined;
}

/** The replaced text; undefined if the user changed the model's proposal. */
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
 * Reads a single edit. A deletion may include the newline after the text; the host's patch then has one
 * line less.
 */
function oneEdit(detail: JsonRecord, before: string): Edited | undefined {
  const replacement = replacementIn(detail);
  const plain = replacement === undefined ? undefined : replacedIn(before, replacement);
  if (replacement === undefined || replacement.to !== '' || isPatched(plain, detail)) return plain;
  const line = replacedIn(before, { ...replacement, from: `${replacement.from}\n` });
  return isPatched(line, detail) ? line : plain;
}

/** Whether the host's patch adds as many lines as this edit. */
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

/** The view of a write whose content the user changed before it was made. */
function rewrittenIn(detail: JsonRecord): RecordedResult['views'] {
  const path = stringIn(detail, 'filePath');
  const content = stringIn(detail, 'content');
  if (detail['userModified'] !== true || path === undefined || content === undefined) return undefined;
  return [changeView({ kind: 'added', path, content })];
}
