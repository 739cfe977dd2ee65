import { describe, expect, it } from 'vitest';
import { explain } from '../../src/report/explain.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

/**
 * The preset copies an existing system, which accepts a change if the conversation since its last
 * compaction shows the file.
 */
describe('preset thread-history', () => {
  const open = (): Promise<Desk> => desk({ preset: 'thread-history' });
  const words = { wording: 'thread-history', nowMs: 0 } as const;

  it('C4: refused writes, inserts and edits use the words of the seed document', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    const write = await refusal(t.session.write('a.txt', 'x'), 'NOT_READ');
    const insert = await refusal(t.session.insert('a.txt', 'x'), 'NOT_READ');
    const edit = await refusal(t.session.edit('a.txt', [{ oldString: 'one', newString: 'x' }]), 'NOT_READ');
    const texts = [write, insert, edit].map((each) => explain(each, words));
    for (const text of texts) expect(text).toMatch(/hasn't been read in this conversation\..*read_file/s);
    expect(texts[0]).toContain('File a.txt exists but');
    expect(texts.map((text) => /before (\w+)/.exec(text)?.[1])).toEqual([
      'overwriting',
      'inserting',
      'editing',
    ]);
  });

  it('C4: a missing file is reported as missing, not as unread', async () => {
    const t = await open();
    await refusal(t.session.edit('missing.txt', [{ oldString: 'a', newString: 'b' }]), 'NOT_FOUND');
  });

  it('C5: a write is allowed after a read, and refused after a compaction', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await ok(t.session.write('a.txt', 'two\n'));
    await t.session.compacted();
    await refusal(t.session.write('a.txt', 'three\n'), 'NOT_READ');
    await refusal(t.session.edit('a.txt', [{ oldString: 'two', newString: '2' }]), 'NOT_READ');
    await ok(t.session.write('new.txt', 'x'));
  });

  it('C2: a completed write counts as a read, a failed read does not', async () => {
    const t = await open();
    await ok(t.session.write('a.txt', 'one\n'));
    await ok(t.session.edit('a.txt', [{ oldString: 'one', newString: 'two' }]));
    await refusal(t.session.read('b.txt'), 'NOT_FOUND');
    await t.put('b.txt', 'x');
    await refusal(t.session.write('b.txt', 'y'), 'NOT_READ');
  });
});
