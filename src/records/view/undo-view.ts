import { isUndo, UndoHistory } from '../../journal/undo-history.ts';
import { byPath, endsOf } from '../../model/delta.ts';
import type { ChangeEntry } from '../../model/entry.ts';
import { type Refusal, reasonOf } from '../../model/verdict.ts';
import { countOf } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { apartFromGit } from '../../report/git-files.ts';
import type { TakenBack } from '../undo-jobs.ts';
import type { ViewSources } from './diffs.ts';
import { unifiedRows } from './hunks.ts';
import type { FileDiff, UndoView } from './view-data.ts';
import { refusedBecause } from './view-words.ts';

/** The files, and the later changes of each file, that are searched for edits that stay. */
const MAX_SEARCHED = 200;

/** The result or preview of an undo, for users. `part`: the undo concerns one file or hunk of a change. */
export async function takenView(
  sources: ViewSources,
  taken: TakenBack,
  part: 'file' | 'hunk' | undefined,
): Promise<UndoView> {
  const { result, root } = taken;
  const { change, diff = '' } = result;
  const { shown, gits } = apartFromGit(result.files, ({ path }) => path);
  const files = shown.length === 0 ? gits : shown;
  const paths = files.map(({ path }) => path);
  return {
    ok: true,
    ...(change === undefined ? {} : { change }),
    files,
    diffs: previewDiffs(root, diff, paths),
    stays: await staying(sources, taken, part),
  };
}

/** A refused undo: the reason and, if later changes of the file prevent the undo, their diff. */
export function conflictView(refusal: Refusal, root: string): UndoView {
  const { code, path } = refusal;
  const diff = code === 'STALE' ? refusal.detail?.diff : undefined;
  const reason = reasonOf(refusal) ?? refusedBecause(code);
  const diffs = diff === undefined ? [] : [section(root, path, diff)];
  return { ok: false, code, path, reason, diffs };
}

/** Sentences about what an undo leaves as it is. */
async function staying(
  sources: ViewSources,
  { result, changes }: TakenBack,
  part: 'file' | 'hunk' | undefined,
): Promise<string[]> {
  const stays: string[] = [];
  for (const { path, did } of result.files.slice(0, MAX_SEARCHED)) {
    const name = result.files.length === 1 ? 'this file' : path;
    const count = await laterEdits(sources, path, changes);
    if (count > 0)
      stays.push(`${countOf(count, 'later edit')} of ${name} ${count === 1 ? 'stays' : 'stay'}.`);
    else if (did === 'merged') stays.push(`What other programs have changed in ${name} since stays.`);
  }
  const others = new Set(changes.flatMap(({ deltas }) => deltas.flatMap(endsOf))).size - 1;
  if (part === 'file' && others > 0)
    stays.push(
      `What the change did to ${others === 1 ? 'the other path' : `the other ${others} paths`} stays.`,
    );
  if (part === 'hunk') stays.push('The other lines of this change stay.');
  return stays;
}

/** The number of changes of a path after the undone ones that are still in effect. */
async function laterEdits(
  { records }: ViewSources,
  path: string,
  undone: readonly ChangeEntry[],
): Promise<number> {
  const own = undone.filter(({ deltas }) => byPath(deltas).some(({ relative }) => relative === path));
  const key = byPath(own.at(-1)?.deltas).find(({ relative }) => relative === path)?.key;
  if (key === undefined) return 0;
  const afterSeq = Math.min(...own.map(({ seq }) => seq));
  const later = await records.store.entries({ key, kinds: ['change'], afterSeq, limit: MAX_SEARCHED });
  const history = new UndoHistory(later);
  const isUndone = new Set(undone.map(({ seq }) => seq));
  const stands = (entry: ChangeEntry): boolean =>
    history.standing(entry).some((delta) => endsOf(delta).includes(key)) && !isUndo(entry);
  return later.filter((entry) => !isUndone.has(entry.seq) && stands(entry)).length;
}

/**
 * Splits the diff of an undo preview into sections, one per file. Each section begins with the
 * file's path on a line of its own.
 */
function previewDiffs(root: string, diff: string, paths: readonly string[]): FileDiff[] {
  const names = new Map(paths.map((path) => [pathText(path), path]));
  const sections: { path: string; lines: string[] }[] = [];
  const lines = diff.split('\n');
  for (const [i, line] of lines.entries()) {
    const path = /^(@@ |\()/.test(lines[i + 1] ?? '') ? names.get(line) : undefined;
    if (path !== undefined) sections.push({ path, lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ path, lines: rows }) => section(root, path, rows.join('\n')));
}

function section(root: string, path: string, text: string): FileDiff {
  return { root, path, ...unifiedRows(text), hidden: 0, parts: false };
}
