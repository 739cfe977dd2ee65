import { isAbsolute } from 'node:path';
import { HOSTS } from '../../dialect/calls/hosts/hosts.ts';
import { isRecord, type JsonRecord } from '../../model/record.ts';
import { type HookAnswer, type HookEvent, type Host, type Malformed, SILENT } from '../event.ts';
import { eventIn } from './common-form.ts';
import { payloadText } from './payload.ts';

const EVENTS = [
  ...(['before', 'after', 'failed', 'prompt', 'start'] as const),
  ...(['compacted', 'agent-start', 'agent-stop', 'turn-end', 'end'] as const),
];
const FORM = {
  sessionFields: ['session'],
  turnField: 'turn',
  events: new Map(EVENTS.map((name) => [name, name])),
} as const;
const ACTIONS = Object.keys(HOSTS.find(({ id }) => id === 'generic')?.tools ?? {});
/** The arguments of actions. A call with one of them concerns files. */
const ARGUMENTS = ['path', 'content', 'old_string', 'source', 'destination', 'patch', 'command'];

/**
 * The generic form of events, for agent programs that Lookfirst does not know by name
 * (docs/hooks.md). The tool is the action (`read`, `write`, `edit`, `delete`, `move`, `run`), the
 * input is its arguments. The answer is `{"verdict": "pass" | "deny", "reason"?, "context"?}`.
 */
export const GENERIC: Host = {
  name: 'generic',
  contextBefore: true,
  understand(payload): HookEvent | Malformed {
    const mistake = mistakeIn(payload);
    if (mistake !== undefined) return { kind: 'malformed', ...mistake };
    const { agent, event, transcript, roots, action, input, call, output, resumed } = payload;
    return eventIn(FORM, {
      ...payload,
      ...{ agent_id: agent, hook_event_name: event, transcript_path: transcript, workspace_roots: roots },
      ...{ tool_name: action, tool_input: input, tool_use_id: call, tool_response: output },
      source: resumed === true ? 'resume' : 'startup',
    });
  },
  answer(reply): HookAnswer {
    if (reply.verdict === 'pass') return { ...SILENT, stdout: JSON.stringify(reply) };
    return { stdout: JSON.stringify(reply), stderr: `${reply.reason}\n`, exitCode: 2 };
  },
};

function mistakeIn({ session, cwd, event, action, input }: JsonRecord): Omit<Malformed, 'kind'> | undefined {
  if (payloadText(session) === undefined) return { reason: 'the event has no session' };
  const folder = payloadText(cwd);
  if (folder !== undefined && !isAbsolute(folder))
    return { reason: `cwd must be an absolute path, not "${folder}"` };
  const name = payloadText(event);
  if (name === undefined) return undefined;
  if (!EVENTS.some((known) => known === name))
    return { reason: unknownWord('event', name, EVENTS), isUnknownEvent: true };
  if (name !== 'before' && name !== 'after' && name !== 'failed') return undefined;
  const tool = payloadText(action);
  if (tool === undefined) return { reason: 'the event has no action' };
  return isMistaken(tool, input) ? { reason: unknownWord('action', tool, ACTIONS) } : undefined;
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
