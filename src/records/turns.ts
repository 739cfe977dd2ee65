import { UndoHistory } from '../journal/undo-history.ts';
import type { Entry } from '../model/entry.ts';
import { defined } from '../model/record.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { GitPosition, TurnMark } from '../model/turn.ts';
import { type EntryFilter, type Store, walkEntries } from '../store/store.ts';
import type { Records } from './records.ts';
import type { Scope } from './scope.ts';

/** A turn as users see it: its start, its prompt and its changes. */
export interface TurnView extends TurnMark {
  readonly session: string;
  readonly root: string;
  readonly atMs: number;
  /** Number of the turn's entry in the journal. */
  readonly seq: number;
  /** Paths of the changed files, relative to their roots. */
  readonly files: readonly string[];
  /** Ids of the turn's changes, oldest first. */
  readonly changes: readonly string[];
  /** False if there was no change, or if every change was undone since. */
  readonly stands: boolean;
  /** The state of git when the turn began: branch, commit and staged content. */
  readonly git?: GitPosition;
}

interface TurnRequest {
  readonly scope: Scope;
  readonly session?: string | undefined;
  /** Show only turns with this id or label, or else those whose ids begin with it. */
  readonly name?: string | undefined;
  /** Show only turns that began before the entry with this number. */
  readonly before?: number | undefined;
  /** The maximum number of turns; 0 or absent means all. */
  readonly limit?: number | undefined;
}

/** The turns in a scope, newest first. A turn of a session includes what its sub-agents did. */
export async function turnViews(records: Records, request: TurnRequest): Promise<TurnView[]> {
  const families = new Families(await records.store.sessions());
  const marks = await marksFor(records, request, families);
  const oldest = marks.at(-1);
  if (oldest === undefined) return [];
  // A change belongs to the newest turn before it, so every turn since the oldest requested one is
  // needed.
  const filter = { ...request.scope.filter, kinds: ['turn', 'change'], order: 'oldest' } as const;
  const all: Entry[] = [];
  for await (const entry of walkEntries(records.store, { ...filter, afterSeq: oldest.seq - 1 }))
    all.push(entry);
  const isFirst = unlessRepeated(all);
  const isOwn = request.session === undefined ? unlessInherited(all, families) : () => true;
  const isShown = (entry: Entry): boolean => isFirst(entry) && isOwn(entry);
  const byMark = changesByMark(all.filter(isShown), families);
  const history = new UndoHistory(all);
  return marks
    .filter(isShown)
    .slice(0, limitOf(request))
    .map((mark) => viewOf(mark, byMark.get(mark.seq) ?? [], history));
}

function limitOf({ limit = 0 }: TurnRequest): number {
  return limit === 0 ? Infinity : limit;
}

/**
 * Returns a filter that removes repeated turn entries. A session that works in several workspaces
 * begins a turn in each of them, and only the first entry counts. `entries` must be sorted oldest
 * first.
 */
function unlessRepeated(entries: readonly Entry[]): (entry: Entry) => boolean {
  const first = new Map<string, number>();
  const keyOf = ({ session, turn }: Entry): string => JSON.stringify([session, turn]);
  for (const entry of entries)
    if (entry.kind === 'turn' && !first.has(keyOf(entry))) first.set(keyOf(entry), entry.seq);
  return (entry) => entry.kind !== 'turn' || first.get(keyOf(entry)) === entry.seq;
}

/**
 * Returns a filter that removes a turn entry of a sub-agent if its parent has a turn with the same
 * id. The sub-agent then works in its parent's turn.
 */
function unlessInherited(entries: readonly Entry[], families: Families): (entry: Entry) => boolean {
  const marks = entries.filter(({ kind }) => kind === 'turn');
  return ({ kind, turn, session }) =>
    kind !== 'turn' ||
    !marks.some(
      (mark) => mark.turn === turn && mark.session !== session && families.includes(mark.session, session),
    );
}

/**
 * The entries that begin the requested turns, newest first. A turn has several entries if its
 * session works in several workspaces, or if its sub-agents record it, too. All of them count as
 * one turn.
 */
async function marksFor({ store }: Records, request: TurnRequest, families: Families): Promise<Entry[]> {
  const { scope, session, name, before } = request;
  const filter = { ...scope.filter, kinds: ['turn'], ...defined({ session, beforeSeq: before }) } as const;
  const limit = limitOf(request);
  if (name === undefined && limit < Infinity) return newestMarks(store, filter, { limit, families });
  const marks: Entry[] = [];
  for await (const entry of walkEntries(store, filter)) marks.push(entry);
  if (name === undefined) return marks;
  const exact = marks.filter(({ turn, label }) => turn === name || label === name);
  return exact.length > 0 ? exact : marks.filter(({ turn }) => turn?.startsWith(name) === true);
}

/** The first query asks for this many entries per turn. If turns have more, a larger query follows. */
const MARKS_PER_TURN = 4;

async function newestMarks(
  store: Store,
  filter: EntryFilter,
  { limit, families }: { readonly limit: number; readonly families: Families },
): Promise<Entry[]> {
  const idOf = ({ session, turn }: Entry): string => JSON.stringify([families.topOf(session), turn]);
  for (let most = limit * MARKS_PER_TURN; ; most *= MARKS_PER_TURN) {
    const marks = await store.entries({ ...filter, limit: most });
    const turns = new Set(marks.map(idOf));
    const wanted = new Set([...turns].slice(0, limit));
    if (turns.size > limit || marks.length < most) return marks.filter((mark) => wanted.has(idOf(mark)));
  }
}

/** The parent of each sub-agent's session. */
export class Families {
  readonly #parents: ReadonlyMap<string, string>;

  constructor(records: readonly SessionRecord[]) {
    this.#parents = new Map(
      records.flatMap(({ id, parent, forked }) =>
        parent === undefined || forked === true ? [] : [[id, parent] as const],
      ),
    );
  }

  /**
   * True for the session itself and its sub-agents. A sub-agent has an id `SESSION/AGENT`, or its
   * record names the parent session.
   */
  includes(session: string, member: string): boolean {
    const visited = new Set<string>();
    for (
      let id: string | undefined = member;
      id !== undefined && !visited.has(id);
      id = this.#parents.get(id)
    ) {
      if (id === session || id.startsWith(`${session}/`)) return true;
      visited.add(id);
    }
    return false;
  }

  /** The session itself or, for a sub-agent, the session at the top of its family. */
  topOf(member: string): string {
    const visited = new Set<string>();
    let top = member;
    for (
      let id: string | undefined = member;
      id !== undefined && !visited.has(id);
      id = this.#parents.get(id)
    ) {
      visited.add(id);
      top = id;
    }
    return top.split('/')[0] ?? top;
  }
}

/**
 * The changes of each turn, by the number of the turn's entry. `entries` must be sorted oldest
 * first.
 */
function changesByMark(entries: readonly Entry[], families: Families): ReadonlyMap<number, Entry[]> {
  const marks: Entry[] = [];
  const byMark = new Map<number, Entry[]>();
  for (const entry of entries) {
    if (entry.kind === 'turn') marks.push(entry);
    const mark = entry.kind === 'change' ? turnOf(entry, marks, families) : undefined;
    if (mark === undefined) continue;
    const made = byMark.get(mark.seq);
    if (made === undefined) byMark.set(mark.seq, [entry]);
    else made.push(entry);
  }
  return byMark;
}

/**
 * The turn to which a change belongs: the turn that the change names, otherwise the newest turn
 * before it. Turns of the change's own session and of its parent session count.
 */
function turnOf(change: Entry, marks: readonly Entry[], families: Families): Entry | undefined {
  const isRelated = (mark: Entry): boolean => families.includes(mark.session, change.session);
  if (change.turn === undefined) return marks.findLast(isRelated);
  const named = marks.filter(({ turn }) => turn === change.turn);
  // A sub-agent without a name has no record that names its parent. So fall back to any turn with
  // this id, which is the parent's: ids are unique.
  return (
    named.findLast(({ session }) => session === change.session) ?? named.findLast(isRelated) ?? named.at(-1)
  );
}

function viewOf(mark: Entry, changes: readonly Entry[], history: UndoHistory): TurnView {
  const { turn = '', label, prompt, promptNumber, session, root, atMs, seq, git } = mark;
  return {
    turn,
    ...defined({ label, prompt, promptNumber, git }),
    session,
    root,
    atMs,
    seq,
    files: [...new Set(changes.flatMap(filesOf))],
    changes: changes.flatMap(({ change }) => change ?? []),
    stands: changes.some((entry) => history.standing(entry).length > 0),
  };
}

function filesOf({ effects = [] }: Entry): string[] {
  const isFile = ({ before, after }: (typeof effects)[number]): boolean =>
    before.kind !== 'directory' && after.kind !== 'directory';
  const files = effects.filter(isFile);
  return (files.length === 0 ? effects : files).map(({ relative }) => relative);
}
