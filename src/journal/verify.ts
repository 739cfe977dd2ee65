import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { CHAIN_START } from '../store/chain.ts';
import type { BrokenLink, ChainLink, Store, StoreState } from '../store/store.ts';

/** The result of a chain check: success, or the first entry that is not as written. */
export type ChainReport =
  | { readonly ok: true; readonly entries: number; readonly checkpoint: ChainLink; readonly head: ChainLink }
  | ({
      readonly ok: false;
      /**
       * The chain of entries that contains the entry `seq`. Present if every writer has its own
       * chain.
       */
      readonly chain?: string;
    } & BrokenLink);

interface VerifyOptions {
  /** Called regularly with the number of entries checked and their total. */
  readonly onProgress?: (done: number, total: number) => void;
}

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

/** Checks each chain on its own, then compares them: see `endsKnownTo`. */
async function walk(store: Store, state: StoreState, options: VerifyOptions): Promise<ChainReport> {
  const { checkpoint, head, witness, chains } = state;
  const parts: readonly ChainPart[] = chains === undefined ? [{ checkpoint, head }] : chains;
  const ends = chains === undefined ? witnessed(witness) : endsKnownTo(chains);
  const total = parts.reduce((sum, part) => sum + part.head.seq - part.checkpoint.seq, 0);
  let done = 0;
  const step = (count: number): void => {
    done += count;
    options.onProgress?.(done, total);
  };
  for (const part of parts) {
    const broken = await walkPart(store, part, { ends: ends.get(part.chain), step });
    if (broken !== undefined) return { ok: false, ...broken, ...(part.chain && { chain: part.chain }) };
  }
  const missed = missedEnd(parts, ends);
  if (missed !== undefined) return missed;
  const beyond = chains === undefined ? await entryBeyondEnd(store, head.seq) : undefined;
  if (beyond !== undefined) return { ok: false, seq: beyond, problem: 'altered' };
  options.onProgress?.(total, total);
  return { ok: true, entries: total, checkpoint, head };
}

/** A chain to check. Without a name, it is the journal's only chain. */
type ChainPart = Pick<NonNullable<StoreState['chains']>[number], 'head' | 'checkpoint'> &
  Partial<Pick<NonNullable<StoreState['chains']>[number], 'chain' | 'known'>>;

async function walkPart(
  store: Store,
  part: ChainPart,
  { ends, step }: { readonly ends: Ends | undefined; readonly step: (count: number) => void },
): Promise<BrokenLink | undefined> {
  const { chain, head, checkpoint } = part;
  if (checkpoint.seq === 0 && checkpoint.hash !== startOf(part)) return { seq: 0, problem: 'altered' };
  if ((ends?.get(checkpoint.seq) ?? checkpoint.hash) !== checkpoint.hash)
    return { seq: checkpoint.seq, problem: 'altered' };
  let previous: ChainLink = checkpoint;
  while (previous.seq < head.seq) {
    const page = await store.checkLinks(previous, { throughSeq: head.seq, chain, known: ends });
    if ('problem' in page) return page;
    if (page.seq === previous.seq) return { seq: page.seq + 1, problem: 'removed' };
    step(page.seq - previous.seq);
    previous = page;
    // Let other work have a turn: a local store answers at once.
    await setImmediate();
  }
  return previous.hash === head.hash ? undefined : { seq: head.seq, problem: 'altered' };
}

function startOf({ known = '[]' }: ChainPart): string {
  return known === '[]' ? CHAIN_START.hash : hash('sha256', known);
}

/** Hashes of entries of one chain, by number, that are recorded elsewhere. */
type Ends = ReadonlyMap<number, string>;
type KnownEnds = ReadonlyMap<string | undefined, Ends>;

/** The newest entry, as the file beside the database names it. */
function witnessed(witness: ChainLink | undefined): KnownEnds {
  return new Map(witness && [[undefined, new Map([[witness.seq, witness.hash]])]]);
}

/**
 * The last entries of the other chains, as each chain recorded them when it began. So later chains
 * reveal that an earlier chain was removed or shortened.
 */
function endsKnownTo(chains: readonly NonNullable<StoreState['chains']>[number][]): KnownEnds {
  const ends = new Map<string | undefined, Map<number, string>>();
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

/** The first entry that is recorded elsewhere as the end of a chain, and that no longer exists. */
function missedEnd(parts: readonly ChainPart[], ends: KnownEnds): ChainReport | undefined {
  const heads = new Map(parts.map(({ chain, head }) => [chain, head.seq]));
  for (const [chain, those] of ends)
    for (const seq of those.keys()) {
      const end = heads.get(chain) ?? -1;
      if (seq > end)
        return { ok: false, ...(chain && { chain }), seq: chain ? seq : end + 1, problem: 'removed' };
    }
  return undefined;
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
