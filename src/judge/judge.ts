import type { Policy } from '../model/policy.ts';
import type { Notice } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';
import { type Facts, knowledgeOf } from './facts.ts';
import { contain, content, exists, kind, recursive, revision, size } from './rules/always.ts';
import { covered, folder, fresh, seen, unredacted } from './rules/seeing.ts';
import type { JudgeRule } from './ruling.ts';

/**
 * The reason why a change is allowed. `new`, `empty`, `append`: it destroys nothing. `revision`:
 * the caller named the current revision. `seen`: the session has seen the file. `carry`: the file
 * has changed since, and the edit is made only if the text to replace is unchanged. `bypass`: the
 * operator exempts the path. `not-required`: the action or the policy requires no read.
 */
type Licence = 'new' | 'empty' | 'append' | 'revision' | 'seen' | 'carry' | 'bypass' | 'not-required';

type Verdict =
  | { readonly outcome: 'allow'; readonly licence: Licence; readonly notices: readonly Notice[] }
  | { readonly outcome: 'refuse'; readonly refusal: Refusal };

/** Rules that apply to every session, regardless of what it has seen. */
const ALWAYS: readonly JudgeRule[] = [contain, kind, size, exists, revision];
/**
 * Rules about what the session has seen. They do not apply if the change is allowed for another
 * reason.
 */
const SEEING: readonly JudgeRule[] = [seen, unredacted, covered, fresh];
/** Like `ALWAYS` and `SEEING`, for deletions: with further rules about folders. */
const ALWAYS_DELETING: readonly JudgeRule[] = [contain, kind, size, exists, recursive, revision];
const SEEING_DELETING: readonly JudgeRule[] = [folder, ...SEEING];
/** Rules that need file contents, so they come last. */
const CONTENT: readonly JudgeRule[] = [content];

/**
 * Decides whether a change is allowed. The first rule that refuses wins: first the rules in
 * `ALWAYS`, then those in `SEEING`, then those in `CONTENT`. Pure: the same facts and policy always
 * give the same verdict.
 */
export function judge(facts: Facts, policy: Policy): Verdict {
  // All rules add to one list; concatenating lists would cost more than the rules themselves.
  const notices: Notice[] = [];
  const always = consult(facts.action === 'delete' ? ALWAYS_DELETING : ALWAYS, { facts, policy, notices });
  if (always.refusal !== undefined) return { outcome: 'refuse', refusal: always.refusal };

  const licensed = license({ facts, policy, notices });
  if (licensed.refusal !== undefined) return { outcome: 'refuse', refusal: licensed.refusal };

  const last = consult(CONTENT, { facts, policy, notices });
  if (last.refusal !== undefined) return { outcome: 'refuse', refusal: last.refusal };
  return { outcome: 'allow', licence: licensed.licence, notices };
}

interface JudgeContext {
  readonly facts: Facts;
  readonly policy: Policy;
  readonly notices: Notice[];
}

interface Consulted {
  readonly refusal: Refusal | undefined;
  readonly carry: boolean;
}

function consult(rules: readonly JudgeRule[], { facts, policy, notices }: JudgeContext): Consulted {
  let carry = false;
  for (const rule of rules) {
    const ruling = rule(facts, policy);
    if (ruling.kind === 'refuse') return { refusal: ruling.refusal, carry };
    if (ruling.kind === 'note') notices.push(...ruling.notices);
    if (ruling.kind === 'carry') carry = true;
  }
  return { refusal: undefined, carry };
}

interface Licensed {
  readonly licence: Licence;
  readonly refusal: Refusal | undefined;
}

function license({ facts, policy, notices }: JudgeContext): Licensed {
  const exempt = exemption(facts, policy);
  if (exempt !== undefined) return { licence: exempt, refusal: undefined };
  const said: Notice[] = [];
  const rules = facts.action === 'delete' ? SEEING_DELETING : SEEING;
  const { refusal, carry } = consult(rules, { facts, policy, notices: said });
  if (facts.appends === true && policy.append === 'free' && refusal !== undefined) {
    notices.push({ kind: 'unseen-append' });
    return { licence: 'append', refusal: undefined };
  }
  // Use and journal the bypass only if the session's own sightings do not allow the change.
  if (facts.bypassedBy !== undefined && (refusal !== undefined || carry)) {
    const { bypassedBy: glob, grant } = facts;
    notices.push({ kind: 'bypassed', glob, ...(grant === undefined ? {} : { grant }) });
    return { licence: 'bypass', refusal: undefined };
  }
  notices.push(...said);
  return { licence: carry ? 'carry' : 'seen', refusal };
}

/**
 * The reason to allow a change regardless of what the session has seen: the change destroys
 * nothing, the caller named the revision, or no read is required. Otherwise undefined.
 */
function exemption(facts: Facts, policy: Policy): Licence | undefined {
  const { action, target } = facts;
  if (!target.exists) return 'new';
  if (action === 'move' || action === 'mkdir') return 'not-required';
  // A link can be deleted without a read: only the link is lost, and the journal stores its target.
  if (target.kind === 'link') return 'not-required';
  if (target.kind === 'directory' && facts.folder?.empty === true) return 'empty';
  const mayBeUnread = policy.overwrite === 'whole' || policy.seen === 'optional';
  if (mayBeUnread && isEmptyAsKnown(facts)) return 'empty';
  if (facts.expectedRevision !== undefined) return 'revision';
  if (policy.seen === 'optional' && target.kind === 'file' && !knowledgeOf(facts).known)
    return 'not-required';
  return undefined;
}

/**
 * True if a file is empty and the session has no valid sighting of it with content. If it has one,
 * an editor may have emptied the file a moment ago in order to save it.
 */
function isEmptyAsKnown(facts: Facts): boolean {
  const { target } = facts;
  if (!target.exists || target.kind === 'directory' || !target.empty) return false;
  const knowledge = knowledgeOf(facts);
  if (!knowledge.known) return true;
  const { fingerprint, pages } = knowledge.sighting;
  return pages === undefined && (fingerprint?.size ?? 0) === 0;
}
