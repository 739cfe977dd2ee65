import { Fault } from './fault.ts';
import { isRecord } from './record.ts';
import { isSessionId, MAX_SESSION_ID_CHARS } from './session-record.ts';

/** The beginning of a turn. A turn lasts from one user prompt, or an explicit checkpoint, to the next. */
export interface TurnMark {
  /** Unique within its session. */
  readonly turn: string;
  /** The label of a checkpoint. */
  readonly label?: string | undefined;
  /** The first words of the user's prompt. */
  readonly prompt?: string | undefined;
  /** Number of the prompt: 1 for the first prompt of a session. */
  readonly promptNumber?: number | undefined;
}

/** The state of a repository's HEAD, branches and index at one moment. */
export interface GitPosition {
  /** The full name of HEAD's branch; absent if HEAD is detached. */
  readonly branch?: string;
  /** The commit of HEAD; absent before the first commit. */
  readonly commit?: string;
  /** A digest of all branches with their commits. */
  readonly branches: string;
  /** A digest of the staged content. */
  readonly index: string;
}

/** Longer labels and prompts are cut: the journal should not be a copy of the conversation. */
const MAX_WORDS_CHARS = 120;

/** True if a value can be a turn id. Turn ids follow the rule for session ids. */
export function isTurnId(value: unknown): value is string {
  return isSessionId(value);
}

/**
 * Returns the mark with label and prompt on one line and cut to the limit. Throws a Fault MISUSE if the mark is
 * not an object, if its id is invalid, or if label or prompt is not a text. Untyped callers may pass anything.
 */
export function checkedTurn(mark: TurnMark): TurnMark {
  if (!isRecord(mark)) throw new Fault('MISUSE', 'a turn must be an object such as { turn: "p1" }');
  const { turn, label, prompt, promptNumber } = mark;
  for (const [name, text] of Object.entries({ label, prompt }))
    if (text !== undefined && typeof text !== 'string')
      throw new Fault('MISUSE', `the ${name} of a turn must be a text`);
  if (!isTurnId(turn))
    throw new Fault('MISUSE', `a turn id must have 1 to ${MAX_SESSION_ID_CHARS} printable characters`);
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
