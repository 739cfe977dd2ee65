import { describe, expect, it } from 'vitest';
import { type ChoiceOptions, SESSION_KEY, sessionSelector } from './session-choice.ts';

const named = (id: string) => ({ kind: 'named', id });
const choose = (call: { meta?: Record<string, unknown>; hint?: string }, options: ChoiceOptions = {}) =>
  sessionSelector(options)({ meta: call.meta ?? {}, sessionHint: call.hint });

describe('sessionSelector', () => {
  it('uses the first of: the call, the flag, our variable, the client, the transport, the process', () => {
    const meta = { [SESSION_KEY]: 'call', threadId: 'thread' };
    const env = { LOOKFIRST_SESSION: 'variable', CLAUDE_CODE_SESSION_ID: 'claude' };
    const { [SESSION_KEY]: _, ...unsaid } = meta;
    expect(choose({ meta, hint: 'http' }, { session: 'flag', env })).toEqual(named('call'));
    expect(choose({ meta: unsaid, hint: 'http' }, { session: 'flag', env })).toEqual(named('flag'));
    expect(choose({ meta: unsaid, hint: 'http' }, { env })).toEqual(named('variable'));
    const { CLAUDE_CODE_SESSION_ID } = env;
    expect(choose({ meta: unsaid, hint: 'http' }, { env: { CLAUDE_CODE_SESSION_ID } })).toEqual(
      named('thread'),
    );
    expect(choose({ hint: 'http' }, { env: { CLAUDE_CODE_SESSION_ID } })).toEqual(named('claude'));
    expect(choose({ hint: 'http' })).toEqual({ kind: 'transport', hint: 'http' });
    expect(choose({})).toEqual({ kind: 'process' });
    expect(choose({}, { nameless: 'call' })).toEqual({ kind: 'call' });
    expect(choose({ hint: 'http' }, { nameless: 'call' })).toEqual({ kind: 'transport', hint: 'http' });
  });

  it.each([
    'vscode.conversationId',
    'threadId',
    'ai.opencode/sessionID',
    'antigravity.google/conversation_id',
  ])("reads the client's own id from %s", (key) => {
    expect(choose({ meta: { [key]: 'mine' } })).toEqual(named('mine'));
  });

  it.each([[''], [7], [null], ['a\nb'], ['x'.repeat(201)], [['a']]])(
    'refuses the explicit id %j instead of using another session',
    (id) => {
      expect(choose({ meta: { [SESSION_KEY]: id } }, { session: 'flag' })).toMatchObject({ kind: 'invalid' });
    },
  );

  it.each([['a\tb'], ['x'.repeat(201)]])(
    'refuses LOOKFIRST_SESSION and --session of %j unless a better name is given',
    (id) => {
      const env = { LOOKFIRST_SESSION: id, CLAUDE_CODE_SESSION_ID: 'claude' };
      const reason = expect.stringContaining('LOOKFIRST_SESSION');
      expect(choose({ meta: { threadId: 'thread' } }, { env })).toEqual({ kind: 'invalid', reason });
      expect(choose({}, { env, session: 'flag' })).toEqual(named('flag'));
      expect(choose({ meta: { [SESSION_KEY]: 'call' } }, { env })).toEqual(named('call'));
      expect(choose({}, { session: id })).toMatchObject({ kind: 'invalid' });
    },
  );

  it('takes an empty LOOKFIRST_SESSION for none', () => {
    expect(choose({}, { env: { LOOKFIRST_SESSION: '' } })).toEqual({ kind: 'process' });
  });

  it.each([[''], [7], ['a\u2028b']])("ignores %j as a client's own id", (id) => {
    expect(choose({ meta: { threadId: id } })).toEqual({ kind: 'process' });
  });
});
