/**
 * The kind of a record. `message`: a prompt or an answer; if it names an earlier parent, the
 * conversation goes back there. `result`: the result of a tool call. `aside`: a record beside the
 * conversation, such as a progress report.
 */
export type LinkKind = 'message' | 'result' | 'aside';

/** The tree of a transcript whose records name their parent. Each record has a position, counted from 0. */
export interface RecordChain {
  /**
   * The runs of consecutive records, oldest first. A new run begins when a record follows an
   * earlier record than the last one: the records in between leave the conversation.
   */
  branches: Branch[];
  /** The position of the next record. */
  next: number;
  /**
   * Position of the last record that is not a tool result. The results of parallel calls follow it,
   * and the next message may name any of them as its parent. So a message whose parent is at this
   * position or later continues the conversation instead of going back.
   */
  runStart: number;
  /** The positions of the last few thousand named records. When `newer` is full, it replaces `older`. */
  newer: Map<string, number>;
  older: Map<string, number>;
}

/** A run of records. Its first record is at `start` and follows the record at `from`; -1 if it follows none. */
interface Branch {
  readonly start: number;
  readonly from: number;
}

/** Maximum number of names in each of the two maps, so that memory does not grow with the transcript. */
const GENERATION = 4096;

export function emptyChain(): RecordChain {
  return { branches: [{ start: 0, from: -1 }], next: 0, runStart: 0, newer: new Map(), older: new Map() };
}

export function knows({ newer, older }: RecordChain, name: string): boolean {
  return newer.has(name) || older.has(name);
}

/**
 * Links a record to its parent and returns its position. `parent` is undefined for the first record
 * of a conversation. A message or result with an unknown parent begins a new conversation.
 */
export function link(chain: RecordChain, parent: string | undefined, kind: LinkKind, name: string): number {
  const place = linked(chain, parent, kind);
  setName(chain, name, place);
  return place;
}

/**
 * Begins a new conversation with the record `name` and forgets all earlier records. The `others`
 * become other names of that record: records that name one of them as parent follow it.
 */
export function beginAnew(chain: RecordChain, name: string, others: Iterable<string>): number {
  chain.newer.clear();
  chain.older.clear();
  const place = linked(chain, undefined, 'message');
  for (const other of [...others, name]) setName(chain, other, place);
  return place;
}

/** True if the record at this position is part of the conversation as it is now. */
export function isInChain({ branches }: RecordChain, place: number): boolean {
  let last = Number.POSITIVE_INFINITY;
  for (let at = branches.length - 1; at >= 0; at -= 1) {
    const { start = 0, from = -1 } = branches[at] ?? {};
    // A branch that begins after the point to which the conversation went back is not part of it.
    if (start > last) continue;
    if (place >= start) return place <= last;
    last = from;
  }
  return false;
}

function linked(chain: RecordChain, parent: string | undefined, kind: LinkKind): number {
  const place = parent === undefined ? undefined : (chain.newer.get(parent) ?? chain.older.get(parent));
  if (place === undefined && (parent === undefined || kind !== 'aside'))
    chain.branches = [{ start: chain.next, from: -1 }];
  else if (place !== undefined && place !== chain.next - 1) {
    // Append nothing for a record beside the conversation, and for the result of a call that has
    // left it. It gets the position of its parent.
    if (kind === 'aside' || (kind === 'result' && !isInChain(chain, place))) return place;
    if (kind === 'message' && place < chain.runStart) chain.branches.push({ start: chain.next, from: place });
  }
  if (kind !== 'result') chain.runStart = chain.next;
  chain.next += 1;
  return chain.next - 1;
}

function setName(chain: RecordChain, name: string, place: number): void {
  if (chain.newer.size >= GENERATION) {
    chain.older = chain.newer;
    chain.newer = new Map();
  }
  chain.newer.set(name, place);
}
