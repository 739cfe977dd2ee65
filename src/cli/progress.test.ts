import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Progress } from './progress.ts';
import { Terminal } from './terminal.ts';

/** The text on stderr after work that took 1.5 seconds. */
async function shown(isTTY: boolean): Promise<string> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }, {});
  const work = new Promise<string>((resolve) => setTimeout(() => resolve('done'), 1500));
  const waited = new Progress(terminal).during('taking back 12 changes', work);
  await vi.advanceTimersByTimeAsync(1500);
  expect(await waited).toBe('done');
  return String(stderr.read() ?? '');
}

it('shows on a terminal what goes on, and takes it away', async () => {
  expect(await shown(true)).toBe('\r\u001b[Ktaking back 12 changes …\r\u001b[K');
});

it('writes nothing where stderr is no terminal', async () => {
  expect(await shown(false)).toBe('');
});
