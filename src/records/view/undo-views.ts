import type { Refusal } from '../../model/verdict.ts';
import { rewindJob } from '../rewind.ts';
import type { TakenBack } from '../take-back.ts';
import { type TurnView, turnViews } from '../turns.ts';
import { type UndoJob, undoJobs } from '../undo-jobs.ts';
import { type ViewSources, viewText } from './entry-views.ts';
import { unifiedRows } from './hunks.ts';
import type { FileDiff, UndoView } from './view-data.ts';
import { WHY } from './view-words.ts';

/** The result or preview of an undo, for users. */
export function takenView(sources: ViewSources, { result, root }: TakenBack): UndoView {
  const { change, files, diff = '' } = result;
  return {
    ok: true,
    ...(change === undefined ? {} : { change }),
    files,
    diffs: previewDiffs(sources, { root, diff, paths: files.map(({ path }) => path) }),
  };
}

/** A refused undo, with the changes that prevent it. */
export function conflictView(sources: ViewSources, refusal: Refusal, root: string): UndoView {
  const { code, path, detail } = refusal;
  const reason = detail?.reason ?? WHY[code];
  const isChanged = code === 'STALE' && detail?.diff !== undefined;
  return {
    ok: false,
    code,
    path,
    reason,
    canMerge: code === 'STALE',
    diffs: isChanged ? [section(sources, { root, path, text: detail.diff ?? '' })] : [],
  };
}

/** The sections of a preview: each begins with the path of a file on a line of its own. */
function previewDiffs(
  sources: ViewSources,
  { root, diff, paths }: { readonly root: string; readonly diff: string; readonly paths: readonly string[] },
): FileDiff[] {
  const names = new Set(paths);
  const sections: { path: string; lines: string[] }[] = [];
  const lines = diff.split('\n');
  for (const [i, line] of lines.entries()) {
    const isName = names.has(line) && /^(@@ |\()/.test(lines[i + 1] ?? '');
    if (isName) sections.push({ path: line, lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ path, lines: rows }) => section(sources, { root, path, text: rows.join('\n') }));
}

function section(
  sources: ViewSources,
  { root, path, text }: { readonly root: string; readonly path: string; readonly text: string },
): FileDiff {
  const rows = unifiedRows(text, (line) => viewText(sources, path, line));
  const [note] = text.match(/^[(…].*$/m) ?? [];
  return { root, path, ...rows, parts: false, ...(note === undefined ? {} : { note }) };
}

/** The undo of a change, or of its effect on one file; undefined if there is no such change here. */
export async function undoJobFor(
  { records, scope }: ViewSources,
  {
    change,
    root,
    path,
  }: { readonly change: string; readonly root?: string | undefined; readonly path?: string | undefined },
): Promise<UndoJob | undefined> {
  const entry = await records.change(change);
  if (entry === undefined || !scope.includes(entry.root)) return undefined;
  const [job] = await undoJobs(records, { cwd: root ?? entry.root, change, path });
  return job;
}

/** The turn whose entry has this number. */
export async function turnAt({ records, scope }: ViewSources, seq: number): Promise<TurnView | undefined> {
  const [mark] = await records.store.entries({ ...scope.filter, afterSeq: seq - 1, beforeSeq: seq + 1 });
  if (mark?.kind !== 'turn' || mark.turn === undefined) return undefined;
  const turns = await turnViews(records, { scope, session: mark.session, name: mark.turn });
  return turns.find((turn) => turn.seq === seq);
}

export function rewindJobFor(
  { records, scope }: ViewSources,
  turn: TurnView,
  of: 'session' | 'everyone',
): Promise<UndoJob | undefined> {
  return rewindJob(records, { turn, scope, of });
}
