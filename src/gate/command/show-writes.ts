import { type LineRange, linesCoverage, rangesOf } from '../../model/coverage.ts';
import { sameFingerprint } from '../../model/fingerprint.ts';
import { LIMITS } from '../../model/limits.ts';
import type { RunResult } from '../../model/results.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import { MAX_QUOTED_CHARS } from '../../report/bounded.ts';
import { MAX_PATHS_IN_TEXT } from '../../report/command-words.ts';
import { apartFromGit, isGitsOwn } from '../../report/git-files.ts';
import { carryRanges } from '../../text/change.ts';
import { lineCount } from '../../text/lines.ts';
import { maskedDiff, type UnifiedDiff } from '../../text/unified.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import { diffOptions } from '../masking.ts';
import type { World } from '../world.ts';
import { shownNameOf } from './layer-content.ts';
import { bytesAfter, bytesBefore, plainText } from './lost-update.ts';
import type { LayerDelta } from './write-set.ts';
import { parentKey } from './write-set.ts';

type CommandFile = RunResult['files'][number];

/** An answer names at most this many paths and counts the rest. */
const MAX_NAMED = 100;

/**
 * The part of an answer that shows a command's writes, and the lines that count as seen after it.
 */
interface ShownWrites {
  readonly files: readonly CommandFile[];
  readonly cut: number;
  /** The lines that count as seen, by file key. */
  readonly sightings: ReadonlyMap<string, Sighting>;
}

/**
 * Lists the changed paths. Adds the diff of a file if the answer's text names the file and the
 * whole diff fits into the limits of an answer.
 */
export async function showWrites(
  world: World,
  knowledge: Knowledge,
  written: readonly LayerDelta[],
  answer: 'shown' | 'silent',
): Promise<ShownWrites> {
  const { shown, gits } = apartFromGit(namedWrites(written), ({ path }) => path.relative);
  const named = [...shown, ...gits];
  const files: CommandFile[] = [];
  const sightings = new Map<string, Sighting>();
  let room = { lines: LIMITS.maxDiffLines, chars: MAX_QUOTED_CHARS };
  for (const each of named.slice(0, MAX_NAMED)) {
    const file = { ...fileOf(each), path: shownNameOf(world, each.path) };
    const texts = await textsOf(world, each);
    const options = { ...diffOptions(world, each.path.relative), maxLines: room.lines };
    const diff = texts && maskedDiff(texts.before, texts.after, options);
    if (texts === undefined || diff === undefined) {
      files.push(file);
      continue;
    }
    const counted = { ...file, ...countsOf(diff) };
    const isInText = files.length < MAX_PATHS_IN_TEXT;
    const fits = isInText && !diff.truncated && diff.text !== '' && diff.text.length <= room.chars;
    files.push(fits ? { ...counted, diff: diff.text } : counted);
    if (!fits) continue;
    room = { lines: room.lines - diff.text.split('\n').length, chars: room.chars - diff.text.length };
    const shown = answer === 'shown' ? diff.shownAfter : undefined;
    const sighting = await creditOf(world, knowledge, { written: each, diff, shown, text: texts.after });
    if (sighting !== undefined) sightings.set(each.path.key, sighting);
  }
  return { files, cut: named.length - files.length, sightings };
}

function fileOf({ path, before, after }: LayerDelta): CommandFile {
  const thing = after.kind === 'absent' ? before : after;
  const kind = thing.kind === 'absent' ? 'file' : thing.kind;
  return { path: path.relative, did: didTo(before, after), kind };
}

function didTo(before: LayerDelta['before'], after: LayerDelta['after']): CommandFile['did'] {
  if (before.kind === 'absent') return 'created';
  if (after.kind === 'absent') return 'deleted';
  if (before.kind === 'directory' && after.kind === 'directory') return 'permissions';
  if (before.kind !== 'file' || after.kind !== 'file') return 'changed';
  return sameFingerprint(before.fingerprint, after.fingerprint) ? 'permissions' : 'changed';
}

/**
 * The contents before and after the command as text; undefined if one of them is not text, or if the
 * file is one of git's own, which an answer does not name.
 */
async function textsOf(
  world: World,
  written: LayerDelta,
): Promise<{ readonly before: string; readonly after: string } | undefined> {
  const { before: was, after: is, path } = written;
  if (isGitsOwn(path.relative)) return undefined;
  if (![was.kind, is.kind].every((kind) => kind === 'file' || kind === 'absent')) return undefined;
  const before = was.kind === 'absent' ? '' : plainText(await bytesBefore(world, written));
  const after = is.kind === 'absent' ? '' : plainText(bytesAfter(written));
  return before === undefined || after === undefined ? undefined : { before, after };
}

function countsOf({ diff }: UnifiedDiff): { readonly added: number; readonly removed: number } {
  const sum = (lines: readonly number[]): number => lines.reduce((total, count) => total + count, 0);
  return {
    added: sum(diff.hunks.map(({ afterStart, afterEnd }) => afterEnd - afterStart)),
    removed: sum(diff.hunks.map(({ beforeStart, beforeEnd }) => beforeEnd - beforeStart)),
  };
}

/**
 * The lines of the new file that count as seen: lines seen before, and lines in the diff. Undefined
 * if the session has seen none. Also undefined if another program changed the file between the
 * session's last view and the command. The old sighting then stays, so that this change is reported
 * later.
 */
async function creditOf(
  world: World,
  knowledge: Knowledge,
  {
    written,
    diff,
    shown,
    text,
  }: { written: LayerDelta; diff: UnifiedDiff; shown: readonly LineRange[] | undefined; text: string },
): Promise<Sighting | undefined> {
  const { after, before, path } = written;
  if (after.kind !== 'file') return undefined;
  const seen = await knowledge.recall(path.key);
  const isKnown = seen?.fingerprint !== undefined && seen.tombstone !== true;
  const isCurrent =
    isKnown &&
    before.kind === 'file' &&
    sameFingerprint(seen.fingerprint ?? before.fingerprint, before.fingerprint);
  if ((isKnown || shown === undefined) && !isCurrent) return undefined;
  const still: readonly LineRange[] = isCurrent
    ? carryRanges(rangesOf(seen.coverage, seen.totalLines ?? 0), diff.diff.hunks)
    : [];
  const totalLines = lineCount(text);
  // Until the answer shows the diff, only the lines count that were seen before.
  const untold = still.length === 0 ? undefined : { coverage: linesCoverage(still, totalLines) };
  if (shown !== undefined) knowledge.tells(path.key, untold);
  return {
    key: path.key,
    fingerprint: after.fingerprint,
    stamp: undefined,
    racy: true,
    coverage: linesCoverage([...still, ...(shown ?? [])], totalLines),
    totalLines,
    flags: isCurrent ? seen.flags : NO_FLAGS,
    how: 'cure',
    atMs: world.now(),
  };
}

/**
 * The writes that an answer names. A folder is named if nothing in it is named. A deleted folder is
 * named unless its parent is deleted too: the deleted files in it do not say that it is gone.
 */
function namedWrites(written: readonly LayerDelta[]): readonly LayerDelta[] {
  const folders = new Set(written.map(({ path }) => parentKey(path)));
  const isGone = ({ before, after }: LayerDelta): boolean =>
    before.kind === 'directory' && after.kind === 'absent';
  const gone = new Set(written.filter(isGone).map(({ path }) => path.key));
  return written.filter((each) => {
    const { path, before, after } = each;
    const isFolder = [before.kind, after.kind].every((kind) => kind === 'directory' || kind === 'absent');
    if (!isFolder || !folders.has(path.key)) return true;
    return isGone(each) && !gone.has(parentKey(path));
  });
}
