import { follows } from '../store/chain.ts';
import type { ChainLink, Store } from '../store/store.ts';
import { walkEntries } from './journal.ts';

/** What a walk along the chain found: nothing, or the first entry that is not as it was written. */
export type ChainReport =
  | { readonly ok: true; readonly entries: number; readonly checkpoint: ChainLink; readonly head: ChainLink }
  | {
      readonly ok: false;
      readonly seq: number;
      /** `removed`: number `seq` is missing. `altered`: it is there and is not what was written in its place. */
      readonly problem: 'removed' | 'altered';
    };

export interface VerifyOptions {
  /** Called now and then with how many of how many entries were looked at. */
  readonly onProgress?: (done: number, total: number) => void;
}

const PROGRESS_STEP = 1000;

/**
 * Walks the journal from its beginning (or from where a clean-up has cut it) to its end. Finds entries that were
 * altered, removed, put in or put elsewhere; someone who can write the database could still forge all of it anew.
 * Entries that are written meanwhile are not looked at.
 */
export async function verifyChain(store: Store, options: VerifyOptions = {}): Promise<ChainReport> {
  for (;;) {
    const report = await walk(store, options);
    if (report.ok) return report;
    // A clean-up may have cut the beginning off while we were walking there; then the walk starts again.
    const { checkpoint } = await store.state();
    if (checkpoint.seq < report.seq) return report;
  }
}

async function walk(store: Store, options: VerifyOptions): Promise<ChainReport> {
  const { checkpoint, head, witness } = await store.state();
  if (witness !== undefined && witness.seq > head.seq)
    return { ok: false, seq: head.seq + 1, problem: 'removed' };
  const total = head.seq - checkpoint.seq;
  let previous: ChainLink = checkpoint;
  const inOrder = { order: 'oldest', afterSeq: checkpoint.seq, beforeSeq: head.seq + 1 } as const;
  for await (const entry of walkEntries(store, inOrder)) {
    const expected = previous.seq + 1;
    if (entry.seq !== expected) return { ok: false, seq: expected, problem: 'removed' };
    if (!follows(previous, entry) || contradicts(entry, witness))
      return { ok: false, seq: entry.seq, problem: 'altered' };
    previous = entry;
    const done = entry.seq - checkpoint.seq;
    if (done % PROGRESS_STEP === 0) options.onProgress?.(done, total);
  }
  if (previous.seq < head.seq) return { ok: false, seq: previous.seq + 1, problem: 'removed' };
  if (previous.hash !== head.hash) return { ok: false, seq: head.seq, problem: 'altered' };
  const beyond = await entryBeyondEnd(store, head.seq);
  if (beyond !== undefined) return { ok: false, seq: beyond, problem: 'altered' };
  options.onProgress?.(total, total);
  return { ok: true, entries: total, checkpoint, head };
}

function contradicts(entry: ChainLink, witness: ChainLink | undefined): boolean {
  return entry.seq === witness?.seq && entry.hash !== witness.hash;
}

/** An entry after the end that the store knows: the end was set back, or the entry put there past it. */
async function entryBeyondEnd(store: Store, end: number): Promise<number | undefined> {
  const [next] = await store.entries({ afterSeq: end, order: 'oldest', limit: 1 });
  if (next === undefined) return undefined;
  // It may have been written while we were walking.
  const { head } = await store.state();
  return next.seq > head.seq ? next.seq : undefined;
}
