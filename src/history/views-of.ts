import type { Answer } from '../dialect/calls/answer.ts';
import { readText } from '../dialect/calls/shown/read-text.ts';
import { changedRevision } from '../dialect/calls/shown/receipt.ts';
import { WHOLE } from '../model/coverage.ts';
import type { Access, EditAccess, WriteAccess } from './access.ts';
import type { Locate } from './accesses-of.ts';
import { searchViews } from './search-view.ts';
import type { ToolResult } from './tool-result.ts';
import { bareView, shownView, type View } from './view.ts';

/** How the results of tools that change files begin when they succeeded, for hosts without a flag. */
const DONE =
  /^(?:wrote \d|replaced \d|inserted|applied|created|updated|deleted|success|the file .{1,4096} has been|file (?:created|written|saved))/i;

/** What one access of a successful call showed. An edit's own lines are `carriedView`'s work, where the texts are known. */
export function viewsOf(access: Access, result: ToolResult, locate: Locate): readonly View[] {
  switch (access.kind) {
    case 'read': {
      const { touch, path } = access;
      const lines = readText(touch, answerOf(result), [touch.path, path]);
      return lines === undefined ? [] : [shownView(path, lines)];
    }
    case 'search':
      return result.flagged ? searchViews(access, result, locate) : [];
    case 'write':
      return isDone(result) ? [writeView(access, result)] : [];
    case 'edit':
      return isDone(result) ? [editView(access, result)] : [];
    default:
      return access satisfies never;
  }
}

function answerOf(result: ToolResult): Answer {
  const { ok, flagged, text, stdout: output, page, countsEmptyEnd = false, outcome } = result;
  const texts = text === undefined ? undefined : [text];
  return { ok, flagged, texts, output, page, countsEmptyEnd, revision: outcome?.revision };
}

function isDone(result: ToolResult): boolean {
  return result.flagged || result.outcome !== undefined || DONE.test(result.text ?? '');
}

function writeView(access: WriteAccess, result: ToolResult): View {
  const { sha256, size } = access.shown;
  return {
    path: access.path,
    coverage: WHOLE,
    totalLines: access.lines,
    shown: [access.shown],
    fingerprint: { sha256, size },
    ...revisionOf(access, result),
    how: 'write',
    clamped: false,
    redacted: false,
  };
}

/** Our edits name a revision only when the session has seen the whole file as it now is. */
function editView(access: EditAccess, result: ToolResult): View {
  const revision = revisionOf(access, result);
  const coverage = revision.revision === undefined ? {} : { coverage: WHOLE };
  return bareView(access.path, { how: 'edit', ...coverage, ...revision });
}

function revisionOf(access: WriteAccess | EditAccess, result: ToolResult): { revision?: string } {
  const revision = result.outcome?.revision ?? changedRevision(result.text ?? '', access.given);
  return revision === undefined ? {} : { revision };
}
