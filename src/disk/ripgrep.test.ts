import {
  closeSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { HeldDirectory } from '../workspace/pinned.ts';
import { runRipgrep } from './ripgrep.ts';

/** Runs another program in place of ripgrep, to test what the child gets and how it ends. */
async function run(
  binary: string,
  args: readonly string[],
  more: Partial<Parameters<typeof runRipgrep>[0]> = {},
): Promise<{ how: string; complaint: string; text: string }> {
  let text = '';
  const onOutput = (chunk: Buffer): 'more' => {
    text += chunk.toString('utf8');
    return 'more';
  };
  const end = await runRipgrep({ binary, args, where: { files: [] }, onOutput, ...more });
  return { ...end, text };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(process.platform !== 'linux')('a run', () => {
  it('starts in the pinned folder even if its name leads elsewhere, and inherits no handle', async () => {
    const { root, outside } = scratch();
    mkdirSync(join(root, 'd'));
    const dir = HeldDirectory.open(join(root, 'd'));
    renameSync(join(root, 'd'), join(root, 'moved'));
    symlinkSync(outside, join(root, 'd'));
    try {
      const where = { folder: dir.prefix };
      expect((await run('/bin/pwd', ['-P'], { where })).text).toBe(`${join(root, 'moved')}\n`);
      const { text } = await run('/bin/ls', ['-l', '/proc/self/fd'], { where });
      expect(text).toContain('0 -> /dev/null');
      expect(text).not.toContain(root);
    } finally {
      dir.close();
    }
  });

  it('gets the given files as descriptors 3, 4, …, whatever their numbers are here', async () => {
    const { root } = scratch();
    const descriptors = Array.from({ length: 40 }, (_, index) => {
      writeFileSync(join(root, `f${index}`), `${index};`);
      return openSync(join(root, `f${index}`), 'r');
    }).reverse();
    try {
      const names = descriptors.map((_, index) => `/proc/self/fd/${3 + index}`);
      const { text } = await run('/bin/cat', names, { where: { files: descriptors } });
      expect(text).toBe(Array.from({ length: 40 }, (_, index) => `${39 - index};`).join(''));
      expect(readlinkSync(`/proc/self/fd/${descriptors[0]}`)).toBe(join(root, 'f39'));
    } finally {
      for (const fd of descriptors) closeSync(fd);
    }
  });

  it('has no environment', async () => {
    expect((await run('/usr/bin/env', [])).text).toBe('');
  });

  it.each([
    ['0', 'done', 'exit 0'],
    ['1', 'done', 'exit 1'],
    ['2 and no error output', 'partly', 'exit 2'],
    ['2 and error output', 'failed', 'echo no >&2; exit 2'],
    ['a signal', 'failed', 'kill -9 $$'],
  ])('that ends with %s is %s', async (_what, how, script) => {
    expect((await run('/bin/sh', ['-c', script])).how).toBe(how);
  });

  it('stops when there is enough output, and its process ends', async () => {
    let pid = 0;
    const onOutput = (chunk: Buffer): 'enough' => {
      pid = Number(chunk.toString());
      return 'enough';
    };
    const end = await run('/bin/sh', ['-c', 'echo $$; exec sleep 1000'], { onOutput });
    expect(end.how).toBe('enough');
    expect(isRunning(pid)).toBe(false);
  });

  it('stops when the caller aborts, and its process ends', async () => {
    const giveUp = new AbortController();
    let pid = 0;
    const onOutput = (chunk: Buffer): 'more' => {
      pid = Number(chunk.toString());
      giveUp.abort(new Error('changed my mind'));
      return 'more';
    };
    const ended = run('/bin/sh', ['-c', 'echo $$; exec sleep 1000'], { onOutput, signal: giveUp.signal });
    await expect(ended).rejects.toThrow('changed my mind');
    expect(pid).toBeGreaterThan(0);
    expect(isRunning(pid)).toBe(false);
    await expect(run('/bin/echo', ['x'], { signal: giveUp.signal })).rejects.toThrow('changed my mind');
  });

  it('whose output cannot be parsed fails with that error, and its process ends', async () => {
    let pid = 0;
    const onOutput = (chunk: Buffer): never => {
      pid = Number(chunk.toString());
      throw new Error('not understood');
    };
    await expect(run('/bin/sh', ['-c', 'echo $$; exec sleep 1000'], { onOutput })).rejects.toThrow(
      'not understood',
    );
    expect(isRunning(pid)).toBe(false);
  });

  it('that takes too long is stopped', async () => {
    const limits = { timeMs: 20, memoryBytes: 1 << 30 };
    expect((await run('/bin/sleep', ['1000'], { limits })).how).toBe('overrun');
  });

  it('that takes too much memory is stopped', async () => {
    const limits = { timeMs: 60_000, memoryBytes: 50 << 20 };
    expect((await run('/usr/bin/tail', ['/dev/zero'], { limits })).how).toBe('overrun');
  });

  it('that cannot be started is a fault', async () => {
    const started = run(join(scratch().root, 'missing'), []);
    await expect(started).rejects.toMatchObject({ name: 'Fault', code: 'CONFIG_INVALID', reason: 'ripgrep' });
  });

  it('keeps a bounded part of the error output', async () => {
    const { complaint } = await run('/bin/sh', ['-c', 'yes trouble | head -c 100000 >&2; exit 2']);
    expect(complaint).toHaveLength(4000);
  });
});
