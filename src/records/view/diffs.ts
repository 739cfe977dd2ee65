import type { ChangeEntry } from '../../model/entry.ts';
import type { Policy } from '../../model/policy.ts';
import { defined } from '../../model/record.ts';
import { countOf } from '../../report/amounts.ts';
import { apartFromGit, GITS_OWN_FILES } from '../../report/git-files.ts';
import { isSecretPath, masked } from '../../text/secrets.ts';
import { type NetEffect, netEffects, withoutImplied } from '../net-effects.ts';
import { MAX_TEXT_BYTES, pathDiff } from '../path-diffs.ts';
import type { Records } from '../records.ts';
import type { Scope } from '../scope.ts';
import { numberedRows } from './hunks.ts';
import type { Fact, FileDiff } from './view-data.ts';

/** The records from which views are built, and the settings that apply to all views. */
export interface ViewSources {
  readonly records: Records;
  readonly scope: Scope;
  /** The policy for secrets. Views mask secrets as reads do. */
  readonly secrets: Policy['secrets'];
  /** The number of unchanged lines around each hunk of a diff; a few by default. */
  readonly context?: number | undefined;
}

/**
 * The maximum number of files of a change or turn that are shown with their diff. Further files are
 * only counted.
 */
const MAX_FILES = 50;

/** The diffs of changes, one for each path. */
interface Diffs {
  readonly files: readonly (readonly [NetEffect, FileDiff])[];
  /** The number of paths beyond the limit. */
  readonly more: number;
  /** Says what is left out. */
  readonly left: readonly Fact[];
}

/** The diffs of changes, without git's own files. */
export async function diffsOf(sources: ViewSources, changes: readonly ChangeEntry[]): Promise<Diffs> {
  const { shown, gits } = apartFromGit(withoutImplied(netEffects(changes)), ({ relative }) => relative);
  const files: (readonly [NetEffect, FileDiff])[] = [];
  for (const effect of shown.slice(0, MAX_FILES)) files.push([effect, await fileDiff(sources, effect)]);
  const more = Math.max(0, shown.length - MAX_FILES);
  const left = [
    ...(more === 0 ? [] : [countOf(more, 'more file')]),
    ...(gits.length === 0 ? [] : [GITS_OWN_FILES]),
  ];
  return { files, more, left: left.length === 0 ? [] : [{ words: `Not shown: ${left.join(', ')}.` }] };
}

/** The diff of one path, in the form shown to users. */
export async function fileDiff(
  { records, secrets, context }: ViewSources,
  effect: NetEffect,
): Promise<FileDiff> {
  const { root, relative: path, before, after } = effect;
  const found = await pathDiff(records.images, effect, { ...BOUNDS, secrets, ...defined({ context }) });
  const rows: ReturnType<typeof numberedRows> =
    found.lines === undefined ? NO_ROWS : numberedRows(found.lines);
  const unchanged = rows.groups.flat().filter(({ sign }) => sign === ' ').length;
  const hidden = Math.max(0, (found.totalLines ?? 0) - rows.removed - unchanged);
  const parts = before.kind === 'file' && after.kind === 'file';
  const note = [found.note, rows.note].filter((each) => each !== undefined).join('; ');
  return { root, path, ...rows, hidden, parts, ...(note === '' ? {} : { note }) };
}

const BOUNDS = { maxLines: 2000, maxLineChars: 2000, maxBytes: MAX_TEXT_BYTES } as const;
const NO_ROWS = { added: 0, removed: 0, groups: [], cut: 0 } as const;

/** Text for users, with secrets masked as in reads. */
export function viewText({ secrets }: Pick<ViewSources, 'secrets'>, path: string, text: string): string {
  return secrets === 'show' ? text : masked(text, { secretFile: isSecretPath(path) });
}
