import { Buffer } from 'node:buffer';
import { FileSystemClock } from '../disk/file-system.ts';
import { readSnapshot } from '../disk/read.ts';
import { type Entry, type State, sameState } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import { type Fingerprint, sameFingerprint } from '../model/fingerprint.ts';
import { foldersAbove } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import { byteSize } from '../report/amounts.ts';
import { pathText } from '../report/bounded.ts';
import type { Images } from '../store/images.ts';
import { decodeText, hasNoLines } from '../text/decode.ts';
import { maskedDiff } from '../text/unified.ts';
import { Workspace } from '../workspace/workspace.ts';

/** The combined effect of several changes on one path. */
export interface NetEffect {
  readonly root: string;
  readonly key: string;
  readonly relative: string;
  readonly before: State;
  readonly after: State;
  /** Ids of the changes, oldest first. */
  readonly changes: readonly string[];
}

/**
 * The combined effect of changes on each path, in the order in which the changes first touched the
 * paths. Leaves out paths that are unchanged at the end.
 */
export function netEffects(changes: readonly Entry[]): NetEffect[] {
  const net = new Map<string, { readonly effect: NetEffect; readonly ids: Set<string> }>();
  for (const entry of [...changes].sort((a, b) => a.seq - b.seq)) {
    for (const { key, relative, before, after } of entry.effects ?? []) {
      const known = net.get(key);
      const ids = (known?.ids ?? new Set<string>()).add(entry.change ?? '');
      const root = known?.effect.root ?? rootOfPath(key, relative) ?? entry.root;
      const first = known?.effect.before ?? before;
      net.set(key, { effect: { root, key, relative, before: first, after, changes: [] }, ids });
    }
  }
  return [...net.values()]
    .filter(({ effect: { before, after } }) => !sameState(before, after))
    .map(({ effect, ids }) => ({ ...effect, changes: [...ids] }));
}

/** Leaves out folders that were created or removed along with a listed path inside them. */
export function withoutImplied(effects: readonly NetEffect[]): NetEffect[] {
  const isOnlyFolder = ({ before, after }: NetEffect): boolean =>
    [before, after].every(({ kind }) => kind === 'absent' || kind === 'directory') &&
    before.kind !== after.kind;
  const keysWith = (end: 'before' | 'after'): string[] =>
    effects.flatMap((effect) => (effect[end].kind === 'absent' ? [effect.key] : []));
  const [created, removed] = [foldersAbove(keysWith('before')), foldersAbove(keysWith('after'))];
  const isImplied = ({ key, before }: NetEffect): boolean =>
    (before.kind === 'absent' ? created : removed).has(key);
  return effects.filter((effect) => !isOnlyFolder(effect) || !isImplied(effect));
}

/**
 * The root that contains a path: the key of the path without its relative part. Computed for each
 * path, because one change may reach into several roots.
 */
export function rootOfPath(key: string, relative: string): string | undefined {
  if (!key.endsWith(`/${relative}`)) return undefined;
  return key.slice(0, -relative.length - 1) || '/';
}

/** The change of one path: a unified diff, or a sentence if there are no lines to show. */
export interface PathDiff {
  readonly text: string;
  readonly truncated: boolean;
}

/** The diff of a larger file is not shown: its old and new bytes would have to be in memory. */
const MAX_BYTES = 32 << 20;
const NOTHING = Buffer.alloc(0);

/** The bytes of a file before or after a change, or the reason why they are missing. */
type FoundBytes = { readonly bytes: Uint8Array } | { readonly missing: string };

interface PathDiffOptions {
  readonly maxLines: number;
  /** The setting for secrets; default: masked. */
  readonly secrets?: Policy['secrets'];
}

export async function diffOf(
  images: Images,
  effect: NetEffect,
  { maxLines, secrets = 'mask' }: PathDiffOptions,
): Promise<PathDiff> {
  const { before, after } = effect;
  const folder = folderLine(effect);
  if (folder !== undefined) return { text: folder, truncated: false };
  const head = [
    `--- ${nameOf('a', before, effect)}`,
    `+++ ${nameOf('b', after, effect)}`,
    ...modeLine(before, after),
  ];
  const said = sentence(before, after);
  if (said !== undefined) return { text: [...head, said].join('\n'), truncated: false };
  const bytes: Uint8Array[] = [];
  for (const side of [before, after]) {
    if (side.kind !== 'file') bytes.push(NOTHING);
    else {
      const found = await findBytes(images, side.fingerprint, effect);
      if ('missing' in found) return { text: [...head, `(${found.missing})`].join('\n'), truncated: true };
      bytes.push(found.bytes);
    }
  }
  const [was = NOTHING, is = NOTHING] = bytes;
  if (!bytes.every(isText)) {
    const sizes = `${byteSize(was.byteLength)} before, ${byteSize(is.byteLength)} after`;
    return { text: [...head, `(not text: ${sizes})`].join('\n'), truncated: true };
  }
  const { text, truncated } = maskedDiff<Uint8Array>(was, is, { maxLines, secrets, path: effect.relative });
  return { text: [...head, ...(text === '' ? [] : [text])].join('\n'), truncated };
}

/** True if the bytes can be shown as lines. Bytes that contain a NUL count as text only in UTF-16. */
function isText(bytes: Uint8Array): boolean {
  if (hasNoLines(bytes)) return false;
  return !bytes.includes(0) || decodeText(bytes)?.encoding.startsWith('utf-16') === true;
}

/**
 * The text shown instead of a diff for a folder that was created, removed or given other
 * permissions. Undefined for any other change.
 */
function folderLine({ relative, before, after }: NetEffect): string | undefined {
  const path = pathText(relative);
  if (before.kind === 'absent' && after.kind === 'directory') return `new folder ${path}`;
  if (before.kind === 'directory' && after.kind === 'absent') return `folder ${path} removed`;
  if (before.kind !== 'directory' || after.kind !== 'directory') return undefined;
  return `folder ${path}, mode ${before.mode.toString(8)} to ${after.mode.toString(8)}`;
}

function nameOf(letter: 'a' | 'b', side: State, { relative }: NetEffect): string {
  return side.kind === 'absent' ? '/dev/null' : pathText(`${letter}/${relative}`);
}

function modeLine(before: State, after: State): string[] {
  if (before.kind !== 'file' || after.kind !== 'file' || before.mode === after.mode) return [];
  return [`mode ${before.mode.toString(8)} to ${after.mode.toString(8)}`];
}

/** The sentence for a change that cannot be shown as lines; undefined if it can. */
function sentence(before: State, after: State): string | undefined {
  for (const side of [before, after])
    if (side.kind === 'file' && side.fingerprint.size > MAX_BYTES)
      return `(too large to compare: ${byteSize(side.fingerprint.size)})`;
  if ([before, after].every((side) => side.kind === 'file' || side.kind === 'absent')) return undefined;
  return `(${describeState(before)} became ${describeState(after)})`;
}

/** The state of a path before or after a change, in a few words. */
export function describeState(side: State): string {
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

/**
 * Finds bytes by their fingerprint: among the stored copies, or in the file itself if it is
 * unchanged. Bytes are stored only when a later change replaces them, so the newest bytes are only
 * in the file.
 */
export async function findBytes(
  images: Images,
  wanted: Fingerprint,
  at: { readonly root: string; readonly key: string },
): Promise<FoundBytes> {
  try {
    if (await images.has(wanted.sha256)) return { bytes: await images.read(wanted) };
    const live = await readLive(at, wanted.size);
    const isSame = 'bytes' in live && sameFingerprint(live.fingerprint, wanted);
    if (isSame) return { bytes: live.bytes };
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
  { root, key }: { readonly root: string; readonly key: string },
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
