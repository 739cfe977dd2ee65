import type { BypassRule, Policy } from '../model/policy.ts';
import { callingTool } from './calling-tool.ts';
import { matchingGlob } from './globs.ts';

/** What a bypass is about: a file in a session, and the tool that was called, if it is known. */
interface BypassSubject {
  readonly relative: string;
  readonly session: string;
}

/** The operator's rule that exempts a file from having been read, in words; undefined if there is none. */
export function bypassFor(rules: Policy['bypass'], subject: BypassSubject): string | undefined {
  for (const rule of rules) {
    const found = typeof rule === 'string' ? matchingGlob([rule], subject.relative) : wordsFor(rule, subject);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Every part of a rule must match; a part that it leaves out matches everything. */
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
