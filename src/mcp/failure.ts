import { Fault, type FaultCode } from '../model/fault.ts';
import type { ObjectResult } from './tool-host.ts';

/**
 * What a client is told when a tool threw: a fixed sentence, for the cause may hold paths and contents of other
 * sessions. The cause itself goes to the log. It says nothing about whether the change was made: look again.
 */
export function failureResult(tool: string, error: unknown): ObjectResult {
  const code: FaultCode = error instanceof Fault ? error.code : 'IO_FAILED';
  const text =
    `${tool} failed inside the server [${code}]. Treat the call as refused; whether anything changed is unknown. ` +
    'Look at the file again before you go on.';
  return {
    kind: 'object',
    result: {
      content: [{ type: 'text', text }],
      isError: true,
      _meta: { 'dev.lookfirst/outcome': { ok: false, code, next: 'read_again' } },
    },
  };
}

/** An error for the log: a fault says itself what is wrong, anything else is a mistake of ours and comes with its stack. */
export function describe(error: unknown): string {
  if (error instanceof Fault) return `${error.message} [${error.code}]`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
