import { randomUUID } from 'node:crypto';
import type { Content } from '../disk/content.ts';
import type { Facts } from '../judge/facts.ts';
import type { NewEntry, PendingChange } from '../model/entry.ts';
import { nothingChanged } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import { isWithin } from '../model/path.ts';
import type { BypassRule, Policy } from '../model/policy.ts';
import type { ChangeResult } from '../model/results.ts';
import { matchingGlob } from '../text/glob/glob.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { needsApproval } from './approval.ts';
import { keepOldBytes } from './old-bytes.ts';
import type { ChangePlan } from './plan.ts';
import type { World } from './world.ts';

/** Returns a new change id, short enough to type after `lookfirst undo`. */
export function newChangeId(): string {
  // `randomUUID` takes its random bytes from a pool, which is a hundred times faster than `randomBytes`.
  return `c${randomUUID().replace('-', '').slice(0, 10)}`;
}

/**
 * Stores a planned change before any file is touched. If this process dies, another process can
 * complete the record.
 */
export async function announce(
  world: World,
  pending: PendingChange,
  entries: readonly NewEntry[] = [],
): Promise<void> {
  try {
    // The bytes that the change destroys are stored before it or with the announcement. Those of a
    // command were stored before.
    const images =
      pending.host?.command === undefined ? await keepOldBytes(world, pending.entry.deltas) : undefined;
    await world.store.record({
      announce: pending,
      ...(entries.length === 0 ? {} : { entries }),
      ...(images === undefined ? {} : { images }),
    });
  } catch (error) {
    throw nothingChanged(error);
  }
}

/** A file that a change replaced or removed. It is on the shelf; its bytes were stored before. */
export interface Displaced extends Fingerprint {
  /** The path outside the workspace to which the file was moved. */
  readonly file: string;
}

/**
 * Journal entries for the plans that only a bypass rule of the operator allowed, one for each.
 * Session and time come from `like`.
 */
export function bypassEntries(
  allowed: readonly (Pick<ChangePlan, 'action' | 'path'> & Pick<ChangeResult, 'notices'>)[],
  like: Pick<NewEntry, 'session' | 'turn' | 'atMs' | 'change'>,
): readonly NewEntry[] {
  return allowed.flatMap(({ action, path, notices }) => {
    const used = notices.find((notice) => notice.kind === 'bypassed');
    if (used === undefined) return [];
    const { root, relative, key } = path;
    const text = `allowed without a read, by the user's rule for ${used.glob}`;
    const grant = used.grant === undefined ? {} : { grant: { id: used.grant } };
    return [{ ...like, kind: 'bypass', action, root, path: relative, key, text, ...grant }];
  });
}

/**
 * The stored bytes with this fingerprint, for a file to be written. Bytes too large to load come in
 * chunks.
 */
export async function keptContent({ images }: World, fingerprint: Fingerprint): Promise<Content> {
  if (fingerprint.size > LIMITS.maxEditBytes)
    return { fingerprint, chunks: () => images.chunks(fingerprint) };
  return { fingerprint, bytes: await images.read(fingerprint) };
}

/** The file and the session for which a bypass rule is searched. */
interface BypassSubject {
  readonly relative: string;
  readonly session: string;
  readonly tool: string | undefined;
}

/** The session that wants to change a file, and its call. */
export type Asking = Pick<Knowledge, 'session' | 'call'>;

const NO_BYPASS = { bypassedBy: undefined } as const;

/** A grant for a path that needs approval is only that approval: the session must still read the file. */
export function bypassFacts(
  world: World,
  { key, relative }: { readonly key: string; readonly relative: string },
  { session, call }: Asking,
): Pick<Facts, 'bypassedBy' | 'grant'> {
  const { policy, granted } = world;
  if (policy.bypass.length === 0 && granted === undefined) return NO_BYPASS;
  const grant = needsApproval(world, relative) ? undefined : granted?.find((each) => isWithin(key, each.key));
  if (grant !== undefined) return { bypassedBy: `${relative} (${grant.id})`, grant: grant.id };
  return { bypassedBy: bypassFor(policy.bypass, { relative, session, tool: call?.tool }) };
}

/**
 * The text of the operator's bypass rule that lets a session change a file it has not read, or undefined if there is
 * none.
 */
function bypassFor(rules: Policy['bypass'], subject: BypassSubject): string | undefined {
  for (const rule of rules) {
    const found = typeof rule === 'string' ? matchingGlob([rule], subject.relative) : wordsFor(rule, subject);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The text of a rule, or undefined if the rule does not match. Every part given in the rule must
 * match; an omitted part matches everything.
 */
function wordsFor({ paths, tools, sessions }: BypassRule, subject: BypassSubject): string | undefined {
  const path = paths && matchingGlob(paths, subject.relative);
  const byTool = tools && subject.tool !== undefined ? matchingGlob(tools, subject.tool) : undefined;
  const session =
    sessions?.find((each) => each === subject.session) ?? matchingGlob(sessions ?? [], subject.session);
  const isMissing =
    (paths && path === undefined) || (tools && byTool === undefined) || (sessions && session === undefined);
  if (isMissing) return undefined;
  return [path, byTool && `the tool ${byTool}`, session && `the session ${session}`]
    .filter(Boolean)
    .join(', ');
}
