import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Progress } from './progress.ts';
import { Terminal } from './terminal.ts';

/** The text on stderr after work that took 1.5 seconds. */
async function shown(isTTY: boolean, env: Record<string, string> = {}): Promise<string> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }, env);
  const work = new Promise<string>((resolve) => setTimeout(() => resolve('done'), 1500));
  const waited = new Progress(terminal).during('taking back 12 changes', work);
  await vi.advanceTimersByTimeAsync(1500);
  expect(await waited).toBe('done');
  return String(stderr.read() ?? '');
}

it('shows on a terminal what is running, and removes the line at the end', async () => {
  expect(await shown(true)).toBe('\r\u001b[Ktaking back 12 changes …\r\u001b[K');
});

it('removes the line before a message', () => {
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }, {});
  terminal.overwrite('reading …');
  terminal.tell('left out a.txt');
  expect(String(stderr.read())).toBe('\r\u001b[Kreading …\r\u001b[Kleft out a.txt\n');
});

it('writes nothing if stderr is not a terminal, or a dumb one', async () => {
  expect(await shown(false)).toBe('');
  expect(await shown(true, { TERM: 'dumb' })).toBe('');
});

/** The text on stderr of a command that prints its answer after some time. */
async function silentFor(ms: number): Promise<string> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }, {});
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
