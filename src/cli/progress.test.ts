import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Terminal } from './terminal.ts';

it('removes the line before a message', () => {
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }, {});
  terminal.overwrite('reading …');
  terminal.tell('left out a.txt');
  expect(String(stderr.read())).toBe('\r\u001b[Kreading …\r\u001b[Kleft out a.txt\n');
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
