import { mergeRanges } from '../../model/coverage.ts';
import type { Entry, State } from '../../model/entry.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { Policy } from '../../model/policy.ts';
import type { RefusalCode } from '../../model/verdict.ts';
import { byteSize } from '../../report/amounts.ts';
import { decodeText } from '../../text/decode.ts';
import { diffLines } from '../../text/diff.ts';
import { lineCount } from '../../text/lines.ts';
import { isSecretPath, masked } from '../../text/secrets.ts';
import { absolutePathOf } from '../entry-words.ts';
import { describeState, findBytes, type NetEffect, netEffects, withoutImplied } from '../net-effects.ts';
import type { Records } from '../records.ts';
import type { Scope } from '../scope.ts';
import { diffGroups, sizeOfHunks } from './hunks.ts';
import { parseLines } from './parse-lines.ts';
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
const MAX_TEXT_BYTES = 4 << 20;

/** The diffs of changes: one for each path, up to a limit, and the number of paths that are left out. */
export async function diffsOf(
  sources: ViewSources,
  changes: readonly Entry[],
): Promise<{ readonly files: readonly (readonly [NetEffect, FileDiff])[]; readonly more: number }> {
  const effects = withoutImplied(netEffects(changes));
  const files: (readonly [NetEffect, FileDiff])[] = [];
  for (const effect of effects.slice(0, MAX_FILES)) files.push([effect, await fileDiff(sources, effect)]);
  return { files, more: Math.max(0, effects.length - MAX_FILES) };
}

/** The number of lines that a change added and removed, in all its files up to a limit. */
export async function linesOfChange(
  { records }: ViewSources,
  change: Entry,
): Promise<readonly [added: number, removed: number]> {
  const sum: [number, number] = [0, 0];
  for (const effect of withoutImplied(netEffects([change])).slice(0, MAX_FILES)) {
    const [was, is] = [
      await textOf(records, effect.before, effect),
      await textOf(records, effect.after, effect),
    ];
    if (was === undefined || is === undefined || 'missing' in was || 'missing' in is) continue;
    const { added, removed } = sizeOfHunks(diffLines(was.text, is.text).hunks);
    sum[0] += added;
    sum[1] += removed;
  }
  return sum;
}

/** The diff of one path, in the form shown to users. */
export async function fileDiff(sources: ViewSources, effect: NetEffect): Promise<FileDiff> {
  const { root, relative: path, before, after } = effect;
  const base = { root, path, added: 0, removed: 0, groups: [], cut: 0, hidden: 0, parts: false };
  const told = sidesNote(before, after);
  const was = await textOf(sources.records, before, effect);
  const is = await textOf(sources.records, after, effect);
  if (was === undefined || is === undefined) return { ...base, note: told ?? '' };
  if ('missing' in was) return { ...base, note: was.missing };
  if ('missing' in is) return { ...base, note: is.missing };
  const diff = diffGroups(was.text, is.text, (text) => viewText(sources, path, text), sources.context);
  const parts = before.kind === 'file' && after.kind === 'file';
  return { ...base, ...diff, parts, ...(told === undefined ? {} : { note: told }) };
}

/** Text for users, with secrets masked as in reads. */
export function viewText({ secrets }: Pick<ViewSources, 'secrets'>, path: string, text: string): string {
  return secrets === 'show' ? text : masked(text, { secretFile: isSecretPath(path) });
}

type FoundText = { readonly text: string } | { readonly missing: string };
type Place = Pick<NetEffect, 'root' | 'key'>;

/**
 * The text of a file before or after a change, or the reason why the text is missing. The text is
 * empty if the file did not exist. Undefined for folders and links.
 */
async function textOf(records: Records, side: State, at: Place): Promise<FoundText | undefined> {
  if (side.kind === 'absent') return { text: '' };
  return side.kind === 'file' ? findText(records, side.fingerprint, at) : undefined;
}

export async function findText({ images }: Records, wanted: Fingerprint, at: Place): Promise<FoundText> {
  if (wanted.size > MAX_TEXT_BYTES) return { missing: `too large to compare: ${byteSize(wanted.size)}` };
  const found = await findBytes(images, wanted, at);
  if ('missing' in found) return found;
  const text = decodeText(found.bytes)?.text;
  return text === undefined ? { missing: `not text: ${byteSize(wanted.size)}` } : { text };
}

/**
 * Describes a change of a path other than its text: created, deleted, or given another mode or
 * kind.
 */
function sidesNote(before: State, after: State): string | undefined {
  if (before.kind === 'absent' && after.kind === 'file') return 'new file';
  if (before.kind === 'file' && after.kind === 'absent') return 'deleted';
  if (before.kind === 'file' && after.kind === 'file')
    return before.mode === after.mode
      ? undefined
      : `mode ${before.mode.toString(8)} to ${after.mode.toString(8)}`;
  return `${describeState(before)} became ${describeState(after)}`;
}

/** Refusals because the session does not know the text that its change would remove. */
const UNKNOWN_TEXT: ReadonlySet<RefusalCode | undefined> = new Set([
  'NOT_READ',
  'PARTIALLY_READ',
  'READ_EXPIRED',
  'STALE',
  'REVISION_MISMATCH',
]);

/** True for the refusal of a change that would have removed a whole file or replaced its text. */
export function isStoppedOverwrite({ action, code }: Entry): boolean {
  return (action === 'overwrite' || action === 'delete') && UNKNOWN_TEXT.has(code);
}

/**
 * The number of lines that a refused overwrite would have removed although its session had never
 * seen them. Undefined if the texts are no longer known.
 */
export async function linesAtRisk({ records }: ViewSources, refusal: Entry): Promise<number | undefined> {
  const { seen, sha256, sizeBytes, root } = refusal;
  if (sha256 === undefined || sizeBytes === undefined || !isStoppedOverwrite(refusal)) return undefined;
  const at = { root, key: absolutePathOf(refusal) ?? '' };
  const live = await findText(records, { sha256, size: sizeBytes }, at);
  if ('missing' in live) return undefined;
  const total = lineCount(live.text);
  const then = seen?.fingerprint;
  if (seen === undefined || then === undefined) return total;
  if (then.sha256 === sha256) {
    const known = mergeRanges(parseLines(seen.lines, total));
    return total - known.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  }
  const old = await findText(records, then, at);
  return 'missing' in old ? undefined : sizeOfHunks(diffLines(old.text, live.text).hunks).added;
}
