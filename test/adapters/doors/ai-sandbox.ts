import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Experimental_SandboxSession, generateText, isStepCount, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { lookfirstSandbox, RefusedError } from 'lookfirst/ai-sdk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { workspace } from '../conformance.ts';
import { script, shownIn } from './ai-sdk.ts';

const execute = promisify(execFile);

/** Tools without knowledge of Lookfirst: they use the sandbox that the SDK passes to them. */
const FOREIGN_TOOLS = {
  save: tool({
    inputSchema: z.object({ path: z.string(), content: z.string() }),
    execute: async ({ path, content }, { experimental_sandbox: sandbox }) => {
      await sandbox?.writeTextFile({ path, content });
      return 'saved';
    },
  }),
  load: tool({
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }, { experimental_sandbox: sandbox }) => await sandbox?.readTextFile({ path }),
  }),
};

export function sandboxSuite(): void {
  describe('the sandbox of AI SDK 7', () => {
    it('gates tools that know nothing of Lookfirst', async () => {
      const { session, put, text } = await workspace();
      put('a.txt', 'one\n');
      const sandbox: Experimental_SandboxSession = lookfirstSandbox(session);
      const save = { tool: 'save', args: { path: 'a.txt', content: 'two\n' } };
      const answer = script([[save], [{ tool: 'load', args: { path: 'a.txt' } }], [save]]);
      const model = new MockLanguageModelV4({ doGenerate: async () => answer() });
      const stopWhen = isStepCount(9);
      await generateText({
        model,
        tools: FOREIGN_TOOLS,
        experimental_sandbox: sandbox,
        prompt: 'go',
        stopWhen,
      });
      const [blind, read, seen] = shownIn(model.doGenerateCalls.at(-1)?.prompt ?? []);
      expect(blind).toMatchObject({ flagged: true, text: expect.stringContaining('[NOT_READ]') });
      expect(blind?.text).toContain('readTextFile {"path":"a.txt"}');
      expect(read?.text).toBe('one\n');
      expect(seen).toMatchObject({ flagged: false });
      expect(text('a.txt')).toBe('two\n');
    });

    it('answers null for a missing file and throws refusals with their code', async () => {
      const { session, put } = await workspace();
      const sandbox = lookfirstSandbox(session);
      expect(await sandbox.readTextFile({ path: 'no.txt' })).toBeNull();
      expect(await sandbox.readFile({ path: 'no.txt' })).toBeNull();
      expect(await sandbox.stat({ path: 'no.txt' })).toBeNull();
      expect(await sandbox.listDirectory({ path: 'no' })).toBeNull();
      expect(await sandbox.deleteFile({ path: 'no.txt' })).toBe(false);
      put('a.txt', 'one\n');
      const refused = await sandbox.deleteFile({ path: 'a.txt' }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(RefusedError);
      expect(refused).toMatchObject({ code: 'NOT_READ', refusal: { path: 'a.txt' } });
      await expect(sandbox.readTextFile({ path: '/etc/passwd' })).rejects.toMatchObject({
        code: 'OUTSIDE_WORKSPACE',
      });
    });

    it.each([100, 9_000_000])('masks secrets in the text of a binary file of %i bytes', async (size) => {
      const { session, put } = await workspace();
      const sandbox = lookfirstSandbox(session);
      const token = `ghp_${'abcdefghijklmnopqrstuvwxyz0123456789'}`;
      put('a.log', `${`\0\n${'x'.repeat(99)}\n`.repeat(Math.ceil(size / 102))}key ${token}\n`);
      for (const encoding of [undefined, 'utf-8']) {
        const text = await sandbox.readTextFile({ path: 'a.log', ...(encoding ? { encoding } : {}) });
        expect(text?.slice(-200)).toMatch(/x\nkey \[masked\]\n$/);
      }
      const bytes = await sandbox.readBinaryFile({ path: 'a.log' });
      expect(Buffer.from(bytes ?? []).includes(token)).toBe(true);
    });

    it('reads and writes bytes, lines and streams whole', async () => {
      const { session, root, put } = await workspace();
      const sandbox = lookfirstSandbox(session);
      const large = Array.from({ length: 30_000 }, (_, index) => `line ${index}\n`).join('');
      put('large.txt', large);
      expect(await sandbox.readTextFile({ path: 'large.txt' })).toBe(large);
      expect(await sandbox.readTextFile({ path: 'large.txt', startLine: 2, endLine: 3 })).toBe(
        'line 1\nline 2\n',
      );
      const bytes = new Uint8Array([0, 255, 1, 254]);
      await sandbox.writeBinaryFile({ path: 'b.bin', content: bytes });
      expect(await sandbox.readBinaryFile({ path: 'b.bin' })).toEqual(bytes);
      const stream = await sandbox.readFile({ path: 'b.bin' });
      if (stream === null) throw new Error('no stream');
      await sandbox.writeFile({ path: 'c.bin', content: stream });
      expect(new Uint8Array(readFileSync(join(root, 'c.bin')))).toEqual(bytes);
      await sandbox.writeTextFile({ path: 'd.txt', content: 'é', encoding: 'latin1' });
      expect([...readFileSync(join(root, 'd.txt'))]).toEqual([0xe9]);
      expect(await sandbox.stat({ path: 'b.bin' })).toEqual({ type: 'file', size: 4 });
      const names = (await sandbox.listDirectory({ path: '.' }))?.map(({ name, type }) => `${type} ${name}`);
      expect(names?.sort()).toEqual(['file b.bin', 'file c.bin', 'file d.txt', 'file large.txt']);
      expect(await sandbox.deleteFile({ path: 'c.bin' })).toBe(true);
      expect(existsSync(join(root, 'c.bin'))).toBe(false);
    });

    it('records what a command of another sandbox changed, so that it can be undone', async () => {
      const { session, root, put, text } = await workspace();
      put('a.txt', 'one\n');
      const sandbox = lookfirstSandbox(session, {
        run: async ({ command }) => ({
          exitCode: 0,
          ...(await execute('sh', ['-c', command], { cwd: root })),
        }),
        spawn: () => {
          throw new Error('not used here');
        },
      });
      await sandbox.readTextFile({ path: 'a.txt' });
      await sandbox.run({ command: 'echo two > a.txt' });
      expect(text('a.txt')).toBe('two\n');
      expect(await session.undo({})).toMatchObject({ ok: true });
      expect(text('a.txt')).toBe('one\n');
    });

    it('judges what a command of another sandbox deletes, and says what was lost', async () => {
      const { session, root, put } = await workspace();
      const run = async ({ command }: { command: string }) => ({
        exitCode: 0,
        ...(await execute('sh', ['-c', command], { cwd: root })),
      });
      const spawn = () => {
        throw new Error('not used here');
      };
      const sandbox = lookfirstSandbox(session, { run, spawn });
      put('a.txt', 'one\n');
      await expect(sandbox.run({ command: 'rm a.txt' })).rejects.toThrow('NOT_READ');
      expect(existsSync(join(root, 'a.txt'))).toBe(true);
      const { stderr } = await sandbox.run({ command: 'rm $(echo a.txt)' });
      expect(stderr).toMatch(/a\.txt[\s\S]*lookfirst undo c/);
    });

    it('does not write after an abort', async () => {
      const { session, root } = await workspace();
      const sandbox = lookfirstSandbox(session);
      const abortSignal = AbortSignal.abort(new Error('stop'));
      await expect(sandbox.writeTextFile({ path: 'n.txt', content: 'x', abortSignal })).rejects.toThrow(
        'stop',
      );
      expect(existsSync(join(root, 'n.txt'))).toBe(false);
    });
  });
}
