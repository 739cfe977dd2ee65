import { AsyncLocalStorage } from 'node:async_hooks';
import { grantCovers } from '../journal/grants.ts';
import type { Facts } from '../judge/facts.ts';
import type { BypassRule, Policy } from '../model/policy.ts';
import { matchingGlob } from '../text/glob/glob.ts';
import type { World } from './world.ts';

/** Input for bypass rules: a file, a session, and the called tool if known. */
interface BypassSubject {
  readonly relative: string;
  readonly session: string;
}

const NO_BYPASS = { bypassedBy: undefined } as const;

export function bypassFacts(
  { policy, granted }: World,
  { key, relative }: { readonly key: string; readonly relative: string },
  session: string,
): Pick<Facts, 'bypassedBy' | 'grant'> {
  if (policy.bypass.length === 0 && granted === undefined) return NO_BYPASS;
  const grant = granted?.find((each) => grantCovers(each, key));
  if (grant !== undefined) return { bypassedBy: `${relative} (${grant.id})`, grant: grant.id };
  return { bypassedBy: bypassFor(policy.bypass, { relative, session }) };
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

/** The text of a matching rule. Every part given in the rule must match; an omitted part matches everything. */
function wordsFor({ paths, tools, sessions }: BypassRule, subject: BypassSubject): string | undefined {
  const tool = tools === undefined ? undefined : callingTool();
  const path = paths && matchingGlob(paths, subject.relative);
  const byTool = tools && tool !== undefined ? matchingGlob(tools, tool) : undefined;
  const session =
    sessions?.find((each) => each === subject.session) ?? matchingGlob(sessions ?? [], subject.session);
  const isMissing =
    (paths && path === undefined) || (tools && byTool === undefined) || (sessions && session === undefined);
  if (isMissing) return undefined;
  return [path, byTool && `the tool ${byTool}`, session && `the session ${session}`]
    .filter(Boolean)
    .join(', ');
}

const calling = new AsyncLocalStorage<string>();

/**
 * Runs a call so that the policy's bypass rules know its tool. Without a rule about tools it runs the call directly:
 * once an `AsyncLocalStorage` is used, every promise of the process is slower, and a change takes 10 % longer.
 */
export function runAsTool<T>({ bypass }: Pick<Policy, 'bypass'>, tool: string, call: () => T): T {
  const isAsked = bypass.some((rule) => typeof rule !== 'string' && rule.tools !== undefined);
  return isAsked ? calling.run(tool, call) : call();
}

/** The tool whose call is running. Undefined for library calls and for adapters that name no tool. */
function callingTool(): string | undefined {
  return calling.getStore();
}
