import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LineClient } from '../proxy/line-client.ts';
import { Child } from './child.ts';
import { RawClient } from './raw-client.ts';
import { WatchedChild } from './watched-child.ts';

const ENDS = ['-e', 'console.error("cannot go on"); process.exitCode = 3'];

describe('a wait for a child that has ended', () => {
  it('of a client fails with what the child wrote to stderr', async () => {
    const client = new RawClient(ENDS);
    await expect(client.request('initialize')).rejects.toThrow(/ended early \(3\): cannot go on/);
    await expect(client.next()).rejects.toThrow('ended early');
    await expect(client.said('ready')).rejects.toThrow('ended early');
  });

  it('of a client of two streams fails with it as well', async () => {
    const child = spawn(process.execPath, ENDS);
    const watched = new WatchedChild(child);
    const client = new LineClient(child.stdin, child.stdout, () => watched.errors);
    await watched.ended;
    await expect(client.next()).rejects.toThrow('ended before this message: cannot go on');
  });

  it('of a test program fails, after the messages that it sent', async () => {
    const script = 'process.send("one"); process.disconnect(); console.error("cannot go on")';
    const stdio = ['ignore', 'inherit', 'pipe', 'ipc'] as const;
    const child = new Child(spawn(process.execPath, ['-e', script], { stdio: [...stdio] }));
    await child.exit();
    expect(await child.message()).toBe('one');
    await expect(child.message()).rejects.toThrow(/ended early \(0\): cannot go on/);
  });

  it('fails if the program does not exist', async () => {
    const child = spawn('/nowhere/program');
    const line = new WatchedChild(child).whileRunning(once(child.stdout, 'data'));
    await expect(line).rejects.toThrow('ENOENT');
  });

  it('fails although a process of the child keeps its output open', async () => {
    const child = spawn('sh', ['-c', 'sleep 1000 & exit 4'], { detached: true });
    onTestFinished(() => void process.kill(-(child.pid ?? expect.unreachable()), 'SIGKILL'));
    const line = new WatchedChild(child, 10).whileRunning(once(child.stdout, 'data'));
    await expect(line).rejects.toThrow('ended early (4)');
  });
});
