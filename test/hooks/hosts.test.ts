import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { HostName } from '../../src/config/hook-flags.ts';
import { answerHook } from '../../src/hooks/answer-hook.ts';
import type { HookEvent } from '../../src/hooks/event.ts';
import { HOOK_HOSTS } from '../../src/hooks/hosts/hook-hosts.ts';
import { thenClose } from '../../src/hooks/run-hook.ts';
import { Fault } from '../../src/model/fault.ts';
import type { JsonRecord } from '../../src/model/record.ts';

const FIXTURES = new URL('../fixtures/hooks/', import.meta.url).pathname;

/**
 * The captured hook payloads of one client. For opencode, adds the name of the hook and the folder,
 * as the plugin does.
 */
function captures(client: HostName): (readonly [name: string, payload: JsonRecord])[] {
  return readdirSync(join(FIXTURES, client))
    .filter((name) => !/^(mcp-tools-call|plugin-init|http-)/.test(name))
    .map((name) => {
      const payload = JSON.parse(readFileSync(join(FIXTURES, client, name), 'utf8'));
      if (client !== 'opencode') return [name, payload] as const;
      const hook = name.startsWith('event-') ? 'event' : (name.split('-')[0] ?? '').replace('.json', '');
      const args = hook === 'event' ? { input: payload } : payload;
      return [name, { hook, directory: '/repo', ...args }] as const;
    });
}

const CLIENTS = ['claude-code', 'codex', 'gemini', 'opencode'] as const;

/** The kind of event that the capture's file name states. */
function expectedKind(name: string): HookEvent['kind'] {
  const [event = ''] = name.replace('.json', '').split('-');
  if (/^(PreToolUse|BeforeTool|tool\.execute\.before)$/.test(event)) return 'before';
  if (event === 'PostToolUseFailure' || /^AfterTool-.*-error/.test(name)) return 'failed';
  if (/^(PostToolUse|AfterTool|tool\.execute\.after)$/.test(event)) return 'after';
  if (/^(UserPromptSubmit|BeforeAgent|chat\.message)$/.test(event)) return 'prompt';
  if (name === 'event-session.updated-revert.json') return 'rewound';
  if (event === 'PostCompact' || name === 'SessionStart-compact.json') return 'compacted';
  if (event === 'SessionStart') return 'start';
  if (event === 'SessionEnd') return 'end';
  if (event === 'Stop') return 'turn-end';
  if (event === 'SubagentStart') return 'agent-start';
  if (event === 'SubagentStop') return 'agent-stop';
  return 'other';
}

describe.each(CLIENTS)('%s', (client) => {
  const host = HOOK_HOSTS[client];

  it.each(captures(client))('understands %s', (name, payload) => {
    const event = host.understand(payload);
    expect(event.kind).toBe(expectedKind(name));
    if (event.kind === 'malformed') return;
    const sub = name.includes('in-subagent') || name.startsWith('Subagent');
    if (client === 'claude-code') expect(event.session.includes('/')).toBe(sub);
    if (event.kind === 'before' || event.kind === 'after' || event.kind === 'failed')
      expect(event.tool).not.toBe('');
  });

  it.each(captures(client).filter(([name]) => expectedKind(name) === 'before'))(
    'denies %s in a form that the client obeys',
    async (_name, payload) => {
      const call = { host, text: JSON.stringify(payload), onFailure: 'deny' } as const;
      const answer = await answerHook(call, async () => ({ verdict: 'deny', reason: 'read it first' }));
      expect(answer).toMatchObject({ stderr: '', exitCode: 0 });
      expect(JSON.parse(answer.stdout)).toEqual(DENIALS[client]);
    },
  );

  it.each(captures(client))('passes %s without a decision', async (_name, payload) => {
    const call = { host, text: JSON.stringify(payload), onFailure: 'deny' } as const;
    const answer = await answerHook(call, async () => ({ verdict: 'pass', context: 'the file changed' }));
    expect(answer).toMatchObject({ stderr: '', exitCode: 0 });
    expect(answer.stdout).not.toMatch(/allow|approve|ask|block|deny/);
  });

  it.each(captures(client))(
    'an internal error in %s denies a change and lets other events pass',
    async (name, payload) => {
      const call = { host, text: JSON.stringify(payload), onFailure: 'deny' } as const;
      const answer = await answerHook(call, async () => {
        throw new Error('the store is gone');
      });
      expect(answer.stdout).toBe('');
      expect(answer.stderr).toContain('the store is gone');
      expect(answer.exitCode).toBe(expectedKind(name) === 'before' && CHANGES.test(name) ? 2 : 0);
    },
  );
});

it('cuts a long denial without splitting a character, which strict JSON parsers reject', async () => {
  const payload = { event: 'before', session: 's', action: 'write', input: { path: 'a' } };
  for (const start of ['', '-']) {
    const reason = `${start}${'🙂'.repeat(5000)}`;
    const call = { host: HOOK_HOSTS.generic, text: JSON.stringify(payload), onFailure: 'deny' } as const;
    const answer = await answerHook(call, async () => ({ verdict: 'deny', reason }));
    expect(answer.stderr.isWellFormed()).toBe(true);
    expect(answer.stderr).toContain('[the rest is left out]');
  }
});

/** The captures of tools that change files or run commands. */
const CHANGES =
  /-(?:Write|Edit|NotebookEdit|Bash|apply_patch|write_file|replace|run_shell_command|write|edit|bash)(?:-|\.)/;

const DENIALS: Readonly<Record<(typeof CLIENTS)[number], JsonRecord>> = {
  'claude-code': wrapped(),
  codex: wrapped(),
  gemini: { decision: 'deny', reason: 'read it first' },
  opencode: { deny: 'read it first' },
};

function wrapped(): JsonRecord {
  const decision = { permissionDecision: 'deny', permissionDecisionReason: 'read it first' };
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } };
}

describe('input that is not an event', () => {
  const host = HOOK_HOSTS['claude-code'];
  const pass = async () => ({ verdict: 'pass' as const });

  it.each(['', 'no json', '[]', 'null', '"text"'])('%j is denied without --event', async (text) => {
    const answer = await answerHook({ host, text, onFailure: 'deny' }, pass);
    expect(answer).toMatchObject({ exitCode: 2, stdout: '' });
    expect(answer.stderr).toContain('JSON object');
  });

  it('passes with a line on stderr when --event names an event that cannot deny', async () => {
    const answer = await answerHook(
      { host, text: 'no json', declaredEvent: 'PostToolUse', onFailure: 'deny' },
      pass,
    );
    expect(answer).toMatchObject({ exitCode: 0, stdout: '' });
    expect(answer.stderr).not.toBe('');
  });

  it('passes with --fail-open, and says that the call is unchecked', async () => {
    const answer = await answerHook({ host, text: 'no json', onFailure: 'pass' }, pass);
    expect(answer).toMatchObject({ exitCode: 0, stdout: '' });
    expect(answer.stderr).toContain('unchecked');
  });

  it.each([
    [{ event: 'befor' }, 'unknown event "befor"; known are before, after,'],
    [{ event: 'PreToolUse' }, 'unknown event "PreToolUse"; known are before,'],
    [{ event: 'before', action: 'Write', input: {} }, 'unknown action "Write"; known are read, write,'],
    [
      { event: 'before', action: 'overwrite', input: { path: 'a', content: '' } },
      'unknown action "overwrite"',
    ],
    [
      { event: 'before', action: 'write', input: {}, cwd: 'repo' },
      'cwd must be an absolute path, not "repo"',
    ],
  ])('a generic event with a wrong word is denied: %j', async (event, reason) => {
    const text = JSON.stringify({ session: 's', ...event });
    const answer = await answerHook({ host: HOOK_HOSTS.generic, text, onFailure: 'deny' }, pass);
    expect([answer.exitCode, answer.stderr]).toEqual([2, expect.stringContaining(reason)]);
  });

  it.each(['web_search', 'mcp__files__write_file'])('a generic call of %s passes', async (action) => {
    const text = JSON.stringify({ session: 's', event: 'before', action, input: { query: 'x' } });
    const answer = await answerHook({ host: HOOK_HOSTS.generic, text, onFailure: 'deny' }, pass);
    expect(answer.exitCode).toBe(0);
  });

  it('a before-event without a tool name is denied', async () => {
    const text = JSON.stringify({ session_id: 's', hook_event_name: 'PreToolUse' });
    expect(await answerHook({ host, text, onFailure: 'deny' }, pass)).toMatchObject({ exitCode: 2 });
  });

  it('bounds a reason and removes terminal escapes', async () => {
    const text = JSON.stringify({ session_id: 's', hook_event_name: 'PreToolUse', tool_name: 'Write' });
    const reason = `\u001b[31mred\u001b[0m ${'x'.repeat(20_000)}`;
    const { stdout } = await answerHook({ host, text, onFailure: 'deny' }, async () => ({
      verdict: 'deny',
      reason,
    }));
    const said = JSON.parse(stdout).hookSpecificOutput.permissionDecisionReason;
    expect(said.length).toBeLessThanOrEqual(8_000);
    expect(said.startsWith('red xxx')).toBe(true);
  });
});

it('reports why a check failed, and not that closing failed too', async () => {
  const full = new Fault('STORE_FAILED', 'the disk of the state folder is full');
  const door = { close: () => Promise.reject(full) };
  const told: string[] = [];
  const tell = (text: string): void => void told.push(text);
  await expect(thenClose(door, () => Promise.reject(full), tell)).rejects.toBe(full);
  expect(told).toEqual([]);
  await expect(thenClose(door, async () => 'pass', tell)).resolves.toBe('pass');
  expect(told).toEqual([expect.stringContaining('the disk of the state folder is full')]);
});
