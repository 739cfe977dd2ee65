import { isAbsolute } from 'node:path';
import { HOSTS } from '../../dialect/calls/hosts/hosts.ts';
import { isRecord, type JsonRecord } from '../../model/record.ts';
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
const EVENTS = ['before', 'after', 'failed', 'prompt', 'start', ...PLAIN];
const ACTIONS = Object.keys(HOSTS.find(({ id }) => id === 'generic')?.tools ?? {});
/** The arguments of actions. A call with one of them concerns files. */
const ARGUMENTS = ['path', 'content', 'old_string', 'source', 'destination', 'patch', 'command'];

function understand(payload: JsonRecord): HookEvent | Malformed {
  const id = payloadText(payload['session']);
  if (id === undefined) return malformed('the event has no session');
  const agent = payloadText(payload['agent']);
  const context = {
    session: agent === undefined ? id : `${id}/${agent}`,
    ...optionalText('turn', payload['turn']),
    ...optionalText('cwd', payload['cwd']),
    ...optionalText('transcript', payload['transcript']),
    ...workspaceRoots(payload['roots']),
  };
  if (context.cwd !== undefined && !isAbsolute(context.cwd))
    return malformed(`cwd must be an absolute path, not "${context.cwd}"`);
  const event = payloadText(payload['event']);
  const plain = PLAIN.find((kind) => kind === event);
  if (plain !== undefined) return { ...context, kind: plain };
  switch (event) {
    case 'before':
    case 'after':
    case 'failed':
      return toolEvent(payload, context, event);
    case 'prompt':
      return { ...context, kind: 'prompt', prompt: payloadText(payload['prompt']) ?? '' };
    case 'start':
      return { ...context, kind: 'start', source: payload['resumed'] === true ? 'resumed' : 'new' };
    case undefined:
      return { ...context, kind: 'other' };
    default:
      return { ...malformed(unknownWord('event', event, EVENTS)), isUnknownEvent: true };
  }
}

function toolEvent(
  payload: JsonRecord,
  context: Pick<HookEvent, 'session'>,
  kind: 'before' | 'after' | 'failed',
): HookEvent | Malformed {
  const tool = payloadText(payload['action']);
  if (tool === undefined) return malformed('the event has no action');
  if (isMistaken(tool, payload['input'])) return malformed(unknownWord('action', tool, ACTIONS));
  const call = { ...context, tool, input: payload['input'], ...optionalText('call', payload['call']) };
  if (kind === 'before') return { ...call, kind };
  if (kind === 'after') return { ...call, kind, response: payload['output'] };
  return { ...call, kind, error: payloadText(payload['error']) ?? '' };
}

function malformed(reason: string): Malformed {
  return { kind: 'malformed', reason };
}

/**
 * True if an action is unknown but concerns files: its arguments say so, or its name is a known one
 * in capitals. Other tools, for example of MCP servers, need no check.
 */
function isMistaken(action: string, input: unknown): boolean {
  if (ACTIONS.includes(action) || action.startsWith('mcp__')) return false;
  const concernsFiles = isRecord(input) && ARGUMENTS.some((name) => Object.hasOwn(input, name));
  return concernsFiles || ACTIONS.includes(action.toLowerCase());
}

function unknownWord(what: string, word: string, known: readonly string[]): string {
  return `unknown ${what} "${word}"; known are ${known.join(', ')}`;
}
