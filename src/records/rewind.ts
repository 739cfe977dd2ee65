import { selectChanges, UndoHistory } from '../journal/undo-history.ts';
import type { ChangeEntry } from '../model/entry.ts';
import type { GitPosition } from '../model/turn.ts';
import { gitPosition } from '../process/git-refs.ts';
import { walkEntries } from '../store/store.ts';
import { netEffects } from './net-effects.ts';
import type { Records } from './records.ts';
import type { Scope } from './scope.ts';
import { Families, type TurnView } from './turns.ts';
import type { UndoJob } from './undo-jobs.ts';

/**
 * The undo that returns the files to their state at the beginning of a turn. `of` selects the
 * changes since then: those of the turn's session and its sub-agents, or those of all sessions in
 * scope. Undefined if there is nothing to undo.
 */
export async function rewindJob(
  { store }: Records,
  {
    turn,
    scope,
    of,
  }: { readonly turn: TurnView; readonly scope: Scope; readonly of: 'session' | 'everyone' },
): Promise<UndoJob | undefined> {
  const families = new Families(await store.sessions());
  /** The sessions that recorded each turn, by the turn's id. */
  const recordedBy = new Map<string | undefined, Set<string>>();
  const all: ChangeEntry[] = [];
  const isOf = ({ session, turn: named }: ChangeEntry): boolean => {
    if (of === 'everyone' || families.lineOf(session).includes(turn.session)) return true;
    // The store has no record of a sub-agent without a name. Its changes are recognised by their
    // turn id, which is that of the parent session.
    const sessions = named === undefined ? undefined : recordedBy.get(named);
    return sessions?.has(turn.session) === true && !sessions.has(session);
  };
  const since = { kinds: ['turn', 'change'], afterSeq: turn.seq - 1, order: 'oldest' } as const;
  for await (const entry of walkEntries(store, { ...scope.filter, ...since })) {
    if (entry.kind === 'turn')
      recordedBy.set(entry.turn, (recordedBy.get(entry.turn) ?? new Set()).add(entry.session));
    else all.push(entry);
  }
  const changes = all.filter(isOf);
  const roots = [...new Set([...changes, ...netEffects(changes)].map(({ root }) => root))];
  const sessions = of === 'everyone' ? undefined : [...new Set(changes.map(({ session }) => session))];
  const target = { kind: 'since', roots, afterSeq: turn.seq, ...(sessions && { sessions }) } as const;
  if (selectChanges(new UndoHistory(all), target).length === 0) return undefined;
  return { roots, selection: { rewind: { turn: turn.turn, afterSeq: turn.seq, sessions } } };
}

/**
 * Describes what a rewind leaves unchanged in git: changes of HEAD, branches and index since the
 * turn began. Each line ends with a git command that reverts or lists the changes. Empty if git has
 * not changed, or if the turn did not record git's position.
 */
export function gitLeftAlone({ git: then, root }: Pick<TurnView, 'git' | 'root'>): readonly string[] {
  const now = gitPosition(root);
  if (then === undefined || now === undefined) return [];
  const lines: string[] = [];
  if (then.branch !== now.branch)
    lines.push(`HEAD is no longer on ${nameOf(then)}; to return: ${headCommand(then)}`);
  if (then.commit !== now.commit && then.commit !== undefined)
    lines.push(`HEAD was at ${then.commit.slice(0, 12)}; to return: git reset ${then.commit.slice(0, 12)}`);
  else if (then.index !== now.index)
    lines.push('staged content has changed; to unstage everything: git reset');
  if (lines.length === 0 && then.branches !== now.branches)
    lines.push('branches have moved; to list the moves: git reflog show --all');
  return lines;
}

function nameOf({ branch, commit = '' }: GitPosition): string {
  return branch?.replace('refs/heads/', '') ?? commit.slice(0, 12);
}

function headCommand({ branch, commit = '' }: GitPosition): string {
  return branch === undefined
    ? `git update-ref --no-deref HEAD ${commit.slice(0, 12)}`
    : `git symbolic-ref HEAD ${branch}`;
}
