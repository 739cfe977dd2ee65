import type { JsonRecord } from '../../model/record.ts';
import { type HookAnswer, type HookEvent, type Host, type Malformed, SILENT } from '../event.ts';
import { optionalText, payloadText, workspaceRoots } from './payload.ts';

/**
 * The generic form of events, for agent programs that Lookfirst does not know by name
 * (docs/hooks.md). The tool is the action (`read`, `write`, `edit`, `delete`, `move`, `run`), the
 * input is its arguments. The answer is `{"verdict": "pass" | "deny", "reason"?, "context"?}`.
 */
export const GENERIC: Host = {
  name: 'generic',
  contextBefore: true,
  understand,
  answer(reply): HookAnswer {
    if (reply.verdict === 'pass') return { ...SILENT, stdout: JSON.stringify(reply) };
    return { stdout: JSON.stringify(reply), stderr: `${reply.reason}\n`, exitCode: 2 };
  },
};

const PLAIN = ['compacted', 'agent-start', 'agent-stop', 'turn-end', 'end'] as const;

function understand(payload: JsonRecord): HookEvent | Malformed {
  const id = payloadText(payload['session']);
  if (id === undefined) return { kind: 'malformed', reason: 'the event has no session' };
  const agent = payloadText(payload['agent']);
  const context = {
    session: agent === undefined ? id : `${id}/${agent}`,
    ...optionalText('turn', payload['turn']),
    ...optionalText('cwd', payload['cwd']),
    ...optionalText('transcript', payload['transcript']),
    ...workspaceRoots(payload['roots']),
  };
  const event = payloadText(payload['event']);
  const plain = PLAIN.find((kind) => kind === event);
  if (plain !== undefined) return { ...context, kind: plain };
  switch (event) {
    case 'before':
    case 'after':
    case 'failed': {
      const tool = payloadText(payload['action']);
      if (tool === undefined) return { kind: 'malformed', reason: 'the event has no action' };
      const call = { tool, input: payload['input'], ...optionalText('call', payload['call']) };
      if (event === 'before') return { ...context, ...call, kind: 'before' };
      if (event === 'after') return { ...context, ...call, kind: 'after', response: payload['output'] };
      return { ...context, ...call, kind: 'failed', error: payloadText(payload['error']) ?? '' };
    }
    case 'prompt':
      return { ...context, kind: 'prompt', prompt: payloadText(payload['prompt']) ?? '' };
    case 'start':
      return { ...context, kind: 'start', source: payload['resumed'] === true ? 'resumed' : 'new' };
    default:
      return { ...context, kind: 'other' };
  }
}
