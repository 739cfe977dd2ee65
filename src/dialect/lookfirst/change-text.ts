import type { FileIntent } from '../../model/intent.ts';
import type { ApplyResult, ChangeResult, UndoneFile, UndoResult } from '../../model/results.ts';
import { lineWords } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { noticeTexts } from '../../report/describe-notice.ts';
import { parsePatch } from '../../text/patch/parse.ts';
import type { RenderContext } from '../render.ts';

/** The result of a change: what was done, its change id and revision, and notices. */
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

/** One row per file of a patch in the V4A format. */
export function patchText(patch: string, result: ApplyResult, context: RenderContext): string {
  const parsed = parsePatch('v4a', patch);
  const results = result.results.map(({ replaced: _, ...one }) => one);
  return applyText(parsed.ok ? parsed.changes : [], { ...result, results }, context);
}

/** One row per file, in the requested order. */
export function applyText(
  changes: readonly FileIntent[],
  result: ApplyResult,
  context: RenderContext,
): string {
  const rows = result.results.map((one, index) => {
    const row = `- ${rowFor(changes[index], one)}`;
    const diff = result.dryRun && one.diff !== undefined && one.diff !== '' ? [one.diff] : [];
    return [row, ...diff, ...noticeTexts(one.notices, one.path, context)].join('\n');
  });
  const head = result.dryRun
    ? `dry run, nothing was changed; ${files(rows.length)} would be`
    : `changed ${files(rows.length)}`;
  const change = result.change === undefined ? [] : [`[change ${result.change}]`];
  return [`${head}:`, ...rows, ...change].join('\n');
}

export function undoText(result: UndoResult): string {
  const { undid, files: restored, change, diff } = result;
  const head = `undid change ${undid.join(', ')}`;
  const rows = restored.map((file) => `- ${UNDONE[file.did]} ${pathText(file.path)}`);
  const receipt = change === undefined ? [] : [`[change ${change}, which can be undone too]`];
  return [`${head}:`, ...rows, ...(diff === undefined || diff === '' ? [] : [diff]), ...receipt].join('\n');
}

const UNDONE: Readonly<Record<UndoneFile['did'], string>> = {
  restored: 'restored',
  removed: 'removed',
  recreated: 'brought back',
  'moved-back': 'moved back',
  merged: 'restored, keeping later changes, in',
  kept: 'kept, because it is not empty,',
};

function proof({ revision, change }: ChangeResult): string[] {
  const parts = [
    ...(revision === undefined ? [] : [`revision ${revision}`]),
    ...(change === undefined ? [] : [`change ${change}`]),
  ];
  return parts.length === 0 ? [] : [`[${parts.join(' ')}]`];
}

function rowFor(intent: FileIntent | undefined, result: ChangeResult): string {
  const path = pathText(result.path);
  const revision = result.revision === undefined ? '' : `, revision ${result.revision}`;
  if (intent?.kind === 'move') return `moved ${pathText(intent.source)} to ${pathText(intent.destination)}`;
  if (intent?.kind === 'delete') return `deleted ${path}`;
  if (!result.changed) return `unchanged ${path}${revision}`;
  const isMoved = intent?.kind === 'edit' && intent.moveTo !== undefined;
  const moved = isMoved ? `, moved from ${pathText(intent.path)}` : '';
  if (intent?.kind === 'edit' && result.replaced !== undefined)
    return `replaced ${result.replaced} occurrence(s) in ${path}${moved}${revision}`;
  return `${result.created ? 'created' : 'changed'} ${path}${moved}${revision}`;
}

function files(count: number): string {
  return `${count} file${count === 1 ? '' : 's'}`;
}
