import { chmodSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/report/explain.ts';
import { currentSession, runInSession } from '../../src/session/ambient.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

/**
 * This preset copies an existing system (system B in the requirements). For each session, that
 * system records the modification time of each file that the session read.
 */
describe('preset file-time', () => {
  const open = (): Promise<Desk> => desk({ preset: 'file-time', session: 'one' });
  const words = { wording: 'file-time', nowMs: 0 } as const;

  it('B1: relative, absolute and linked forms of a path mean the same file', async () => {
    const t = await open();
    await t.put('d/a.txt', 'one');
    symlinkSync('d/a.txt', join(t.root, 'link'));
    await ok(t.session.read('./d/../d/a.txt'));
    await ok(t.session.write(join(t.root, 'link'), 'two'));
  });

  it('B3: an unread file must be read in this session', async () => {
    const t = await open();
    await t.put('a.txt', 'one');
    const text = explain(await refusal(t.session.write('a.txt', 'x'), 'NOT_READ'), words);
    expect(text).toContain('has not been read in this session');
    expect(text).toMatch(/MUST use the read_file tool first/);
  });

  it('B3: a newer time is stale whatever the bytes, and the refusal names both times', async () => {
    const t = await open();
    await t.put('a.txt', 'one');
    await ok(t.session.read('a.txt'));
    utimesSync(join(t.root, 'a.txt'), new Date(), new Date(Date.now() + 60_000));
    const text = explain(await refusal(t.session.write('a.txt', 'x'), 'STALE'), words);
    expect(text).toMatch(/Last modification: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}/);
    expect(text).toMatch(/Last read: \d{4}-\d\d-\d\dT/);
    await ok(t.session.read('a.txt'));
    await ok(t.session.write('a.txt', 'x'));
  });

  it('B3: an older time is stale too, and so are other bytes with an equal time', async () => {
    const t = await open();
    await t.put('a.txt', 'one');
    await ok(t.session.read('a.txt'));
    utimesSync(join(t.root, 'a.txt'), 1, 1);
    await refusal(t.session.write('a.txt', 'two'), 'STALE');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'theirs');
    utimesSync(join(t.root, 'a.txt'), 1, 1);
    await refusal(t.session.write('a.txt', 'two'), 'STALE');
  });

  it('B3: after "modified since", a change needs one new read', async () => {
    const t = await open();
    await t.put('a.txt', 'one');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'theirs');
    await refusal(t.session.write('a.txt', 'two'), 'STALE');
    await refusal(t.session.write('a.txt', 'other'), 'STALE');
    await ok(t.session.read('a.txt'));
    await ok(t.session.write('a.txt', 'two'));
  });

  it('B3: writes to a deleted file and to an unreadable file pass', async () => {
    const t = await open();
    await t.put('a.txt', 'one');
    await ok(t.session.read('a.txt'));
    rmSync(join(t.root, 'a.txt'));
    await ok(t.session.write('a.txt', 'three'));
    await t.put('b.txt', 'one');
    await ok(t.session.read('b.txt'));
    chmodSync(join(t.root, 'b.txt'), 0o200);
    await ok(t.session.vet({ kind: 'write', path: 'b.txt', content: 'two' }));
  });

  it('B4: reads in one session do not license writes in another', async () => {
    const t = await open();
    await t.put('a.txt', 'one');
    await ok(t.session.read('a.txt'));
    const other = await t.open({ session: 'two' });
    await refusal(other.write('a.txt', 'x'), 'NOT_READ');
  });

  it('B4: the ambient session survives async call chains; without a session the call is a fault', async () => {
    const t = await open();
    expect(() => currentSession()).toThrow(/no session/);
    const seen = await runInSession('one', async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return currentSession().id;
    });
    expect([seen, t.session.id]).toEqual(['one', 'one']);
  });

  it('B5: a missing file may be written', async () => {
    const t = await open();
    await ok(t.session.write('new.txt', 'x'));
  });
});
