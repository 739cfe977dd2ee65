import { createHash } from 'node:crypto';
import type { Refusal } from '../model/verdict.ts';

/** The refusal of a tool that Lookfirst has no description of. */
export function unknownToolRefusal(tool: string, policy: UnknownTools): Refusal {
  const base = { action: 'call', path: tool, detail: { cause: 'unknown tool' } } as const;
  return policy === 'ask'
    ? { ...base, code: 'UNVERIFIABLE', next: 'retry_later' }
    : { ...base, code: 'PROTECTED', next: 'ask_human' };
}

/** The refusal of a tool with unknown effects in a read-only session. */
export function readOnlyRefusal(tool: string): Refusal {
  return {
    code: 'READ_ONLY',
    action: 'call',
    path: tool,
    next: 'ask_human',
    detail: { cause: 'session' },
  };
}

export function isUnknownTool(refusal: Refusal): boolean {
  const { code, detail } = refusal;
  return (code === 'UNVERIFIABLE' || code === 'PROTECTED') && detail?.cause === 'unknown tool';
}

/** The text of the refusal: what was refused, why, and what to do. */
export function unknownToolText(refusal: Refusal): string {
  const first = `refusing to run ${refusal.path}: Lookfirst does not know what this tool does to files [${refusal.code}]`;
  const next =
    refusal.code === 'UNVERIFIABLE'
      ? 'To run it all the same, repeat the same call. It is then allowed and recorded in the journal.'
      : 'Use a tool that is described, or ask the user to describe this one in the policy file.';
  return `${first}\n${next}`;
}

/**
 * The treatment of a tool that may change files and that Lookfirst has no description of. `allow`:
 * let it through. `deny`: refuse it. `ask`: refuse it once, and let the same call through when it
 * is repeated. Each decision is recorded in the journal.
 */
export type UnknownTools = 'allow' | 'deny' | 'ask';

/** Maximum refused calls that are remembered; beyond it the oldest is forgotten and would be refused again. */
const REMEMBERED = 1000;

/** Remembers which calls were refused once. */
export class AskedOnce {
  readonly #asked = new Set<string>();

  /** True the second time a session calls the same tool with the same arguments; then forgets the call. */
  again(session: string, tool: string, args: unknown): boolean {
    const key = createHash('sha256')
      .update(JSON.stringify([session, tool, args]))
      .digest('hex');
    if (this.#asked.delete(key)) return true;
    this.#asked.add(key);
    const [oldest] = this.#asked;
    if (this.#asked.size > REMEMBERED && oldest !== undefined) this.#asked.delete(oldest);
    return false;
  }
}
