import { appendFileSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { newestCut } from '../../src/history/client-rewind.ts';
import { Hooked } from '../support/hooked.ts';
import { ReplayedClient } from '../support/replayed-client.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;

function put(name: string, text: string): void {
  writeFileSync(join(places.root, name), text);
}

const write = (path: string) => ({ event: 'before', action: 'write', input: { path, content: 'x' } });

beforeEach(() => {
  places = scratch();
  agent = new Hooked(places);
  put('a.txt', 'one\n');
  put('b.txt', 'bee\n');
});

describe("the client's own rewind", () => {
  const at = (second: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + second * 1000).toISOString();
  const ms = (second: number) => Date.parse(at(second));
  const spoken = (
    type: string,
    uuid: string,
    parentUuid: string | null,
    second: number,
    content: unknown = 'x',
  ) =>
    JSON.stringify({
      parentUuid,
      isSidechain: false,
      type,
      uuid,
      timestamp: at(second),
      message: { content },
    });
  const result = [{ type: 'tool_result', tool_use_id: 't', content: 'x' }];
  const turns = [
    spoken('user', 'p1', null, 1),
    spoken('assistant', 'a1', 'p1', 2),
    spoken('user', 'r1', 'a1', 3, result),
    spoken('assistant', 'b1', 'r1', 4),
    spoken('user', 'p2', 'b1', 10),
    spoken('assistant', 'a2', 'p2', 11),
  ];

  it.each([
    ['a conversation without a rewind', [...turns, spoken('user', 'p3', 'a2', 20)], undefined],
    ['a rewind by one turn', [...turns, spoken('user', 'p3', 'b1', 20)], { afterMs: ms(4), untilMs: ms(20) }],
    [
      'a rewind to the beginning',
      [...turns, spoken('user', 'p3', null, 20)],
      { afterMs: 0, untilMs: ms(20) },
    ],
    [
      'the turn after a rewind',
      [
        ...turns,
        spoken('user', 'p3', 'b1', 20),
        spoken('assistant', 'a3', 'p3', 21),
        spoken('user', 'p4', 'a3', 30),
      ],
      undefined,
    ],
    ['a first prompt', turns.slice(0, 1), undefined],
    [
      'a prompt after the first of two parallel results',
      [...turns.slice(0, 3), spoken('user', 'r2', 'a1', 4, result), spoken('user', 'p2', 'r1', 5)],
      undefined,
    ],
    [
      'a prompt instead of one without an answer',
      [...turns, spoken('user', 'p3', 'a2', 20), spoken('user', 'p4', 'a2', 30)],
      { afterMs: ms(11), untilMs: ms(30) },
    ],
  ])('Claude Code: %s', (_what, lines, cut) => {
    expect(newestCut(lines.join('\n'))).toEqual(cut);
  });

  it('Codex: a rollback', () => {
    const event = (type: string, second: number, more = {}) =>
      JSON.stringify({ timestamp: at(second), type: 'event_msg', payload: { type, ...more } });
    const lines = [event('task_started', 1), event('task_started', 5), event('task_started', 9)];
    expect(newestCut(lines.join('\n'))).toBeUndefined();
    const cut = [...lines, event('thread_rolled_back', 12, { num_turns: 2 }), event('task_started', 14)];
    expect(newestCut(cut.join('\n'))).toEqual({ afterMs: ms(5) - 1, untilMs: ms(12) });
  });

  it('Gemini CLI: a rewind', () => {
    const message = (id: string, second: number) =>
      JSON.stringify({ id, timestamp: at(second), type: 'user' });
    const lines = [message('m1', 1), message('m2', 5), JSON.stringify({ $rewindTo: 'm2' }), message('m3', 9)];
    expect(newestCut(lines.join('\n'))).toEqual({ afterMs: ms(5) - 1, untilMs: ms(9) });
  });

  it('Gemini CLI: a compression replaces all messages, a resumed conversation keeps them', () => {
    // The records that Gemini CLI 0.61.0 wrote for /compress and for --resume, with short texts.
    const message = (id: string, type: string, second: number) => ({
      ...{ id, timestamp: at(second), type, content: [] },
    });
    const lines = (...records: readonly unknown[]) =>
      records.map((record) => JSON.stringify(record)).join('\n');
    const header = { sessionId: 's', kind: 'main' };
    const set = (...messages: readonly unknown[]) => ({ $set: { messages } });
    const context = message('d049', 'user', 1);
    const begin = [
      ...[header, set(context), message('m1', 'user', 5), { $set: { lastUpdated: at(5) } }],
      ...[message('m2', 'gemini', 6), message('m3', 'user', 7)],
    ];
    const resumedAt = (second: number, ...ids: readonly string[]) => [
      ...[header, set(message('d049', 'user', second))],
      set(message('d049', 'user', second), ...ids.map((id) => message(id, 'user', second))),
    ];
    const resumed = [...begin, ...resumedAt(10, 'm1', 'm2', 'm3'), message('m4', 'user', 12)];
    expect(newestCut(lines(...resumed))).toBeUndefined();
    const summary = [message('s1', 'user', 20), message('s2', 'gemini', 20)];
    const compressed = [...resumed, set(context, ...summary), message('m5', 'user', 30)];
    const cut = { afterMs: ms(5) - 1, untilMs: ms(20) };
    expect(newestCut(lines(...compressed))).toEqual(cut);
    const later = [...compressed, ...resumedAt(40, 's1', 's2', 'm5'), message('m6', 'user', 41)];
    expect(newestCut(lines(...later))).toEqual(cut);
  });

  it('a transcript that cannot be read denies nothing', async () => {
    for (const transcript of [places.base, join(places.root, 'a.txt/none.jsonl'), '/dev/null']) {
      const read = { event: 'after', action: 'read', input: { path: 'a.txt' }, output: 'one\n', transcript };
      await agent.send(read);
      const answer = await agent.send({ ...write('a.txt'), transcript, call: transcript });
      expect([transcript, answer.verdict]).toEqual([transcript, 'pass']);
    }
  });

  it('a read in the removed part no longer licenses a change, an earlier read does', async () => {
    const transcript = join(places.base, 'transcript.jsonl');
    const now = () => new Date().toISOString();
    const say = (type: string, uuid: string, parentUuid: string | null) =>
      appendFileSync(
        transcript,
        `${JSON.stringify({ parentUuid, type, uuid, timestamp: now(), message: { content: 'x' } })}\n`,
      );
    const tick = () => new Promise((resolve) => setTimeout(resolve, 5));
    const turn = async (uuid: string, parent: string | null, path: string) => {
      await agent.prompt(uuid, { transcript });
      say('user', uuid, parent);
      await tick();
      await agent.send({
        event: 'after',
        action: 'read',
        input: { path },
        output: `${path[0] === 'a' ? 'one' : 'bee'}\n`,
        transcript,
      });
      await tick();
      say('assistant', `${uuid}-answer`, uuid);
      await tick();
    };
    await turn('p1', null, 'a.txt');
    await turn('p2', 'p1-answer', 'b.txt');
    await agent.prompt('p3', { transcript });
    say('user', 'p3', 'p1-answer');
    expect(await agent.send({ ...write('b.txt'), transcript, call: '1' })).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('[NOT_READ]'),
    });
    expect(await agent.send({ ...write('a.txt'), transcript, call: '2' })).toMatchObject({ verdict: 'pass' });
  });
});

describe('a rewind of Codex, which continues in a new file', () => {
  /**
   * The first record of the file that Codex 0.166.0 begins after a rewind, with shortened
   * instructions.
   */
  const head = (thread: string, base: { readonly records: number; readonly endByte: number }) => ({
    timestamp: new Date().toISOString(),
    ordinal: base.records,
    type: 'session_meta',
    payload: {
      ...{
        session_id: 's',
        id: 's',
        cwd: '/repo',
        runtime_workspace_roots: ['/repo'],
        cli_version: '0.166.0',
      },
      ...{ source: 'vscode', base_instructions: { text: '…' }, history_mode: 'paginated' },
      history_base: {
        thread_id: thread,
        end_ordinal_exclusive: base.records,
        end_byte_offset: base.endByte,
      },
      multi_agent_version: 'v1',
    },
  });
  const tick = () => new Promise((resolve) => setTimeout(resolve, 5));

  /**
   * Reads a.txt, then b.txt in a turn that the rewind removes. Returns the verdicts on writes to
   * a.txt and to b.txt.
   */
  async function verdicts(thread: string, folder = places.base): Promise<readonly unknown[]> {
    const first = join(places.base, 'rollout-1-s.jsonl');
    let records = 0;
    const note = () => {
      const record = {
        timestamp: new Date().toISOString(),
        ordinal: records,
        type: 'event_msg',
        payload: {},
      };
      appendFileSync(first, `${JSON.stringify(record)}\n`);
      records += 1;
    };
    const read = async (path: string, output: string) => {
      await agent.prompt(path, { transcript: first });
      note();
      await agent.send({ event: 'after', action: 'read', input: { path }, output, transcript: first });
      await tick();
      note();
      await tick();
    };
    await read('a.txt', 'one\n');
    const kept = { records, endByte: readFileSync(first).length };
    await read('b.txt', 'bee\n');
    mkdirSync(folder, { recursive: true });
    const transcript = join(folder, 'rollout-2-s_x.jsonl');
    writeFileSync(transcript, `${JSON.stringify(head(thread, kept))}\n`);
    await agent.prompt('again', { transcript });
    const tried = async (path: string, call: string) =>
      (await agent.send({ ...write(path), transcript, call })).verdict;
    return [await tried('a.txt', '1'), await tried('b.txt', '2')];
  }

  it('forgets what was read in the removed part', async () => {
    expect(await verdicts('s')).toEqual(['pass', 'deny']);
  });

  it('forgets everything if the former transcript is in another folder', async () => {
    expect(await verdicts('s', join(places.base, 'next-day'))).toEqual(['deny', 'deny']);
  });

  it('is not assumed for a fork, whose transcript belongs to another thread', async () => {
    expect(await verdicts('other')).toEqual(['pass', 'pass']);
  });
});

describe('a revert in opencode', () => {
  const fixture = join(import.meta.dirname, '../fixtures/hooks/opencode/event-session.updated-revert.json');
  const reverted = JSON.parse(readFileSync(fixture, 'utf8'));
  const cut = String(reverted.properties.info.revert.messageID);

  it.each([
    ['the prompt of a turn', cut],
    ['a later message of that turn', `${cut.slice(0, 12)}b54001JpY5FgQZy23EG8`],
  ])('to %s forgets what was read since that prompt', async (_what, messageID) => {
    const client = new ReplayedClient(places, 'opencode');
    client.session = reverted.properties.sessionID;
    const prompt = (id: string) =>
      client.send({
        hook: 'chat.message',
        directory: places.root,
        input: { sessionID: client.session },
        output: { message: { id }, parts: [{ type: 'text', text: 'go' }] },
      });
    const tick = () => new Promise((resolve) => setTimeout(resolve, 5));
    await prompt('msg_1e48bd2e4001JpY5FgQZy23EG8');
    await client.read('a.txt');
    await tick();
    await prompt(cut);
    await client.read('b.txt');
    const info = { ...reverted.properties.info, revert: { ...reverted.properties.info.revert, messageID } };
    const input = { ...reverted, properties: { ...reverted.properties, info } };
    await client.send({ hook: 'event', directory: places.root, input });
    await prompt('msg_1e48c41cc001sZ8tgKveyoiDDt');
    expect((await client.write('b.txt', 'x')).denied).toBe(true);
    expect((await client.write('a.txt', 'x')).denied).toBe(false);
  });

  it('is reported by the plugin once, before the next call', async () => {
    const sent = join(places.base, 'sent');
    const bin = join(places.base, 'bin');
    mkdirSync(bin);
    copyFileSync(join(import.meta.dirname, '../../dist/opencode.js'), join(bin, 'lookfirst-opencode.mjs'));
    const script = `#!/bin/sh\nsleep 0.1\ncat >> ${sent}\necho >> ${sent}\n`;
    writeFileSync(join(bin, 'lookfirst-hook'), script, { mode: 0o755 });
    const { LookfirstPlugin } = await import(join(bin, 'lookfirst-opencode.mjs'));
    const plugin = await LookfirstPlugin({ directory: places.root });
    void plugin.event({ event: reverted });
    void plugin.event({ event: reverted });
    await plugin['tool.execute.before']({ tool: 'write', sessionID: 's', callID: 'c' }, { args: {} });
    const hooks = readFileSync(sent, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).hook);
    expect(hooks).toEqual(['event', 'tool.execute.before']);
  });
});

describe('the plugin of opencode, if Lookfirst fails', () => {
  it.each(['exit 2', 'exit 1', 'echo no JSON'])('stops only tools that change files: %s', async (ending) => {
    const bin = join(places.base, 'bin');
    mkdirSync(bin);
    copyFileSync(join(import.meta.dirname, '../../dist/opencode.js'), join(bin, 'lookfirst-opencode.mjs'));
    const script = `#!/bin/sh\ncat > /dev/null\necho out of order >&2\n${ending}\n`;
    writeFileSync(join(bin, 'lookfirst-hook'), script, { mode: 0o755 });
    const { LookfirstPlugin } = await import(join(bin, 'lookfirst-opencode.mjs'));
    const plugin = await LookfirstPlugin({ directory: places.root });
    const call = (tool: string) =>
      plugin['tool.execute.before']({ tool, sessionID: 's', callID: 'c' }, { args: {} });
    await call('read');
    await call('webfetch');
    for (const tool of ['write', 'bash', 'my_tool'])
      await expect(call(tool)).rejects.toThrow(/out of order|did not answer/);
  });
});

describe('a conversation that is resumed under a new id, or was begun before the hooks', () => {
  /** The transcript of a conversation that has read a file, as Claude Code copies it for a fork. */
  function readBefore(name: string, content: string): string {
    const filePath = join(places.root, name);
    const use = { type: 'tool_use', id: 't1', name: 'Read', input: { file_path: filePath } };
    const result = { type: 'tool_result', tool_use_id: 't1', content: `1\t${content}2\t` };
    const file = { filePath, content, numLines: 2, startLine: 1, totalLines: 2 };
    const records = [
      { type: 'user', message: { role: 'user', content: 'go' } },
      { type: 'assistant', message: { role: 'assistant', content: [use] } },
      { type: 'user', message: { role: 'user', content: [result] }, toolUseResult: { type: 'text', file } },
    ];
    const lines = records.map((record, at) =>
      JSON.stringify({
        ...{ parentUuid: at === 0 ? null : `u${at - 1}`, uuid: `u${at}`, isSidechain: false, ...record },
        ...{ timestamp: '2026-01-01T00:00:00Z', cwd: places.root, sessionId: 's', version: '2.1.325' },
      }),
    );
    const transcript = join(places.base, 'transcript.jsonl');
    writeFileSync(transcript, `${lines.join('\n')}\n`);
    return transcript;
  }

  it('may change what its transcript has shown and the file still holds', async () => {
    const transcript = readBefore('a.txt', 'one\n');
    await agent.send({ event: 'start', resumed: true, transcript });
    await agent.prompt('again', { transcript });
    expect(await agent.send({ ...write('a.txt'), transcript, call: '1' })).toMatchObject({ verdict: 'pass' });
    expect(await agent.send({ ...write('b.txt'), transcript, call: '2' })).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('NOT_READ'),
    });
  });

  it('must read again what has changed since', async () => {
    const transcript = readBefore('a.txt', 'older\n');
    await agent.send({ event: 'start', resumed: true, transcript });
    await agent.prompt('again', { transcript });
    expect(await agent.send({ ...write('a.txt'), transcript, call: '1' })).toMatchObject({ verdict: 'deny' });
  });

  it('has seen nothing if it is new', async () => {
    const transcript = readBefore('a.txt', 'one\n');
    await agent.send({ event: 'start', transcript });
    await agent.prompt('first', { transcript });
    expect(await agent.send({ ...write('a.txt'), transcript, call: '1' })).toMatchObject({ verdict: 'deny' });
  });

  it('has seen nothing if its transcript cannot be understood', async () => {
    const transcript = join(places.base, 'transcript.jsonl');
    writeFileSync(transcript, '{"type": "of a later version"}\n');
    await agent.send({ event: 'start', resumed: true, transcript });
    await agent.prompt('again', { transcript });
    expect(await agent.send({ ...write('a.txt'), transcript, call: '1' })).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('NOT_READ'),
    });
  });
});
