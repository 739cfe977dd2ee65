import type { AtRisk, RefusalOf, Writer } from '../model/verdict.ts';

/** A refusal names at most this many things. */
const MAX_NAMED = 50;

/**
 * The reason why nothing else has the bytes of a thing. `at-work`: it counts only if it is another
 * session's present work.
 */
export type OnlyCopy =
  | 'uncommitted'
  | 'untracked'
  | 'ignored'
  | 'no-repository'
  | 'staged'
  | 'stashed'
  | 'unreachable'
  | 'nested'
  | 'history'
  | 'pruned'
  | 'outside'
  | 'at-work'
  | 'own-entries';

const WORDS: Readonly<Record<OnlyCopy, string>> = {
  uncommitted: 'an uncommitted edit',
  untracked: 'untracked',
  ignored: 'ignored by git',
  'no-repository': 'in no repository',
  staged: 'staged, not committed',
  stashed: 'no commit has it',
  unreachable: 'has commits that nothing else leads to',
  nested: 'has commits that no remote has',
  history: 'has commits that would be gone for good',
  pruned: 'the line also deletes its objects',
  outside: 'outside the workspace',
  'at-work': 'not committed',
  'own-entries': 'has the entries of Lookfirst',
};

/** Something that a line would destroy and that its session did not make. */
export interface ThingAtRisk extends Pick<AtRisk, 'what' | 'kind'> {
  readonly why: OnlyCopy;
  /** Another session, active in the last minutes, whose recorded work it is. */
  readonly writer?: Writer;
}

/** The facts for the rules about destroying command lines. */
interface DestructionFacts {
  /** Without what the user has allowed by name. */
  readonly things: readonly ThingAtRisk[];
  /** False if the things are too large to be kept before the command. */
  readonly canBeKept: boolean;
}

/**
 * Refuses a command line that would destroy things. `next` says for how long: what is another
 * session's present work, the history of a repository, our entries in a client's settings, or cannot
 * be kept is refused for good, everything else only once.
 */
export function judgeDestruction({
  things,
  canBeKept,
}: DestructionFacts): RefusalOf<'WOULD_DESTROY'> | undefined {
  if (things.length === 0) return undefined;
  const others = things.filter(({ writer }) => writer !== undefined);
  if (others.length > 0)
    return refusal(others, 'ask_human', "it would destroy another session's uncommitted work");
  const history = things.filter(({ why }) => why === 'history' || why === 'pruned');
  if (history.length > 0)
    return refusal(history, 'ask_human', 'it would destroy history that only this repository has');
  const ownEntries = things.filter(({ why }) => why === 'own-entries');
  if (ownEntries.length > 0)
    return refusal(ownEntries, 'ask_human', "it would remove Lookfirst from a client's settings");
  const isOutside = things.every(({ why }) => why === 'outside');
  const all = isOutside
    ? `it would destroy ${things.length === 1 ? '1 file' : `${things.length} files`} outside the workspace`
    : `it would destroy ${counted(things.length)} nowhere else and that this session did not make`;
  if (canBeKept) return refusal(things, 'repeat', all);
  const reason = isOutside ? `${all}, which cannot be kept` : `${all}, and that cannot all be kept`;
  return refusal(things, 'ask_human', reason);
}

function counted(count: number): string {
  return count === 1 ? '1 thing that exists' : `${count} things that exist`;
}

function refusal(
  things: readonly ThingAtRisk[],
  next: 'repeat' | 'ask_human',
  reason: string,
): RefusalOf<'WOULD_DESTROY'> {
  const atRisk = things
    .slice(0, MAX_NAMED)
    .map(({ what, kind, why }) => ({ what, kind, reason: WORDS[why] }));
  const writer = things[0]?.writer;
  const detail = { reason, atRisk, ...(writer === undefined ? {} : { writer }) };
  return { code: 'WOULD_DESTROY', action: 'run', path: '', next, detail };
}
