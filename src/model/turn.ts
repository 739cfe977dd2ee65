import { Fault } from './fault.ts';
import { isSessionId, MAX_SESSION_ID_CHARS } from './session-id.ts';

/** The beginning of a turn: what happened between two user prompts, or since a moment that was marked by hand. */
export interface TurnMark {
  /** Unique within its session. */
  readonly turn: string;
  /** A name given by hand. */
  readonly label?: string | undefined;
  /** The first words of the user's prompt. */
  readonly prompt?: string | undefined;
  /** 1 for the first prompt of a session. */
  readonly promptNumber?: number | undefined;
}

/** Where HEAD, branches and index of a repository are at one moment. */
export interface GitPosition {
  /** The branch that HEAD names, in full; absent: HEAD is detached. */
  readonly branch?: string;
  /** The commit of HEAD; absent before the first one. */
  readonly commit?: string;
  /** A digest of all branches with their commits. */
  readonly branches: string;
  /** A digest of what is staged. */
  readonly index: string;
}

/** Longer labels and prompts are cut: the journal is no copy of the conversation. */
const MAX_WORDS_CHARS = 120;

/** Whether a value can name a turn: the rule for session ids. */
export function isTurnId(value: unknown): value is string {
  return isSessionId(value);
}

/** The mark as the journal keeps it: label and prompt on one line and within bounds. A bad id is a Fault MISUSE. */
export function checkedTurn({ turn, label, prompt, promptNumber }: TurnMark): TurnMark {
  if (!isTurnId(turn))
    throw new Fault('MISUSE', `a turn is named by 1 to ${MAX_SESSION_ID_CHARS} printable characters`);
  return {
    turn,
    ...(label === undefined ? {} : { label: firstWords(label) }),
    ...(prompt === undefined ? {} : { prompt: firstWords(prompt) }),
    ...(promptNumber === undefined ? {} : { promptNumber }),
  };
}

function firstWords(text: string): string {
  const line = text
    .slice(0, 4 * MAX_WORDS_CHARS)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
  return line.length <= MAX_WORDS_CHARS ? line : `${[...line].slice(0, MAX_WORDS_CHARS - 1).join('')}…`;
}
