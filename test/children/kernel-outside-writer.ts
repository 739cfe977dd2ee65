// A program that does not use Lookfirst and keeps adding numbered lines to one file. A line counts as acknowledged once
// its write has returned. Sends the acknowledged lines at the end.
import {
  closeSync,
  constants,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { setImmediate, setTimeout } from 'node:timers/promises';

interface Settings {
  readonly kind: 'append' | 'inplace' | 'rename' | 'slow';
  readonly target: string;
  readonly writes: number;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const acknowledged: number[] = [];
let next = 0;

/**
 * Flags for appending, without O_CREAT: like a program that writes a log, the writer opens the
 * existing file and never creates one.
 */
const APPEND = constants.O_WRONLY | constants.O_APPEND;

const writers = {
  append(line: string): void {
    const fd = openSync(settings.target, APPEND);
    writeSync(fd, line);
    closeSync(fd);
  },
  inplace(line: string): void {
    writeFileSync(settings.target, readFileSync(settings.target, 'utf8') + line);
  },
  rename(line: string): void {
    const temp = `${settings.target}.outside`;
    writeFileSync(temp, readFileSync(settings.target, 'utf8') + line);
    renameSync(temp, settings.target);
  },
  async slow(line: string): Promise<void> {
    const fd = openSync(settings.target, APPEND);
    await setTimeout(Math.random() * 5);
    writeSync(fd, line);
    closeSync(fd);
  },
};

async function work(): Promise<void> {
  while (next < settings.writes) {
    next += 1;
    const number = next;
    try {
      const written = writers[settings.kind](`w${number}\n`);
      if (written !== undefined) await written;
      acknowledged.push(number);
    } catch (error) {
      // A commit by `claim` moves the old file aside before it creates the new one. A write in
      // between finds no file, and is not counted.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
      next -= settings.kind === 'slow' ? 0 : 1;
    }
    if (settings.kind !== 'slow') pause();
    if (number % 16 === 0) await setImmediate();
  }
}

/**
 * Waits for an irregular time, often long enough for a commit. Without this pause, the file would
 * change so often that no commit could succeed.
 */
function pause(): void {
  const untilMs = performance.now() + Math.random() * 0.2;
  while (performance.now() < untilMs);
}

process.once('message', async () => {
  await Promise.all(Array.from({ length: settings.kind === 'slow' ? 8 : 1 }, work));
  if (settings.kind === 'rename') {
    try {
      unlinkSync(`${settings.target}.outside`);
    } catch {
      // Ignore the error: the writer's temporary file exists only if its last rename failed.
    }
  }
  process.send?.(acknowledged);
  process.disconnect();
});
process.send?.('ready');
