import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Desk, desk, ok, refusal } from '../../test/support/desk.ts';
import { scratch } from '../../test/support/tree.ts';
import type { Session } from '../model/session.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { Sessions } from '../session/sessions.ts';
import { toolset } from '../tools/toolset.ts';
import { seenFrom } from './ai-sdk.ts';
import { ContextWatch, type ShownResult } from './context-watch.ts';

const A: ShownResult = ['1', 'one'];
const B: ShownResult = ['2', 'bee'];

async function setUp(): Promise<readonly [GatedSession, GatedSession]> {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  writeFileSync(join(root, 'b.txt'), 'bee\n');
  return [await sessions.session('first'), await sessions.session('second')];
}

it('notices a removed result although another session made the previous request', async () => {
  const [first, second] = await setUp();
  let current = first;
  const watch = new ContextWatch(() => current, 'anthropic-messages');
  await first.read('b.txt');
  await watch.look([], [A, B]);
  current = second;
  await watch.look([], []);
  current = first;
  await watch.look([], [A]);
  expect(await first.write('b.txt', 'x\n')).toMatchObject({ ok: false, refusal: { code: 'NOT_READ' } });
});

it("does not take another session's results for removed ones", async () => {
  const [first, second] = await setUp();
  let current = first;
  const watch = new ContextWatch(() => current, 'anthropic-messages');
  await watch.look([], [A]);
  current = second;
  await second.read('b.txt');
  await watch.look([], [B]);
  expect(await second.write('b.txt', 'x\n')).toMatchObject({ ok: true });
});

it('notices a removed result again if the session could not be told', async () => {
  const [session] = await setUp();
  const watch = new ContextWatch(session, 'anthropic-messages');
  await session.read('b.txt');
  await watch.look([], [A, B]);
  const unreadable = new Proxy([], {
    get: () => {
      throw new Error('unreadable');
    },
  });
  await expect(watch.look(unreadable, [A])).rejects.toThrow('unreadable');
  await session.read('b.txt');
  await watch.look([], [A]);
  expect(await session.write('b.txt', 'x\n')).toMatchObject({ ok: false, refusal: { code: 'NOT_READ' } });
});

const PROMPT = { role: 'user', content: 'Go on.' };

/** Reads a file with a tool. Returns the messages of the AI SDK that show the read to the model. */
async function shownRead(session: Session, path: string): Promise<readonly object[]> {
  const toolName = 'read_file';
  const toolCallId = `read ${path}`;
  const answer = await toolset(session, { only: [toolName] }).tools[0]?.call({ path });
  const output = { type: 'text', value: answer?.text };
  return [
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input: { path } }] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] },
  ];
}

/** A test workspace whose session `agent` had read the file `a.txt`, was closed, and is open again. */
async function resumedDesk(): Promise<Desk & { readonly read: readonly object[] }> {
  const t = await desk({ session: 'agent' });
  await t.put('a.txt', 'one\n');
  const read = await shownRead(t.session, 'a.txt');
  await t.session.close();
  // Wait for the next millisecond. Sightings are timed in milliseconds, and the read must be older
  // than the session that is opened now.
  const closedMs = Date.now();
  await expect.poll(() => Date.now()).toBeGreaterThan(closedMs);
  return { ...t, read, session: await t.open() };
}

describe('a resumed session', () => {
  it('must read again what the first request does not show', async () => {
    const { session } = await resumedDesk();
    await seenFrom(session)({ messages: [PROMPT] });
    await refusal(session.write('a.txt', 'two\n'), 'NOT_READ');
  });

  it('need not read again what the first request shows', async () => {
    const { session, read } = await resumedDesk();
    await seenFrom(session)({ messages: [PROMPT, ...read, PROMPT] });
    await ok(session.write('a.txt', 'two\n'));
  });

  it('keeps what it has seen since it was resumed', async () => {
    const t = await resumedDesk();
    await t.put('b.txt', 'b\n');
    await t.session.markRead('b.txt');
    await seenFrom(t.session)({ messages: [PROMPT] });
    await ok(t.session.write('b.txt', 'two\n'));
  });
});

describe('a session', () => {
  it('must read again what a request of an earlier watch showed and this one does not', async () => {
    const t = await desk({ session: 'agent' });
    await t.put('a.txt', 'one\n');
    const read = await shownRead(t.session, 'a.txt');
    await seenFrom(t.session)({ messages: [PROMPT, ...read] });
    await seenFrom(t.session)({ messages: [PROMPT] });
    await refusal(t.session.write('a.txt', 'two\n'), 'NOT_READ');
  });
});
