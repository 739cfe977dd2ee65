import { isUndo, UndoHistory } from '../journal/undo-history.ts';
import { byPath, endsOf, isOfFolder } from '../model/delta.ts';
import type { ChangeEntry, Entry, EntryOf } from '../model/entry.ts';
import { defined } from '../model/record.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { GitPosition, TurnMark } from '../model/turn.ts';
import { type Store, walkEntries } from '../store/store.ts';
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
export async function turnViews({ store }: Records, request: TurnRequest): Promise<TurnView[]> {
  const log = new TurnLog(new Families(await store.sessions()), request.session);
  const marks = await marksFor(store, request, log);
  const oldest = marks.at(-1);
  if (oldest === undefined) return [];
  // A change belongs to the newest turn before it, so every turn since the oldest requested one is
  // needed.
  const since = { kinds: ['turn', 'change'], order: 'oldest', afterSeq: oldest.seq - 1 } as const;
  for await (const entry of walkEntries(store, { ...request.scope.filter, ...since })) log.add(entry);
  const wanted = new Set(marks.map((mark) => log.nameOf(mark)));
  return log.views(wanted).slice(0, limitOf(request));
}

function limitOf({ limit = 0 }: TurnRequest): number {
  return limit === 0 ? Infinity : limit;
}

/** The entries that begin the requested turns, newest first. A turn may have several: see `TurnLog`. */
async function marksFor(
  store: Store,
  request: TurnRequest,
  log: Pick<TurnLog, 'nameOf'>,
): Promise<readonly EntryOf<'turn'>[]> {
  const { scope, session, name, before } = request;
  const filter = { ...scope.filter, kinds: ['turn'], ...defined({ session, beforeSeq: before }) } as const;
  const limit = limitOf(request);
  const marks: EntryOf<'turn'>[] = [];
  const turns = new Set<string>();
  for await (const entry of walkEntries(store, filter)) {
    // The entries of a turn may lie between those of others. So more turns are searched than wanted.
    if (name === undefined && turns.add(log.nameOf(entry)).size > 2 * limit) break;
    marks.push(entry);
  }
  const wanted = new Set([...turns].slice(0, limit));
  if (name === undefined) return marks.filter((mark) => wanted.has(log.nameOf(mark)));
  const exact = marks.filter(({ turn, label }) => turn === name || label === name);
  return exact.length > 0 ? exact : marks.filter(({ turn }) => turn.startsWith(name));
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
   * A session, its parent and all further ancestors. The record of a sub-agent names its parent; a
   * sub-agent without a record has an id `PARENT/AGENT`.
   */
  lineOf(session: string): readonly string[] {
    const line: string[] = [];
    let id: string | undefined = session;
    while (id !== undefined && !line.includes(id)) {
      line.push(id);
      const slash: number = id.lastIndexOf('/');
      id = this.#parents.get(id) ?? (slash > 0 ? id.slice(0, slash) : undefined);
    }
    return line;
  }
}

/** A turn and its changes, as far as they have been read. */
interface Turn {
  readonly mark: EntryOf<'turn'>;
  readonly files: Set<string>;
  /** For each change: its id, and the paths that it changed. Not the entries, which may have megabytes. */
  readonly changes: { readonly change: string; readonly seq: number; readonly keys: readonly string[] }[];
}

/**
 * Assigns changes to turns. A turn begins with several entries if its session works in several
 * workspaces, or if its sub-agents record it, too. All of them count as one turn.
 */
class TurnLog {
  readonly #families: Families;
  readonly #session: string | undefined;
  readonly #turns = new Map<string, Turn>();
  /** The newest turn with each id. */
  readonly #withId = new Map<string | undefined, Turn>();
  /** The newest turn that each session recorded. */
  readonly #newestOf = new Map<string, Turn>();
  readonly #undos: ChangeEntry[] = [];

  /** With `session`, only turns of that session and what its sub-agents did in them. */
  constructor(families: Families, session: string | undefined) {
    this.#families = families;
    this.#session = session;
  }

  /** Identifies a turn by its id and by the session at the top of the family, or the given session. */
  nameOf({ session, turn }: Pick<Entry, 'session' | 'turn'>): string {
    const line = this.#families.lineOf(session);
    const owner = line.find((id) => id === this.#session) ?? line.at(-1);
    return JSON.stringify([owner, turn]);
  }

  /** Adds a turn or a change. Entries must be added oldest first. */
  add(entry: EntryOf<'turn' | 'change'>): void {
    if (entry.kind === 'turn') this.#begin(entry);
    else this.#assign(entry);
  }

  #begin(mark: EntryOf<'turn'>): void {
    const name = this.nameOf(mark);
    const turn = this.#turns.get(name) ?? { mark, files: new Set(), changes: [] };
    this.#turns.set(name, turn);
    this.#withId.set(mark.turn, turn);
    this.#newestOf.set(mark.session, turn);
  }

  #assign(entry: ChangeEntry): void {
    if (isUndo(entry)) this.#undos.push(entry);
    const turn = this.#turnOf(entry);
    if (turn === undefined) return;
    for (const path of filesOf(entry)) turn.files.add(path);
    const keys = new UndoHistory([entry]).effective(entry).flatMap(endsOf);
    turn.changes.push({ change: entry.change, seq: entry.seq, keys });
  }

  /**
   * The turn to which a change belongs: the turn that the change names, otherwise the newest one of
   * its session and that session's ancestors.
   */
  #turnOf(change: ChangeEntry): Turn | undefined {
    // A sub-agent without a name has no record that names its parent. So fall back to any turn with
    // this id, which is the parent's: ids are unique.
    if (change.turn !== undefined)
      return this.#turns.get(this.nameOf(change)) ?? this.#withId.get(change.turn);
    const related = this.#families.lineOf(change.session).flatMap((id) => this.#newestOf.get(id) ?? []);
    return related.sort((a, b) => b.mark.seq - a.mark.seq)[0];
  }

  /** The turns with these names, newest first. */
  views(names: ReadonlySet<string>): TurnView[] {
    const history = new UndoHistory(this.#undos);
    const wanted = [...this.#turns].filter(([name]) => names.has(name)).map(([, turn]) => turn);
    return wanted.reverse().map(({ mark, files, changes }): TurnView => {
      const { turn, label, prompt, promptNumber, session, root, atMs, seq, git } = mark;
      return {
        ...{ turn, session, root, atMs, seq, ...defined({ label, prompt, promptNumber, git }) },
        files: [...files],
        changes: changes.map(({ change }) => change),
        stands: changes.some((each) => each.keys.some((key) => history.undoerOf(each, key) === undefined)),
      };
    });
  }
}

function filesOf(entry: ChangeEntry): string[] {
  const deltas = byPath(entry.deltas);
  const files = deltas.filter((delta) => !isOfFolder(delta));
  return (files.length === 0 ? deltas : files).map(({ relative }) => relative);
}
