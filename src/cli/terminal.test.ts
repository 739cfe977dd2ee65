import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Terminal } from './terminal.ts';

it('prints a long answer without a pager on Windows, unless the user names one', async () => {
  const shown = async (env: Record<string, string>): Promise<string> => {
    const stdout = Object.assign(new PassThrough(), { isTTY: true, rows: 5, columns: 80 });
    const terminal = new Terminal({ stdin: new PassThrough(), stdout, stderr: new PassThrough() }, {});
    terminal.page(env, 'win32');
    await terminal.print('line\n'.repeat(20));
    await terminal.flushed();
    return String(stdout.read() ?? '');
  };
  expect(await shown({})).toBe(`${'line\n'.repeat(20)}\n`);
  expect(await shown({ PAGER: 'true' })).toBe('');
});

/** The text on stderr of a command that prints its answer after some time. */
async function silentFor(ms: number, isTTY = true, env: Record<string, string> = {}): Promise<string> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }, env);
  terminal.sayIfSilent();
  await vi.advanceTimersByTimeAsync(ms);
  await terminal.print('the answer');
  await vi.advanceTimersByTimeAsync(5000);
  return String(stderr.read() ?? '');
}

it('says that a command is working if it is silent for a second, until it answers', async () => {
  expect(await silentFor(1500)).toBe('working …\r\u001b[K');
  expect(await silentFor(500)).toBe('');
});

it('writes nothing if stderr is not a terminal, or a dumb one', async () => {
  expect(await silentFor(1500, false)).toBe('');
  expect(await silentFor(1500, true, { TERM: 'dumb' })).toBe('');
});

it('shows the progress of long work at most every 80 ms, until it ends', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }, {});
  for (const done of [1, 2, 3]) terminal.showProgress('reading', done, 3);
  await terminal.print('the answer');
  const bar = (part: string, percent: number): string => `\r\u001b[Kreading [${part}] ${percent} %`;
  const ended = `${bar('#'.repeat(24), 100)}\r\u001b[K`;
  expect(String(stderr.read())).toBe(`${bar(`${'#'.repeat(8)}${'-'.repeat(16)}`, 33)}${ended}`);
});

it('removes the line before a message', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }, {});
  terminal.sayIfSilent();
  await vi.advanceTimersByTimeAsync(1500);
  terminal.tell('left out a.txt');
  expect(String(stderr.read())).toBe('working …\r\u001b[Kleft out a.txt\n');
});
