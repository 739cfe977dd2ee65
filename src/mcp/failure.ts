import { Fault, type FaultCode } from '../model/fault.ts';
import type { NextStep } from '../model/verdict.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import type { ObjectResult } from './tool-host.ts';

/** The reason of the fault that a missing ripgrep is. */
const NO_RIPGREP = 'ripgrep';

/**
 * What a client is told when a tool threw: a fixed sentence, for the cause may hold paths and contents of other
 * sessions. The cause itself goes to the log. It says nothing about whether the change was made: look again.
 */
export function failureResult(tool: string, error: unknown): ObjectResult {
  const code: FaultCode = error instanceof Fault ? error.code : 'IO_FAILED';
  if (error instanceof Fault && error.reason === NO_RIPGREP) {
    // Ours from the first to the last word, and only the person can cure it.
    const text = `${tool} cannot work here: ${error.message} [${code}]. Until then list folders and read files instead.`;
    return failed(text, { code, next: 'ask_human' });
  }
  const text =
    `${tool} failed inside the server [${code}]. Treat the call as refused; whether anything changed is unknown. ` +
    'Look at the file again before you go on.';
  return failed(text, { code, next: 'read_again' });
}

function failed(text: string, { code, next }: { code: FaultCode; next: NextStep }): ObjectResult {
  return {
    kind: 'object',
    result: {
      content: [{ type: 'text', text }],
      isError: true,
      _meta: { [OUTCOME_KEY]: { ok: false, code, next } },
    },
  };
}

/** An error for the log: a fault says itself what is wrong, anything else is a mistake of ours and comes with its stack. */
export function describe(error: unknown): string {
  if (error instanceof Fault) return `${error.message} [${error.code}]`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
