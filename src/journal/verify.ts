import { hash } from 'node:crypto';
import { CHAIN_START, follows } from '../store/chain.ts';
import { type ChainLink, type ChainState, type Store, type StoreState, walkEntries } from '../store/store.ts';

/** The result of a chain check: success, or the first entry that is not as written. */
export type ChainReport =
  | { readonly ok: true; readonly entries: number; readonly checkpoint: ChainLink; readonly head: ChainLink }
  | {
      readonly ok: false;
      readonly seq: number;
      /** `removed`: entry `seq` is missing. `altered`: entry `seq` is not what was written there. */
      readonly problem: 'removed' | 'altered';
      /**
       * The chain of entries that contains the entry `seq`. Present if every writer has its own
       * chain.
       */
      readonly chain?: string;
    };

export interface VerifyOptions {
  /** Called regularly with the number of entries checked and their total. */
  readonly onProgress?: (done: number, total: number) => void;
}

const PROGRESS_STEP = 1000;

/**
 * Checks the journal from its beginning (or from where a clean-up cut it) to its end. Detects
 * entries that were altered, removed, inserted or reordered. A writer with access to the database
 * could still forge the whole journal. Ignores entries written during the check.
 */
export async function verifyChain(store: Store, options: VerifyOptions = {}): Promise<ChainReport> {
  for (;;) {
    const state = await store.state();
    const report = await walk(store, state, options);
    if (report.ok || !(await wasCleanedUp(store, state, report))) return report;
  }
}

/**
 * True if a clean-up caused the reported problem: it removed the chain, or the chain's beginning,
 * during the check.
 */
async function wasCleanedUp(
  store: Store,
  before: StoreState,
  { chain, seq }: Extract<ChainReport, { readonly ok: false }>,
): Promise<boolean> {
  const now = await store.state();
  const beginningIn = (state: StoreState): ChainLink | undefined =>
    chain === undefined ? state.checkpoint : state.chains?.find((each) => each.chain === chain)?.checkpoint;
  const [then, since] = [beginningIn(before), beginningIn(now)];
  // If the chain was missing before the check, no clean-up removed it during the check.
  if (then === undefined) return false;
  return since === undefined || (since.seq > then.seq && since.seq >= seq);
}

interface Chains {
  readonly head: ChainLink;
  readonly checkpoint: ChainLink;
  readonly options: VerifyOptions;
}

/**
 * Checks every chain, then compares them. When a chain begins, it records the last entries of the
 * other chains. So later chains reveal that an earlier chain was removed or shortened.
 */
async function walkChains(
  store: Store,
  chains: readonly ChainState[],
  { head, checkpoint, options }: Chains,
): Promise<ChainReport> {
  const total = chains.reduce((sum, chain) => sum + chain.head.seq - chain.checkpoint.seq, 0);
  let done = 0;
  const step = (): void => {
    done += 1;
    if (done % PROGRESS_STEP === 0) options.onProgress?.(done, total);
  };
  const ends = endsKnownTo(chains);
  const missed = missedEnd(chains, ends);
  for (const chain of chains) {
    const broken = await walkOne(store, chain, { ends: ends.get(chain.chain), step });
    if (broken !== undefined) return broken;
  }
  if (missed !== undefined) return missed;
  options.onProgress?.(total, total);
  return { ok: true, entries: total, checkpoint, head };
}

async function walkOne(
  store: Store,
  state: ChainState,
  { ends, step }: { readonly ends: Ends | undefined; readonly step: () => void },
): Promise<ChainReport | undefined> {
  const { chain, head } = state;
  const isAsKnown = ({ seq, hash: found }: ChainLink): boolean => (ends?.get(seq) ?? found) === found;
  const broken = (seq: number, problem: 'removed' | 'altered'): ChainReport => ({
    ok: false,
    chain,
    seq,
    problem,
  });
  let previous: ChainLink = state.checkpoint;
  if (previous.seq === 0 && previous.hash !== startOf(state)) return broken(0, 'altered');
  if (!isAsKnown(previous)) return broken(previous.seq, 'altered');
  if (previous.seq === head.seq) return previous.hash === head.hash ? undefined : broken(head.seq, 'altered');
  const inOrder = { chain, order: 'oldest', afterSeq: previous.seq, beforeSeq: head.seq + 1 } as const;
  for await (const entry of walkEntries(store, inOrder)) {
    if (entry.seq !== previous.seq + 1) return broken(previous.seq + 1, 'removed');
    if (!follows(previous, entry) || !isAsKnown(entry)) return broken(entry.seq, 'altered');
    previous = entry;
    step();
  }
  if (previous.seq < head.seq) return broken(previous.seq + 1, 'removed');
  return previous.hash === head.hash ? undefined : broken(previous.seq, 'altered');
}

function startOf({ known }: ChainState): string {
  return known === '[]' ? CHAIN_START.hash : hash('sha256', known);
}

/**
 * The last entries of one chain, as other chains recorded them when they began: hashes by entry
 * number.
 */
type Ends = ReadonlyMap<number, string>;

function endsKnownTo(chains: readonly ChainState[]): ReadonlyMap<string, Ends> {
  const ends = new Map<string, Map<number, string>>();
  for (const { known } of chains) {
    // The cast is safe: the database server wrote `known` when the chain began, and the chain's
    // first hash covers it.
    for (const [chain, seq, end] of JSON.parse(known) as [string, number, string][]) {
      const those = ends.get(chain) ?? new Map<number, string>();
      ends.set(chain, those.set(seq, end));
    }
  }
  return ends;
}

/**
 * The first entry that one chain recorded as the end of another chain, and that no longer exists.
 */
function missedEnd(chains: readonly ChainState[], ends: ReadonlyMap<string, Ends>): ChainReport | undefined {
  const heads = new Map(chains.map(({ chain, head }) => [chain, head.seq]));
  for (const [chain, those] of ends)
    for (const seq of those.keys())
      if (seq > (heads.get(chain) ?? -1)) return { ok: false, chain, seq, problem: 'removed' };
  return undefined;
}

async function walk(store: Store, state: StoreState, options: VerifyOptions): Promise<ChainReport> {
  const { checkpoint, head, witness, chains } = state;
  if (chains !== undefined) return walkChains(store, chains, { head, checkpoint, options });
  if (witness !== undefined && witness.seq > head.seq)
    return { ok: false, seq: head.seq + 1, problem: 'removed' };
  const total = head.seq - checkpoint.seq;
  let previous: ChainLink = checkpoint;
  while (previous.seq < head.seq) {
    // End the page at the witness, so that its hash can be compared. The witness is the number and
    // hash of the newest entry, copied to a file outside the store.
    const isAhead = witness !== undefined && witness.seq > previous.seq;
    const page = await walkPage(store, previous, isAhead ? witness.seq : head.seq);
    if ('problem' in page) return page;
    previous = page;
    if (previous.seq === witness?.seq && previous.hash !== witness.hash)
      return { ok: false, seq: previous.seq, problem: 'altered' };
    options.onProgress?.(previous.seq - checkpoint.seq, total);
  }
  if (previous.hash !== head.hash) return { ok: false, seq: head.seq, problem: 'altered' };
  const beyond = await entryBeyondEnd(store, head.seq);
  if (beyond !== undefined) return { ok: false, seq: beyond, problem: 'altered' };
  options.onProgress?.(total, total);
  return { ok: true, entries: total, checkpoint, head };
}

/** Checks a page of entries after `previous`, not beyond `throughSeq`, and returns the last one. */
async function walkPage(
  store: Store,
  previous: ChainLink,
  throughSeq: number,
): Promise<ChainLink | Extract<ChainReport, { readonly ok: false }>> {
  const confirmed = await store.confirm?.(previous, throughSeq);
  if (confirmed !== undefined) return confirmed;
  const end = Math.min(throughSeq, previous.seq + PROGRESS_STEP);
  let last = previous;
  for (const entry of await store.entries({
    order: 'oldest',
    afterSeq: previous.seq,
    beforeSeq: end + 1,
  })) {
    if (entry.seq !== last.seq + 1) break;
    if (!follows(last, entry)) return { ok: false, seq: entry.seq, problem: 'altered' };
    last = { seq: entry.seq, hash: entry.hash };
  }
  return last.seq < end ? { ok: false, seq: last.seq + 1, problem: 'removed' } : last;
}

/**
 * The number of the first entry after the recorded end, or undefined if there is none. Such an
 * entry proves that the journal was tampered with.
 */
async function entryBeyondEnd(store: Store, end: number): Promise<number | undefined> {
  const [next] = await store.entries({ afterSeq: end, order: 'oldest', limit: 1 });
  if (next === undefined) return undefined;
  // Read the recorded end again, because the entry may have been written during the check.
  const { head } = await store.state();
  return next.seq > head.seq ? next.seq : undefined;
}
