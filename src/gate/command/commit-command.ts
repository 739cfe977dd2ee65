import { inOrder } from '../../journal/undo-steps.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { CommandPolicy } from '../../model/policy.ts';
import type { RunResult } from '../../model/results.ts';
import { type Outcome, type Refusal, type Refused, refused } from '../../model/verdict.ts';
import type { Layer } from '../../process/layer.ts';
import type { AttributeReader } from '../../process/layer-entries.ts';
import { clip } from '../../report/bounded.ts';
import { carryOut } from '../carry-out.ts';
import { lockKeys } from '../recover.ts';
import { type RestorePlace, restoreSteps } from '../restore-steps.ts';
import { worldFor } from '../run-steps.ts';
import type { World } from '../world.ts';
import { type ShownWrites, showWrites } from './shown-writes.ts';
import { type Vetted, vetWrites } from './vet-writes.ts';
import {
  type LayerContent,
  layerKeys,
  readLayer,
  readWriteSet,
  type WriteSet,
  type Written,
} from './write-set.ts';

/** If a program changes a file during the commit, everything is compared again, this many times at most. */
const MAX_TRIES = 3;
const MAX_COMMAND_CHARS = 1000;
const MAX_REMEMBERED_BYTES = 64 << 10;
/** From this number of files on, new folders link the layer's files instead of writing them again. */
const LINKED_FILES = 200;

/** A layer whose command has ended, and how to commit it. */
export interface LayerCommit {
  readonly layer: Layer;
  readonly attributes: AttributeReader;
  /** The command line for the journal, with its secrets masked. */
  readonly command: string;
  readonly writes: CommandPolicy['writes'];
  /**
   * How to treat changes that other programs made while the command ran. `overwrite` is for callers that have seen
   * them.
   */
  readonly meanwhile: 'merge' | 'overwrite';
  /** Whether the model is shown the changes. Only then do they count as seen. */
  readonly answer: 'shown' | 'silent';
}

/** The result of a commit, as fields of `RunResult`. */
export type CommittedCommand = Pick<
  RunResult,
  'change' | 'committed' | 'files' | 'cut' | 'merged' | 'leftOut' | 'droppedBits'
>;

/**
 * Commits a command's writes as one change with one undo, under the locks of everything it touched: all or nothing. The
 * change has the layer's id. With `discard` nothing is changed and nothing is refused.
 */
export async function commitCommand(
  world: World,
  ledger: Ledger,
  commit: LayerCommit,
): Promise<Outcome<CommittedCommand>> {
  const content = readLayer(commit.layer, commit.attributes);
  if (content.folders.every(({ entries }) => entries.length === 0)) return { ok: true, ...NOTHING_CHANGED };
  const keys = layerKeys(world, content);
  let outcome: Outcome<CommittedCommand> = refused(busy());
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const release = await lockKeys(world, keys);
    if (release === undefined) return refused(busy());
    try {
      const tried = await commitLocked(world, ledger, { ...commit, content, keys });
      if (!('again' in tried)) return tried;
      outcome = refused(tried.again);
    } finally {
      release();
    }
  }
  return outcome;
}

const NOTHING_CHANGED: CommittedCommand = {
  committed: true,
  files: [],
  cut: 0,
  merged: [],
  leftOut: [],
  droppedBits: [],
};

async function commitLocked(
  world: World,
  ledger: Ledger,
  commit: LayerCommit & { readonly content: LayerContent; readonly keys: readonly string[] },
): Promise<Outcome<CommittedCommand> | { readonly again: Refusal }> {
  const read = await readWriteSet(world, commit.content);
  if (!read.ok) return read;
  const { set } = read;
  if (commit.writes === 'discard') {
    const { files, cut } = await showWrites(world, ledger, set.written, commit.answer);
    return { ok: true, ...NOTHING_CHANGED, ...toldOf(set), committed: false, files, cut };
  }
  const { writes, meanwhile } = commit;
  const vetted = await vetWrites(world, ledger, { written: set.written, writes, meanwhile });
  const [first] = vetted.refusals;
  if (first !== undefined) return combined(first, vetted.refusals);
  const shown = await showWrites(world, ledger, vetted.written, commit.answer);
  const several = await worldFor(world, vetted.written.length);
  const outcome = await carryOut(several, ledger, {
    steps: restoreSteps(several, itemsOf(world, vetted, shown)),
    locked: commit.keys,
    command: { change: commit.layer.id, text: clip(commit.command, MAX_COMMAND_CHARS) },
  });
  if (!outcome.ok) return { again: asConflict(outcome.refusal) };
  const { merged } = vetted;
  const change = outcome.change === undefined ? {} : { change: outcome.change };
  return { ok: true, ...toldOf(set), ...change, committed: true, files: shown.files, cut: shown.cut, merged };
}

function toldOf({ leftOut, droppedBits }: WriteSet): Pick<RunResult, 'leftOut' | 'droppedBits'> {
  return { leftOut: leftOut.map(({ path, kind }) => `${path} (${kind})`), droppedBits };
}

/**
 * The items that write the layer's content to every path. They work like an undo in reverse: each expects one state and
 * writes the other.
 */
function itemsOf(world: World, { written }: Vetted, { sightings }: ShownWrites): readonly RestorePlace[] {
  return written
    .map((each): RestorePlace => {
      const { path, before, after, bytes } = each;
      // Linked files are not read again. For so many files the session needs no bytes for later diffs.
      const linked = written.length < LINKED_FILES ? {} : { file: each.file };
      const shown = sightings.get(path.key);
      const read = bytes === undefined ? {} : { bytes: async () => remembered(world, each, bytes()) };
      return {
        step: { key: path.key, relative: path.relative, expect: before, restore: after },
        context: { path, action: 'run', shown: shown === undefined ? [] : [shown], ...read, ...linked },
      };
    })
    .sort((a, b) => inOrder(a.step, b.step));
}

/**
 * Keeps the bytes that a command left as a baseline for later diffs, so that the session can see later changes to them.
 */
function remembered(world: World, { after }: Written, bytes: Buffer): Buffer {
  if (after.kind === 'file' && bytes.byteLength <= MAX_REMEMBERED_BYTES)
    world.baselines.remember(after.fingerprint, bytes);
  return bytes;
}

/** Combines the refusals into one that names every refused file. */
function combined(first: Refusal, refusals: readonly Refusal[]): Refused {
  if (refusals.length === 1) return refused(first);
  return refused({ ...first, detail: { ...first.detail, refusals } });
}

function asConflict({ path, detail }: Refusal): Refusal {
  return {
    code: 'COMMAND_CONFLICT',
    action: 'commit',
    path,
    next: 'read_again',
    ...(detail ? { detail } : {}),
  };
}

function busy(): Refusal {
  return { code: 'BUSY', action: 'run', path: '', next: 'retry_later' };
}
