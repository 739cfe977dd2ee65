import { FileSystemClock } from '../disk/file-system.ts';
import { readSnapshot } from '../disk/read.ts';
import type { State } from '../model/delta.ts';
import type { ChangeEntry } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import { type Fingerprint, sameFingerprint } from '../model/fingerprint.ts';
import type { Policy } from '../model/policy.ts';
import { byteSize } from '../report/amounts.ts';
import { pathText } from '../report/bounded.ts';
import { isGitsOwn } from '../report/git-files.ts';
import type { Images } from '../store/images.ts';
import { decodeText, hasNoLines } from '../text/decode.ts';
import type { Hunk } from '../text/diff.ts';
import { lineCount } from '../text/lines.ts';
import { maskedDiff, type UnifiedDiff } from '../text/unified.ts';
import { Workspace } from '../workspace/workspace.ts';
import { type NetEffect, netEffects } from './net-effects.ts';
import type { LineCount } from './view/view-data.ts';

/** Larger files are not compared: their old and new bytes would have to be in memory. */
const MAX_BYTES = 32 << 20;
const NOTHING = Buffer.alloc(0);

/** The change of one path. */
interface PathDiff {
  /** The change besides its lines, such as another mode, or the reason why there are no lines. */
  readonly note?: string;
  readonly lines?: UnifiedDiff;
  /** The number of lines before the change. */
  readonly totalLines?: number;
  /** True if lines are missing: the diff is too long, or the bytes are not text or no longer kept. */
  readonly truncated: boolean;
}

interface PathDiffOptions {
  readonly maxLines: number;
  readonly secrets: Policy['secrets'];
  /** The number of unchanged lines around each hunk. */
  readonly context?: number;
  readonly maxLineChars?: number;
  readonly maxBytes?: number;
}

/** Compares the states of one path before and after changes. */
export async function pathDiff(
  images: Images,
  effect: NetEffect,
  { maxBytes = MAX_BYTES, ...options }: PathDiffOptions,
): Promise<PathDiff> {
  const sides = [effect.before, effect.after];
  const note = sidesNote(effect.before, effect.after);
  const noted = note === undefined ? {} : { note };
  if (sides.some(({ kind }) => kind === 'link' || kind === 'directory'))
    return { ...noted, truncated: false };
  const bytes: Uint8Array[] = [];
  for (const side of sides) {
    const found =
      side.kind === 'file'
        ? await findBytes(images, side.fingerprint, { ...effect, maxBytes })
        : { bytes: NOTHING };
    if ('missing' in found) return { note: found.missing, truncated: true };
    bytes.push(found.bytes);
  }
  const [was = NOTHING, is = NOTHING] = bytes;
  const [old, fresh] = [decodeText(was)?.text, decodeText(is)?.text];
  const compared = { ...options, path: effect.relative };
  if (old !== undefined && fresh !== undefined)
    return { ...noted, totalLines: lineCount(old), ...linesOf(maskedDiff(old, fresh, compared)) };
  // Bytes in no known encoding are shown as far as they are UTF-8.
  if (bytes.every((each) => !hasNoLines(each) && !each.includes(0)))
    return { ...noted, ...linesOf(maskedDiff<Uint8Array>(was, is, compared)) };
  const sizes = `${byteSize(was.byteLength)} before, ${byteSize(is.byteLength)} after`;
  return { note: `not text: ${sizes}`, truncated: true };
}

function linesOf(lines: UnifiedDiff): Pick<PathDiff, 'lines' | 'truncated'> {
  return { lines, truncated: lines.truncated };
}

/** A diff as text: the names of the file, then the note and the lines. */
export function pathDiffText({ relative, before, after }: NetEffect, { note, lines }: PathDiff): string {
  const path = pathText(relative);
  if ([before, after].every(({ kind }) => kind === 'directory' || kind === 'absent'))
    return `${note} ${path}`;
  const name = (letter: 'a' | 'b', side: State): string =>
    side.kind === 'absent' ? '/dev/null' : pathText(`${letter}/${relative}`);
  const isCreation = before.kind === 'absent' || after.kind === 'absent';
  const said = lines === undefined ? `(${note})` : isCreation ? undefined : note;
  const rows = [`--- ${name('a', before)}`, `+++ ${name('b', after)}`, said, lines?.text || undefined];
  return rows.filter((row) => row !== undefined).join('\n');
}

export function sizeOfHunks(hunks: readonly Hunk[]): LineCount {
  const count = (size: (hunk: Hunk) => number): number => hunks.reduce((sum, hunk) => sum + size(hunk), 0);
  return {
    added: count(({ afterStart, afterEnd }) => afterEnd - afterStart),
    removed: count(({ beforeStart, beforeEnd }) => beforeEnd - beforeStart),
  };
}

/** Lines are not counted in larger files or in more files, because a list of changes must not read many. */
const COUNTED = { files: 20, bytes: 256 << 10 } as const;

/** The number of lines that a change added and removed, without git's own files; undefined if they cannot be counted. */
export async function linesOfChange(images: Images, change: ChangeEntry): Promise<LineCount | undefined> {
  const all = change.action === 'move' ? [] : netEffects([change]);
  const effects = all.filter(({ relative }) => !isGitsOwn(relative));
  if (effects.length === 0 || effects.length > COUNTED.files) return undefined;
  const hunks: Hunk[] = [];
  for (const effect of effects) {
    const options = { maxLines: 0, secrets: 'show', maxBytes: COUNTED.bytes } as const;
    const { note, lines } = await pathDiff(images, effect, options);
    if (lines !== undefined) hunks.push(...lines.diff.hunks);
    else if (note !== undefined && [effect.before, effect.after].some(({ kind }) => kind === 'file'))
      return undefined;
  }
  return sizeOfHunks(hunks);
}

/** Describes a change of a path other than its text; undefined if only the text changed. */
function sidesNote(before: State, after: State): string | undefined {
  const isNew = before.kind === 'absent';
  if (isNew && after.kind !== 'link') return after.kind === 'file' ? 'new file' : 'new folder';
  if (after.kind === 'absent' && before.kind !== 'link')
    return before.kind === 'file' ? 'deleted' : 'removed folder';
  if (before.kind !== after.kind || before.kind === 'link')
    return `${describeState(before)} became ${describeState(after)}`;
  const modes = [before, after].map((side) => ('mode' in side ? side.mode.toString(8) : ''));
  return modes[0] === modes[1]
    ? undefined
    : `${before.kind === 'file' ? '' : 'folder, '}mode ${modes.join(' to ')}`;
}

/** The state of a path before or after a change, in a few words. */
function describeState(side: State): string {
  switch (side.kind) {
    case 'absent':
      return 'nothing';
    case 'file':
      return `a file of ${byteSize(side.fingerprint.size)}`;
    case 'link':
      return `a link to ${pathText(side.target)}`;
    case 'directory':
      return 'a folder';
    default:
      return side satisfies never;
  }
}

interface FilePlace {
  readonly root: string;
  readonly key: string;
}

/** The bytes of a file before or after a change, or the reason why they are missing. */
type FoundBytes = { readonly bytes: Uint8Array } | { readonly missing: string };

/** A text by the fingerprint of its file; undefined if its bytes are not kept, too large or not text. */
export async function findText(
  images: Images,
  wanted: Fingerprint | undefined,
  at: FilePlace,
): Promise<string | undefined> {
  if (wanted === undefined) return undefined;
  const found = await findBytes(images, wanted, { ...at, maxBytes: MAX_TEXT_BYTES });
  return 'bytes' in found ? decodeText(found.bytes)?.text : undefined;
}

/** The maximum size of a text that is read to judge a refusal or to show a file. */
export const MAX_TEXT_BYTES: number = 4 << 20;

/**
 * Finds bytes by their fingerprint: among the stored copies, or in the file itself if it is
 * unchanged. Bytes are stored only when a later change replaces them, so the newest bytes are only
 * in the file.
 */
export async function findBytes(
  images: Images,
  wanted: Fingerprint,
  { maxBytes, ...at }: FilePlace & { readonly maxBytes: number },
): Promise<FoundBytes> {
  if (wanted.size > maxBytes) return { missing: `too large to compare: ${byteSize(wanted.size)}` };
  try {
    if (await images.has(wanted.sha256)) return { bytes: await images.read(wanted) };
    const live = await readLive(at, wanted.size);
    if ('bytes' in live && sameFingerprint(live.fingerprint, wanted)) return live;
    const keeper = await images.keeper?.(wanted.sha256);
    return {
      missing:
        keeper === undefined ? 'its bytes are no longer kept' : `its bytes are only on the machine ${keeper}`,
    };
  } catch (error) {
    if (error instanceof Fault) return { missing: error.message };
    throw error;
  }
}

/** A file as it is on disk. A path that leads out of its root counts as missing. */
export async function readLive(
  { root, key }: FilePlace,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly fingerprint: Fingerprint } | { readonly missing: string }> {
  const workspace = Workspace.open([root]);
  const clock = new FileSystemClock();
  try {
    const outcome = workspace.locate(key, 'read', 'parents');
    if (!outcome.ok) return { missing: 'it is not in the workspace' };
    const { place } = outcome.located;
    try {
      const snapshot = await readSnapshot(place, { clock, maxBytes });
      return 'problem' in snapshot ? { missing: PROBLEMS[snapshot.problem] } : snapshot;
    } finally {
      place.dir.close();
    }
  } finally {
    clock.close();
    workspace.close();
  }
}

const PROBLEMS = {
  missing: 'there is no such file now',
  swapped: 'it is a link now',
  kind: 'it is not a file now',
  'too-large': 'it is too large to show',
  denied: 'it cannot be read',
} as const;
