import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Runner, type Shell, shellTool } from '@openai/agents';
import { SandboxAgent } from '@openai/agents/sandbox';
import { UnixLocalSandboxClient } from '@openai/agents/sandbox/local';
import { openSession } from 'lookfirst';
import { guardSandbox, lookfirstEditor, lookfirstShell } from 'lookfirst/openai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../support/tree.ts';
import { type Call, workspace } from '../conformance.ts';
import { runAgent, ScriptedModel, shownIn } from './openai.ts';

const execute = promisify(execFile);

/** A shell as authors of agents write it for this SDK. */
function shellIn(cwd: string): Shell {
  return {
    async run({ commands }) {
      const output = [];
      for (const command of commands) {
        const { stdout, stderr } = await execute('sh', ['-c', command], { cwd });
        output.push({ stdout, stderr, outcome: { type: 'exit' as const, exitCode: 0 } });
      }
      return { output };
    },
  };
}

/** Makes a repository in which the file `a.txt` has an uncommitted edit. */
function editedRepository(root: string): void {
  const commit = 'git -c user.name=a -c user.email=a@b commit -qm one';
  const line = `git init -q; echo one > a.txt; git add .; ${commit}; echo mine >> a.txt`;
  execFileSync('sh', ['-ec', line], { cwd: root });
}

/** A sandbox of the SDK, and a session on its workspace. Both are closed when the test ends. */
async function openSandbox() {
  const { base, home } = scratch();
  const sandbox = await new UnixLocalSandboxClient({ workspaceBaseDir: base }).create();
  onTestFinished(() => sandbox.close());
  const root = sandbox.state.workspaceRootPath;
  const session = await openSession({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => session.close());
  return { sandbox, root, session };
}

const RESET = 'git reset -q --hard';

const shell = (...commands: string[]): Call => ({ tool: 'shell', args: { commands } });

const exec = (cmd: string): Call => ({
  tool: 'exec_command',
  args: {
    cmd,
    workdir: null,
    shell: null,
    login: false,
    tty: false,
    yield_time_ms: 20_000,
    max_output_tokens: null,
  },
});

export function commandSuite(): void {
  describe('the shell tool of the OpenAI Agents SDK', () => {
    it('refuses a blind write, counts what a command shows as read, and can undo', async () => {
      const { root, session, put, text } = await workspace();
      put('a.txt', 'one\n');
      const tools = [shellTool({ shell: lookfirstShell(session, shellIn(root)) })];
      const steps = [[shell('echo two > a.txt')], [shell('cat a.txt')], [shell('echo two > a.txt')]];
      const shown = await runAgent({ session, root, steps }, tools);
      expect(shown[0]).toMatchObject({ flagged: true, text: expect.stringContaining('[NOT_READ]') });
      expect(shown[0]?.text).toContain('Next: cat a.txt');
      expect(shown.slice(1).map(({ flagged }) => flagged)).toEqual([false, false]);
      expect(text('a.txt')).toBe('two\n');
      expect(await session.undo({})).toMatchObject({ ok: true });
      expect(text('a.txt')).toBe('one\n');
    });

    it('refuses a line once that destroys work', async () => {
      const { root, session, text } = await workspace();
      editedRepository(root);
      const tools = [shellTool({ shell: lookfirstShell(session, shellIn(root)) })];
      const shown = await runAgent({ session, root, steps: [[shell(RESET)], [shell(RESET)]] }, tools);
      expect(shown[0]).toMatchObject({
        flagged: true,
        text: expect.stringMatching(/WOULD_DESTROY[\s\S]*a\.txt/),
      });
      expect(shown[1]).toMatchObject({ flagged: false });
      expect(text('a.txt')).toBe('one\n');
    });
  });

  describe('a sandbox of the OpenAI Agents SDK', () => {
    it('is gated for edits and for commands', async () => {
      const { sandbox, root, session } = await openSandbox();
      writeFileSync(join(root, 'a.txt'), 'one\n');
      const patch: Call = {
        tool: 'apply_patch',
        args: { type: 'update_file', path: '/workspace/a.txt', diff: '@@\n-one\n+two\n' },
      };
      const model = new ScriptedModel([[patch], [exec('echo three > a.txt')], [exec('cat a.txt')], [patch]]);
      const agent = new SandboxAgent({ name: 'scripted', model });
      await new Runner().run(agent, 'go', { sandbox: { session: guardSandbox(sandbox, session) } });
      const shown = shownIn(model.input);
      expect(shown[0]).toMatchObject({
        flagged: true,
        text: expect.stringContaining('/workspace/a.txt: read it'),
      });
      expect(shown[0]?.text).toContain('Next: cat /workspace/a.txt');
      expect(shown[1]?.text).toContain('refusing to overwrite a.txt: read it first [NOT_READ]');
      expect(shown[2]?.text).toContain('one');
      expect(shown[3]).toMatchObject({ flagged: false });
      expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('two\n');
    });

    it.each(['exec', 'execCommand'] as const)(
      'refuses a line once that destroys work: %s',
      async (method) => {
        const { sandbox, root, session } = await openSandbox();
        editedRepository(root);
        const run = async () => JSON.stringify(await guardSandbox(sandbox, session)[method]({ cmd: RESET }));
        expect(await run()).toMatch(/WOULD_DESTROY.*a\.txt/);
        expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\nmine\n');
        expect(await run()).not.toContain('WOULD_DESTROY');
        expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\n');
      },
    );
  });

  describe('the editor of the OpenAI Agents SDK', () => {
    it.each([
      ['another file in the diff', { path: 'a.txt', diff: '@@\n-one\n+two\n*** Delete File: b.txt\n' }],
      ['a line end in the path', { path: 'a.txt\n*** Delete File: b.txt', diff: '@@\n-one\n+two\n' }],
    ])('refuses %s', async (_what, operation) => {
      const { session, put, text } = await workspace();
      put('a.txt', 'one\n');
      put('b.txt', 'kept\n');
      await session.readMany(['a.txt', 'b.txt']);
      const editor = lookfirstEditor(session);
      expect(await editor.updateFile(operation)).toMatchObject({ status: 'failed' });
      expect(text('a.txt') + text('b.txt')).toBe('one\nkept\n');
    });

    it('updates and moves a file in one change, or does neither', async () => {
      const { session, put, text } = await workspace();
      put('a.txt', 'one\n');
      await session.read('a.txt');
      const operation = { path: 'a.txt', diff: '@@\n-one\n+two\n', moveTo: 'b.txt' };
      expect(await lookfirstEditor(session).updateFile(operation)).toMatchObject({ status: 'completed' });
      expect(text('b.txt')).toBe('two\n');
      put('unread.txt', 'kept\n');
      const onto = { path: 'b.txt', diff: '@@\n-two\n+three\n', moveTo: 'unread.txt' };
      expect(await lookfirstEditor(session).updateFile(onto)).toMatchObject({ status: 'failed' });
      expect(text('b.txt') + text('unread.txt')).toBe('two\nkept\n');
    });
  });
}
