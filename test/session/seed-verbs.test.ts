import { createHash } from 'node:crypto';
import { rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import {
  deriveSightings,
  detectCurlyQuotes,
  explain,
  hasSuspiciousUnicode,
  type Session,
  straightenQuotes,
} from '../../src/index.ts';
import { serveStdio } from '../../src/mcp.ts';
import { desk, ok, refusal } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

async function open() {
  const t = await desk();
  await t.put('a.txt', 'one\n');
  return t;
}

describe('hasBeenRead and markRead', () => {
  it('report and record which files the model was shown', async () => {
    const { session, put } = await open();
    expect(await session.hasBeenRead('a.txt')).toBe(false);
    await ok(session.markRead('a.txt'));
    expect(await session.hasBeenRead('a.txt')).toBe(true);
    expect(await session.hasBeenRead('./a.txt')).toBe(true);
    await ok(session.write('a.txt', 'mine\n'));
    await put('b.txt', 'b\n');
    await ok(session.read('b.txt', { credit: false }));
    await ok(session.list('.'));
    for (const path of ['b.txt', '.', 'gone.txt', '/etc/passwd', '../x'])
      expect(await session.hasBeenRead(path)).toBe(false);
    await refusal(session.markRead('/etc/passwd'), 'OUTSIDE_WORKSPACE');
    await session.compacted();
    expect(await session.hasBeenRead('a.txt')).toBe(false);
  });
});

describe('checkStaleness', () => {
  it('compares the seen state with the live file', async () => {
    const t = await open();
    const { session } = t;
    expect(await ok(session.checkStaleness('a.txt'))).toEqual({
      ok: true,
      stale: false,
      reason: 'file not previously tracked',
    });
    await ok(session.read('a.txt'));
    const seen = { sha256: sha256('one\n'), size: 4, mtimeMs: expect.any(Number), at: expect.any(Number) };
    expect(await ok(session.checkStaleness('a.txt'))).toMatchObject({
      stale: false,
      reason: 'content identical',
      seen,
    });
    utimesSync(join(t.root, 'a.txt'), 1, 1);
    expect(await ok(session.checkStaleness('a.txt'))).toMatchObject({ stale: false, now: { mtimeMs: 1000 } });
    await t.put('a.txt', 'other\n');
    const { mtimeMs } = statSync(join(t.root, 'a.txt'));
    expect(await ok(session.checkStaleness('a.txt'))).toEqual({
      ok: true,
      stale: true,
      reason: 'file modified externally',
      seen,
      now: { sha256: sha256('other\n'), size: 6, mtimeMs: Math.floor(mtimeMs) },
    });
    rmSync(join(t.root, 'a.txt'));
    expect(await ok(session.checkStaleness('a.txt'))).toMatchObject({
      stale: true,
      reason: 'file was deleted since last read',
      seen,
    });
    await refusal(session.checkStaleness('/etc/passwd'), 'OUTSIDE_WORKSPACE');
  });
});

describe('forks and children', () => {
  it('have the same methods as any session', async () => {
    const t = await open();
    const child: Session = await t.session.child();
    await ok(child.read('a.txt'));
    const exported = await child.exportSightings();
    const fork: Session = await child.fork();
    expect(await ok(fork.info('a.txt'))).toMatchObject({ kind: 'file', sizeBytes: 4 });
    await fork.forget();
    expect(await fork.hasBeenRead('a.txt')).toBe(false);
    expect(await fork.importSightings(exported)).toEqual({ kept: 1, dropped: 0 });
    expect(await fork.hasBeenRead('a.txt')).toBe(true);
    const messages = [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 't1', name: 'Read', input: { file_path: join(t.root, 'a.txt') } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: '     1\tone' }] },
    ];
    expect(deriveSightings(messages, 'anthropic-messages').sightings).toHaveLength(1);
    const resumed: Session = await t.session.child();
    await resumed.resumeFrom(messages, { format: 'anthropic-messages', signal: undefined });
    expect(await resumed.hasBeenRead('a.txt')).toBe(true);
    expect(child.roots).toEqual(t.session.roots);
  });
});

describe('quotes', () => {
  it('are replaced, counted and reported as document 004 says', () => {
    expect(straightenQuotes('“a” ‘b’ «c» é')).toBe('"a" \'b\' <<c>> é');
    expect(detectCurlyQuotes('é“a”')).toEqual({ count: 2, offsets: [2, 6] });
    expect(hasSuspiciousUnicode('a\u00a0b')).toBe(true);
    expect(hasSuspiciousUnicode('é')).toBe(false);
  });
});

describe('serveStdio', () => {
  it('serves if only roots are given', async () => {
    const { root, home } = scratch();
    const input = new PassThrough();
    const output = new PassThrough();
    const served = serveStdio({ roots: [root], home, store: 'memory:', input, output, log: () => {} });
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    input.end(`${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })}\n`);
    await served;
    const answers = String(output.read())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers[0].result.serverInfo.name).toBe('lookfirst');
    expect(answers[1].result.tools.map((tool: { name: string }) => tool.name)).toContain('read_file');
  });

  it('ends with a Fault for an unknown option', async () => {
    const { root, home } = scratch();
    const wrong = {
      roots: [root],
      home,
      readonly: true,
      input: new PassThrough(),
      output: new PassThrough(),
      log: () => {},
    };
    await expect(serveStdio(wrong)).rejects.toMatchObject({ code: 'MISUSE' });
  });
});

describe('checkWritable', () => {
  it('refuses an unread file, allows a read or new one, and changes nothing', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await refusal(t.session.checkWritable('a.txt'), 'NOT_READ');
    await ok(t.session.read('a.txt'));
    await ok(t.session.checkWritable('a.txt'));
    await ok(t.session.checkWritable('new/b.txt'));
    await refusal(t.session.checkWritable('../out.txt'), 'OUTSIDE_WORKSPACE');
    await t.put('a.txt', 'two\n');
    await refusal(t.session.checkWritable('a.txt'), 'STALE');
    expect(t.text('a.txt')).toBe('two\n');
  });
});

describe('explain without options', () => {
  it.each([
    ['default', 'refusing to overwrite a.txt: read it first [NOT_READ]'],
    [
      'sandbox',
      explain({ code: 'NOT_READ', action: 'overwrite', path: 'a.txt', next: 'read' }, { wording: 'sandbox' }),
    ],
  ] as const)('uses the sentences of the session: %s', async (preset, text) => {
    const t = await desk({ preset });
    await t.put('a.txt', 'one\n');
    const refused = await refusal(t.session.write('a.txt', 'x'), 'NOT_READ');
    expect(explain(refused).split('\n')[0]).toBe(text.split('\n')[0]);
  });
});
