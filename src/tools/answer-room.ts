import type { Operations } from '../dialect/operation.ts';
import type { Call } from '../dialect/tool.ts';

/**
 * Makes clients with tool search load these tools immediately, so that agents do not fall back to
 * tools that Lookfirst does not check. Makes Claude Code show a long answer whole: without this, the
 * model is given a preview of 2 KB of more than 50,000 characters, and the whole answer counts as seen.
 */
export const CLAUDE_META = { 'anthropic/alwaysLoad': true, 'anthropic/maxResultSizeChars': 500_000 } as const;

/** The most lines, and bytes of lines, that a client shows its model of one answer. */
interface AnswerRoom {
  readonly bytes: number;
  readonly lines: number;
}

/**
 * Clients that cut or store a longer answer, by the name they give: a model would be shown only a
 * part of what counts as seen. Measured with the real programs, except VS Code and Cursor. `bytes`
 * leaves room for the line numbers, the receipt and the client's own words.
 */
const ROOMS: readonly (readonly [name: RegExp, room: AnswerRoom])[] = [
  // Shows the first 8,000 and the last 32,000 of more than 40,000 characters.
  [/^gemini-cli/, { bytes: 31_000, lines: 1000 }],
  // Leaves out the middle of more than 10,000 tokens.
  [/^codex/, { bytes: 30_000, lines: 1000 }],
  // Shows the first 50 KB or 2,000 lines.
  [/^opencode/, { bytes: 41_000, lines: 1100 }],
  // Stores more than 8,192 characters in a file and shows its name. Cursor's limit is not known.
  [/^(?:visual studio code|cursor)/i, { bytes: 6700, lines: 150 }],
];

/** The call, with a read limited to what the client shows its model. The receipt says how to go on. */
export function callInRoom(call: Call, client: string | undefined): Call {
  if (call.kind !== 'read' && call.kind !== 'view') return call;
  const room = client === undefined ? undefined : ROOMS.find(([name]) => name.test(client))?.[1];
  // A raw read has no receipt: its tool cannot say that lines are missing.
  if (room === undefined || call.operation.raw === true) return call;
  return call.kind === 'read'
    ? { ...call, operation: { ...call.operation, ...boundOf(room, call.operation) } }
    : { ...call, operation: { ...call.operation, ...boundOf(room, call.operation) } };
}

function boundOf({ bytes, lines }: AnswerRoom, { limit, last }: Operations['read']): object {
  const count =
    last === undefined ? { limit: Math.min(limit ?? lines, lines) } : { last: Math.min(last, lines) };
  return { maxAnswerBytes: bytes, ...count };
}
