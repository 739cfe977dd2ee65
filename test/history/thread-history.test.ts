import { describe, expect, it } from 'vitest';
import { HistoryIndex } from '../../src/index.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

/**
 * A conversation (thread) of which only the events are stored. The preset `thread-history` copies a
 * system that works in this way.
 */
class Thread {
  readonly events: object[] = [];
  readonly #desk: Desk;
  #calls = 0;

  constructor(home: Desk) {
    this.#desk = home;
  }

  /** A new agent that knows the earlier conversation only from its events. */
  async agent(): Promise<GatedSession> {
    const session = await this.#desk.open({ store: 'memory:' });
    await session.resumeFrom(this.events, { format: 'thread-events' });
    return session;
  }

  call(name: string, args: object, content: string, isError = false): void {
    this.#calls += 1;
    const id = `call_${this.#calls}`;
    this.events.push(
      { type: 'TOOL_CALL', data: { id, name, arguments: args } },
      { type: 'TOOL_RESULT', data: { id, isError, content: [{ type: 'text', text: content }] } },
    );
  }

  read(path: string): void {
    this.call('file_read', { path }, this.#desk.text(path));
  }

  compact(): void {
    this.events.push({ type: 'COMPACTION', data: { strategyId: 'summarize', compactedEvents: [] } });
  }

  hasFileBeenRead(path: string): boolean {
    const index = new HistoryIndex({ format: 'thread-events', paths: 'exact' });
    index.add(this.events);
    return index.hasFileBeenRead(path);
  }
}

const open = async (): Promise<{ t: Desk; thread: Thread }> => {
  const t = await desk({ preset: 'thread-history' });
  return { t, thread: new Thread(t) };
};

describe('seed document C: hasFileBeenRead', () => {
  it('knows nothing without events', async () => {
    const { thread } = await open();
    expect(thread.hasFileBeenRead('a.txt')).toBe(false);
  });

  it('counts a read that succeeded, not one that failed, for each file separately', async () => {
    const { thread } = await open();
    thread.call('file_read', { path: '/p/a.txt' }, 'one\n');
    thread.call('file_read', { path: '/p/b.txt' }, 'File not found', true);
    thread.call('file_read', { path: '/p/c.txt' }, 'three\n');
    const known = ['/p/a.txt', '/p/b.txt', '/p/c.txt'].map((path) => thread.hasFileBeenRead(path));
    expect(known).toEqual([true, false, true]);
  });

  it('compares names exactly', async () => {
    const { thread } = await open();
    thread.call('file_read', { path: './a.txt' }, 'one\n');
    const known = ['./a.txt', 'a.txt', './A.txt'].map((path) => thread.hasFileBeenRead(path));
    expect(known).toEqual([true, false, false]);
  });
});

describe('seed document C: the tools', () => {
  it('require a read before write, insert and edit, except for a new file', async () => {
    const { t, thread } = await open();
    await t.put('a.txt', 'one\n');
    const blind = await thread.agent();
    await refusal(blind.write('a.txt', 'x'), 'NOT_READ');
    await refusal(blind.insert('a.txt', 'x'), 'NOT_READ');
    await refusal(blind.edit('a.txt', [{ oldString: 'one', newString: 'x' }]), 'NOT_READ');
    await ok(blind.write('new.txt', 'x'));
    thread.read('a.txt');
    await ok((await thread.agent()).edit('a.txt', [{ oldString: 'one', newString: 'two' }]));
  });
});

describe('seed document C: its end-to-end test', () => {
  it('allows a write after a read, and refuses it after a compaction', async () => {
    const { t, thread } = await open();
    await t.put('a.txt', 'one\n');
    thread.read('a.txt');
    expect(thread.hasFileBeenRead('a.txt')).toBe(true);
    await ok((await thread.agent()).write('a.txt', 'two\n'));
    thread.call('file_write', { path: 'a.txt', content: 'two\n' }, 'Successfully wrote 4 bytes to a.txt');
    await ok((await thread.agent()).write('a.txt', 'three\n'));
    thread.compact();
    expect(thread.hasFileBeenRead('a.txt')).toBe(false);
    await refusal((await thread.agent()).write('a.txt', 'four\n'), 'NOT_READ');
    expect(t.text('a.txt')).toBe('three\n');
  });
});
