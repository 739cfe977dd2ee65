import type { FileIntent } from '../../model/intent.ts';
import type { ApplyResult, ChangeResult, UndoneFile, UndoResult } from '../../model/results.ts';
import type { Patch } from '../../model/session.ts';
import { countOf, lineWords } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { noticeTexts } from '../../report/describe-notice.ts';
import { parsePatch } from '../../text/patch/parse.ts';
import type { RenderContext } from '../render.ts';

/** The text for a change: what was done, the id of the change, the file's new revision, and notices. */
export function changeText(done: string, result: ChangeResult, context: RenderContext): string {
  return [done, ...proof(result), ...noticeTexts(result.notices, result.path, context)].join('\n');
}

export function writeText(result: ChangeResult, context: RenderContext): string {
  const { created, changed, sizeBytes, path } = result;
  const how = created ? 'created' : changed ? 'overwritten' : 'unchanged: these bytes were there already';
  return changeText(`wrote ${sizeBytes} bytes to ${pathText(path)} (${how})`, result, context);
}

export function editText(result: ChangeResult, context: RenderContext): string {
  const same = result.changed ? '' : ' (unchanged)';
  return changeText(
    `replaced ${result.replaced ?? 0} occurrence(s) in ${pathText(result.path)}${same}`,
    result,
    context,
  );
}

export function insertText(result: ChangeResult, context: RenderContext): string {
  const { inserted, path } = result;
  const what = inserted === undefined ? 'nothing' : lineWords([inserted]);
  return changeText(`inserted ${what} into ${pathText(path)}`, result, context);
}

/** The answer to a patch: one row per file. */
export function patchText(patch: Patch, result: ApplyResult, context: RenderContext): string {
  const parsed = parsePatch(patch);
  const results = result.results.map(({ replaced: _, ...one }) => one);
  return applyText(parsed.ok ? parsed.changes : [], { ...result, results }, context);
}

/** The answer to a change of several files: one row per file, in the requested order. */
export function applyText(
  changes: readonly FileIntent[],
  result: ApplyResult,
  context: RenderContext,
): string {
  const rows = result.results.map((one, index) => {
    const row = `- ${rowFor(changes[index], one, result)}`;
    const diff = result.dryRun && one.diff !== undefined && one.diff !== '' ? [one.diff] : [];
    return [row, ...diff, ...noticeTexts(one.notices, one.path, context)].join('\n');
  });
  const head = result.dryRun
    ? `dry run, nothing was changed; this would change ${countOf(rows.length, 'file')}`
    : `changed ${countOf(rows.length, 'file')}`;
  const change = result.change === undefined ? [] : [`[change ${result.change}]`];
  return [`${head}:`, ...rows, ...change].join('\n');
}

/** At most this many files of an undo are listed; the rest is counted. */
const MAX_UNDONE_ROWS = 50;

export function undoText(result: UndoResult): string {
  const { undid, files: restored, change, diff } = result;
  const head = `undid change ${undid.join(', ')}`;
  const rows = restored
    .slice(0, MAX_UNDONE_ROWS)
    .map(({ did, path }) => `- ${UNDONE[did]} ${pathText(path)}${did === 'kept' ? NOT_EMPTY : ''}`);
  const more = restored.length - rows.length;
  if (more > 0) rows.push(`- and ${countOf(more, 'more file')}`);
  const receipt = change === undefined ? [] : [`[change ${change}, which can be undone too]`];
  return [`${head}:`, ...rows, ...(diff === undefined || diff === '' ? [] : [diff]), ...receipt].join('\n');
}

const UNDONE: Readonly<Record<UndoneFile['did'], string>> = {
  restored: 'restored',
  removed: 'removed',
  recreated: 'brought back',
  'moved-back': 'moved back',
  merged: 'restored, keeping later changes, in',
  kept: 'kept',
};
const NOT_EMPTY = ', because it is not empty';

function proof({ revision, change }: ChangeResult): string[] {
  const parts = [
    ...(revision === undefined ? [] : [`revision ${revision}`]),
    ...(change === undefined ? [] : [`change ${change}`]),
  ];
  return parts.length === 0 ? [] : [`[${parts.join(' ')}]`];
}

function rowFor(
  intent: FileIntent | undefined,
  result: ChangeResult,
  { dryRun }: Pick<ApplyResult, 'dryRun'>,
): string {
  const path = pathText(result.path);
  const verb = (done: string, infinitive: string): string => (dryRun ? `would ${infinitive}` : done);
  const revision = result.revision === undefined ? '' : `, revision ${result.revision}`;
  if (intent?.kind === 'move')
    return `${verb('moved', 'move')} ${pathText(intent.source)} to ${pathText(intent.destination)}`;
  if (intent?.kind === 'delete') return `${verb('deleted', 'delete')} ${path}`;
  if (!result.changed) return `${verb('unchanged', 'not change')} ${path}${revision}`;
  const isMoved = (intent?.kind === 'edit' || intent?.kind === 'insert') && intent.moveTo !== undefined;
  const moved = isMoved ? `, moved from ${pathText(intent.path)}` : '';
  if (intent?.kind === 'edit' && result.replaced !== undefined)
    return `${verb('replaced', 'replace')} ${result.replaced} occurrence(s) in ${path}${moved}${revision}`;
  const wrote = result.created ? verb('created', 'create') : verb('changed', 'change');
  return `${wrote} ${path}${moved}${revision}`;
}
