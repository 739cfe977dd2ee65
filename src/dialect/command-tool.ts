import { objectOf } from '../model/shape.ts';
import { DESTROYS, integer, string, type Tool } from './tool.ts';

/**
 * The tool that runs commands, under the names that a dialect gives to the tool and to its time
 * limit. It is offered only if commands are allowed.
 */
export function commandTool(name: string, timeout: 'timeout_ms' | 'timeout'): Tool {
  return {
    name,
    title: 'Run a command',
    description:
      'Run a command line in a sandbox on the workspace: no network unless the policy allows it, a private /tmp, nothing outside is changed. ' +
      'What it changes in the workspace is committed as one change when it ends, and can be undone. ' +
      'A command that runs into its time limit changes nothing. Not for servers or watchers: everything it started ends with it.',
    inputSchema: objectOf(
      {
        command: string('Command line for bash (sh where there is none).'),
        [timeout]: integer('Time limit in milliseconds (default: the policy, 120000).', { minimum: 1 }),
      },
      ['command'],
    ),
    annotations: { ...DESTROYS, idempotentHint: false },
    needs: 'commands',
    call: ({ command, [timeout]: timeoutMs }) => ({
      kind: 'run',
      // The conversions are safe: the arguments were checked against the schema above.
      operation: {
        command: String(command),
        ...(timeoutMs === undefined ? {} : { timeoutMs: Number(timeoutMs) }),
      },
    }),
  };
}
