import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { type Desk, desk, ok } from '../support/desk.ts';

/** The environment of a command that the agent of session `agent-7` starts. */
const AGENT = { env: { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: 'agent-7' } };

/** A turn of `agent-7` that changes a.txt, then one of another session that changes b.txt. */
async function twoSessions(): Promise<Desk & { readonly own: string; readonly foreign: string }> {
  const t = await desk({ session: 'agent-7' });
  const other = await t.open({ session: 'other' });
  await t.session.beginTurn({ turn: 'p1', prompt: 'own task' });
  const own = (await ok(t.session.write('a.txt', 'a\n'))).change;
  await other.beginTurn({ turn: 'p2', prompt: 'other task' });
  const foreign = (await ok(other.write('b.txt', 'b\n'))).change;
  return { ...t, own: String(own), foreign: String(foreign) };
}

const has = (t: Desk, name: string): boolean => existsSync(join(t.root, name));

describe('a command that an agent starts', () => {
  it.each([[['--purge']], [['--purge', 'a.txt']], [['--older-than', '1s']], [['--quota', '1']]])(
    'refuses gc %j as a command for the user, but allows its dry run',
    async (args) => {
      const t = await twoSessions();
      const tried = await lookfirst(t, ['gc', ...args], AGENT);
      expect(tried).toMatchObject({ code: 2, stdout: '' });
      expect(tried.stderr).toMatch(/^lookfirst: gc .* is for the user.*\[PROTECTED\]/);
      expect((await lookfirst(t, ['log', '--kind', 'notice'])).stdout).toContain('an agent started it');
      expect((await lookfirst(t, ['gc', '--dry-run', ...args], AGENT)).code).toBe(0);
      expect((await lookfirst(t, ['gc', ...args])).code).toBe(0);
    },
  );

  it('refuses run --apply as a command for the user', async () => {
    const t = await twoSessions();
    const tried = await lookfirst(t, ['run', '--apply', 'c0a1b2c3d4e'], AGENT);
    expect(tried).toMatchObject({ code: 2, stdout: '' });
    expect(tried.stderr).toMatch(/^lookfirst: run --apply is for the user.*\[PROTECTED\]/);
    expect((await lookfirst(t, ['log', '--kind', 'notice'])).stdout).toContain('an agent started it');
  });

  it('gc may be started by an agent if it uses the limits of the policy', async () => {
    expect((await lookfirst(await twoSessions(), ['gc'], AGENT)).code).toBe(0);
  });

  it("undo takes back the newest change of the agent's own session, even if another session changed later", async () => {
    const t = await twoSessions();
    expect((await lookfirst(t, ['undo'], AGENT)).code).toBe(0);
    expect([has(t, 'a.txt'), has(t, 'b.txt')]).toEqual([false, true]);
  });

  it("undo --since takes back changes of the agent's own session only", async () => {
    const t = await twoSessions();
    expect((await lookfirst(t, ['undo', '--since', '1h'], AGENT)).code).toBe(0);
    expect([has(t, 'a.txt'), has(t, 'b.txt')]).toEqual([false, true]);
  });

  it.each<[string, (t: { readonly foreign: string }) => readonly string[]]>([
    ['undo of a change', ({ foreign }) => ['undo', foreign]],
    ['undo of a session', () => ['undo', '--session', 'other']],
    ['rewind of a turn', () => ['rewind', 'p2']],
    ['rewind --all', () => ['rewind', 'p1', '--all']],
  ])('%s of another session is refused and journalled', async (_what, argsOf) => {
    const t = await twoSessions();
    const tried = await lookfirst(t, argsOf(t), AGENT);
    expect(tried).toMatchObject({ code: 2, stdout: '' });
    expect(tried.stderr).toMatch(/an agent may only .* its own session.*\[PROTECTED\]/);
    expect(has(t, 'b.txt')).toBe(true);
    const notices = objects(await lookfirst(t, ['log', '--json', '--kind', 'notice']));
    expect(notices).toMatchObject([{ text: expect.stringContaining('an agent may only') }]);
    const operator = { env: { ...AGENT.env, LOOKFIRST_OPERATOR: '1' } };
    expect((await lookfirst(t, argsOf(t), operator)).code).toBe(0);
    expect(has(t, 'b.txt')).toBe(false);
  });

  it.each([
    ['undo', '--session', 'other'],
    ['rewind', 'p2'],
  ])('%s as another session by LOOKFIRST_SESSION is refused', async (...args) => {
    const t = await twoSessions();
    const tried = await lookfirst(t, args, { env: { ...AGENT.env, LOOKFIRST_SESSION: 'other' } });
    expect(tried).toMatchObject({ code: 2, stdout: '' });
    expect(has(t, 'b.txt')).toBe(true);
  });

  it('undo uses LOOKFIRST_SESSION if the session of the host is unknown', async () => {
    const t = await twoSessions();
    const env = { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: 'unknown', LOOKFIRST_SESSION: 'agent-7' };
    expect((await lookfirst(t, ['undo'], { env })).code).toBe(0);
    expect([has(t, 'a.txt'), has(t, 'b.txt')]).toEqual([false, true]);
  });

  it("undo and rewind work on the agent's own session", async () => {
    const t = await twoSessions();
    expect((await lookfirst(t, ['undo', t.own], AGENT)).code).toBe(0);
    await ok(t.session.write('c.txt', 'c\n'));
    expect((await lookfirst(t, ['rewind', 'p1'], AGENT)).code).toBe(0);
    expect(has(t, 'c.txt')).toBe(false);
  });

  it("undo is refused if the agent's session is unknown", async () => {
    const t = await twoSessions();
    const tried = await lookfirst(t, ['undo'], { env: { CURSOR_AGENT: '1' } });
    expect(tried).toMatchObject({ code: 2, stdout: '' });
    expect(has(t, 'b.txt')).toBe(true);
  });
});
