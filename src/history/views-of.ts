import type { Answer } from '../dialect/calls/answer.ts';
import { readText } from '../dialect/calls/shown/read-text.ts';
import { changedRevision } from '../dialect/calls/shown/receipt.ts';
import { linesCoverage, WHOLE } from '../model/coverage.ts';
import type { Access, EditAccess, SearchAccess, WriteAccess } from './access.ts';
import type { Locate } from './accesses-of.ts';
import { shownText } from './shown-text.ts';
import type { RecordedResult } from './tool-result.ts';
import { bareView, shownView, type View } from './view.ts';

/** Beginnings of successful results of changing tools, for hosts without a success flag. */
const DONE =
  /^(?:wrote \d|replaced \d|inserted|applied|created|updated|deleted|success|the file .{1,4096} has been|file (?:created|written|saved))/i;

/** Maximum number of hits that become sightings; searches are usually bounded earlier. */
const MAX_HITS = 2000;
const HIT = /^(.+?):(\d{1,9}):(.*)$/;
/** A hit without file name, if one file was searched. */
const BARE_HIT = /^(\d{1,9}):(.*)$/;

interface Hit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/**
 * The views that one access of a successful call showed. If the texts around an edit are known, `carriedView` handles
 * it instead.
 */
export function viewsOf(access: Access, result: RecordedResult, locate: Locate): readonly View[] {
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

function answerOf(result: RecordedResult): Answer {
  const { ok, flagged, text, stdout: output, page, countsEmptyEnd = false, outcome } = result;
  const texts = text === undefined ? undefined : [text];
  return { ok, flagged, texts, output, page, countsEmptyEnd, revision: outcome?.revision };
}

function isDone(result: RecordedResult): boolean {
  return result.flagged || result.outcome !== undefined || DONE.test(result.text ?? '');
}

function writeView(access: WriteAccess, result: RecordedResult): View {
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

/** Results of Lookfirst's edits contain a revision only if the session has seen the whole file as it is now. */
function editView(access: EditAccess, result: RecordedResult): View {
  const revision = revisionOf(access, result);
  const coverage = revision.revision === undefined ? {} : { coverage: WHOLE };
  return bareView(access.path, { how: 'edit', ...coverage, ...revision });
}

function revisionOf(access: WriteAccess | EditAccess, result: RecordedResult): { revision?: string } {
  const revision = result.outcome?.revision ?? changedRevision(result.text ?? '', access.given);
  return revision === undefined ? {} : { revision };
}

/**
 * The matching lines that a search showed, by file, in the form `path:line:text`. Other forms do not certainly show
 * lines.
 */
function searchViews(access: SearchAccess, result: RecordedResult, locate: Locate): readonly View[] {
  const files = new Map<string, Hit[]>();
  for (const line of (result.text ?? '').split('\n', MAX_HITS)) {
    const hit = hitOf(line, access, locate);
    if (hit === undefined) continue;
    const hits = files.get(hit.path);
    if (hits === undefined) files.set(hit.path, [hit]);
    else hits.push(hit);
  }
  return [...files].map(([path, hits]) => ({
    path,
    coverage: linesCoverage(hits.map(lineOf), Number.POSITIVE_INFINITY),
    shown: hits.map((hit) => shownText(hit.text, lineOf(hit))),
    how: 'search' as const,
    clamped: false,
    redacted: false,
  }));
}

function hitOf(line: string, access: SearchAccess, locate: Locate): Hit | undefined {
  const [, bare, bareText] = access.target === undefined ? [] : (BARE_HIT.exec(line) ?? []);
  if (bare !== undefined && bareText !== undefined && access.target !== undefined)
    return { path: access.target, line: Number(bare), text: bareText };
  const [, given, number, text] = HIT.exec(line) ?? [];
  const path = given === undefined ? undefined : locate(given, access.base);
  return path === undefined || text === undefined ? undefined : { path, line: Number(number), text };
}

function lineOf(hit: Hit): { from: number; to: number } {
  return { from: hit.line, to: hit.line };
}
