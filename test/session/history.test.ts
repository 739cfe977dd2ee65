import { describe, expect, it } from 'vitest';
import { deriveSightings } from '../../src/history/derive.ts';
import { desk, ok, refusal } from '../support/desk.ts';

const ROOT = '/repo';

/** Seed document 002: tool calls and results as events of a thread. */
const call = (id: string, path: string): object => ({
  type: 'TOOL_CALL',
  data: { id, name: 'file_read', arguments: { path } },
});
const result = (id: string, text: string, isError = false): object => ({
  type: 'TOOL_RESULT',
  data: { id, isError, content: [{ type: 'text', text }] },
});

describe('what a transcript shows', () => {
  it('counts a read that was answered, and no other', () => {
    const { sightings } = deriveSightings(
      [
        call('1', 'a.ts'),
        result('1', 'one\n'),
        call('2', 'b.ts'),
        result('2', 'no such file', true),
        call('3', 'c.ts'),
      ],
      { format: 'thread-events', cwd: ROOT },
    );
    expect(sightings.map((sighting) => sighting.path)).toEqual(['/repo/a.ts']);
  });

  it('of Claude Code gives the lines its result names', () => {
    const read = {
      type: 'tool_use',
      id: 't1',
      name: 'Read',
      input: { file_path: '/repo/a.ts', offset: 2, limit: 2 },
    };
    const records = [
      {
        type: 'assistant',
        uuid: 'u1',
        parentUuid: null,
        cwd: ROOT,
        sessionId: 's',
        message: { role: 'assistant', content: [read] },
      },
      {
        type: 'user',
        uuid: 'u2',
        parentUuid: 'u1',
        cwd: ROOT,
        sessionId: 's',
        message: {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't1', content: '2\ttwo\n3\tthree' }],
        },
        toolUseResult: {
          type: 'text',
          file: { filePath: '/repo/a.ts', content: 'two\nthree', numLines: 2, startLine: 2, totalLines: 5 },
        },
      },
    ];
    const text = records.map((record) => JSON.stringify(record)).join('\n');
    const { sightings } = deriveSightings(`${text}\n`, { format: 'claude-code' });
    expect(sightings).toMatchObject([
      { path: '/repo/a.ts', coverage: { kind: 'lines', ranges: [{ from: 2, to: 3 }] } },
    ]);
  });

  it('of no known format is a clear fault', () => {
    expect(() => deriveSightings([{ nothing: 'known' }])).toThrow(/format/);
  });
});

describe('a session resumed from its transcript', () => {
  it('may overwrite what the disk confirms, and not what changed since', async () => {
    const t = await desk();
    await t.put('same.ts', 'one\n');
    await t.put('other.ts', 'one\n');
    const records = [call('1', 'same.ts'), result('1', 'one\n'), call('2', 'other.ts'), result('2', 'one\n')];
    await t.put('other.ts', 'changed\n');
    const resumed = await t.session.resumeFrom(records, { format: 'thread-events' });
    expect(resumed).toMatchObject({ confirmed: 1, unverified: 1 });
    await ok(t.session.write('same.ts', 'two\n'));
    await refusal(t.session.write('other.ts', 'x'), 'NOT_READ');
  });
});
