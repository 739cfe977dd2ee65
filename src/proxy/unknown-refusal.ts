import type { Refusal } from '../model/verdict.ts';
import type { UnknownTools } from './unknown-tools.ts';

const REASON = 'unknown tool';

/** The refusal of a tool that no table describes. */
export function unknownToolRefusal(tool: string, policy: UnknownTools): Refusal {
  const once = policy === 'ask';
  return {
    code: once ? 'UNVERIFIABLE' : 'PROTECTED',
    action: 'call',
    path: tool,
    next: once ? 'retry_later' : 'ask_human',
    detail: { reason: REASON },
  };
}

/** The refusal of a tool with unknown effects in a read-only session. */
export function readOnlyRefusal(tool: string): Refusal {
  return {
    code: 'READ_ONLY',
    action: 'call',
    path: tool,
    next: 'ask_human',
    detail: { reason: 'session' },
  };
}

export function isUnknownTool(refusal: Refusal): boolean {
  return refusal.action === 'call' && refusal.detail?.reason === REASON;
}

/** The text of the refusal: what was refused, why, and what to do. */
export function unknownToolText(refusal: Refusal): string {
  const first = `refusing to run ${refusal.path}: no table describes what this tool does to files [${refusal.code}]`;
  const next =
    refusal.code === 'UNVERIFIABLE'
      ? 'Send the same call once more if you mean it; it will then be let through and written into the journal.'
      : 'Use a tool that is described, or ask your user to describe this one in the policy file.';
  return `${first}\n${next}`;
}
