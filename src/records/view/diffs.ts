import type { ChangeEntry } from '../../model/entry.ts';
import type { Policy } from '../../model/policy.ts';
import { defined } from '../../model/record.ts';
import { isSecretPath, masked } from '../../text/secrets.ts';
import { type NetEffect, netEffects, withoutImplied } from '../net-effects.ts';
import { MAX_TEXT_BYTES, pathDiff } from '../path-diffs.ts';
import type { Records } from '../records.ts';
import type { Scope } from '../scope.ts';
import { numberedRows } from './hunks.ts';
import type { FileDiff } from './view-data.ts';

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

/** The diffs of changes: one for each path, up to a limit, and the number of paths that are left out. */
export async function diffsOf(
  sources: ViewSources,
  changes: readonly ChangeEntry[],
): Promise<{ readonly files: readonly (readonly [NetEffect, FileDiff])[]; readonly more: number }> {
  const effects = withoutImplied(netEffects(changes));
  const files: (readonly [NetEffect, FileDiff])[] = [];
  for (const effect of effects.slice(0, MAX_FILES)) files.push([effect, await fileDiff(sources, effect)]);
  return { files, more: Math.max(0, effects.length - MAX_FILES) };
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
