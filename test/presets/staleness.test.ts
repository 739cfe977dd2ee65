import { rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeNotice } from '../../src/report/describe-notice.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

/** Seed system D: warns of changed files, asks nothing of unread ones, straightens quotes in code. */
describe('preset staleness', () => {
  const open = (): Promise<Desk> => desk({ preset: 'staleness' });

  it('D2: a file never read is not stale', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    expect((await ok(t.session.write('a.txt', 'two\n'))).notices).toEqual([]);
    await ok(t.session.undo({}));
    expect(t.text('a.txt'), 'the journal has it all the same').toBe('one\n');
  });

  it('D2: touched without a change is not stale', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    utimesSync(join(t.root, 'a.txt'), new Date(), new Date(Date.now() + 60_000));
    expect((await ok(t.session.write('a.txt', 'two\n'))).notices).toEqual([]);
  });

  it('D2, D3: a real change is warned of, with reason and advice', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'by hand\n');
    const { notices } = await ok(t.session.write('a.txt', 'two\n'));
    const [notice] = notices;
    const text = notice === undefined ? '' : describeNotice(notice, { path: 'a.txt', wording: 'staleness' });
    expect(text).toContain('a.txt');
    expect(text).toMatch(/re-read/i);
    expect(text).toMatch(/external changes/i);
  });

  it('D2: a deleted file is stale for those who need it', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    rmSync(join(t.root, 'a.txt'));
    await refusal(t.session.edit('a.txt', [{ oldString: 'one', newString: 'x' }]), 'DELETED');
    const { notices } = await ok(t.session.write('a.txt', 'again\n'));
    expect(notices.map((each) => each.kind)).toContain('stale-warning');
  });

  it('D5, D6: every quote of its table is straightened in code files, none in prose', async () => {
    const t = await open();
    await ok(t.session.write('a.go', '\u201ca\u201d \u2018b\u2019 \u00abc\u00bb'));
    expect(t.text('a.go')).toBe('"a" \'b\' <<c>>');
    await ok(t.session.write('.env', 'A=\u201cb\u201d'));
    expect(t.text('.env')).toBe('A="b"');
    await ok(t.session.write('a.md', '\u201ca\u201d'));
    expect(t.text('a.md')).toBe('\u201ca\u201d');
  });
});
