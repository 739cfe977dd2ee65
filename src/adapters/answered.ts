import { Fault } from '../model/fault.ts';
import { failureAnswer } from '../tools/failure.ts';
import type { ToolCallOptions, ToolsetAnswer, ToolsetTool } from '../tools/toolset.ts';

/**
 * Runs a tool for a framework. A refusal or a Fault becomes an answer with `ok: false`, which the
 * adapter flags as its framework flags errors. An abort is thrown, so that the framework sees its
 * own signal.
 */
export async function answered(
  tool: ToolsetTool,
  args: unknown,
  options: ToolCallOptions = {},
): Promise<ToolsetAnswer> {
  try {
    return await tool.call(args, options);
  } catch (error) {
    if (options.signal?.aborted === true || !(error instanceof Fault)) throw error;
    return flaggedFault(tool.name, error);
  }
}

/** Converts a Fault to an answer, which tells the model what failed and whether anything changed. */
export function flaggedFault(tool: string, fault: Fault): ToolsetAnswer {
  const answer = failureAnswer(tool, fault);
  if (answer.ok) throw new TypeError('a failure is not an answer of success');
  return answer;
}
