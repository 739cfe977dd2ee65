import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fingerprintOf } from '../../src/disk/read.ts';
import { noteLateWrites } from '../../src/gate/late-writes.ts';
import type { Entry } from '../../src/model/entry.ts';
import { Fault } from '../../src/model/fault.ts';
import { cleanUp, purge } from '../../src/records/clean-up.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { openRevisions } from '../../src/store/revisions.ts';
import { type Desk, desk, ok } from '../support/desk.ts';
import { IN_MEMORY, scratch } from '../support/tree.ts';

const DAY_MS = 24 * 3_600_000;

interface Replaced extends Desk {
  readonly change: string;
  /** Writes into the old file, through a handle that was opened before the change. */
  write(text: string, at?: number): void;
}

/**
 * A file that the session has replaced. `read`: the session had read the old bytes. `by proof`: the
 * session passed the revision of the old bytes instead.
 */
async function replaced(how: 'read' | 'by proof' = 'read', home?: string): Promise<Replaced> {
  const t = await desk({ session: 'ann', ...(home === undefined ? {} : { home }) });
  await t.put('a.txt', 'one\n');
  const fd = openSync(join(t.root, 'a.txt'), 'r+');
  onTestFinished(() => closeSync(fd));
  if (how === 'read') await ok(t.session.read('a.txt'));
  const proof =
    how === 'read' ? {} : { expectedRevision: openRevisions(t.home)(fingerprintOf(Buffer.from('one\n'))) };
  const { change = '' } = await ok(t.session.write('a.txt', 'two\n', proof));
  return {
    ...t,
    home: home ?? t.home,
    change,
    write: (text, at = 'one\n'.length) => void writeSync(fd, text, at),
  };
}

async function noticesOf({ root, home }: Pick<Desk, 'root' | 'home'>): Promise<readonly Entry[]> {
  const sessions = await Sessions.open({ roots: [root], home });
  const entries = await sessions.world.store.entries({ kinds: ['notice'] });
  await sessions.close();
  return entries;
}

function keptAt(entry: Entry | undefined): string {
  return /kept at (\S+)\./.exec(entry?.text ?? '')?.[1] ?? '';
}

describe('a program that had a file open before it was replaced, and writes into it afterwards', () => {
  it('is detected when the session closes: its bytes are kept, and the change can be undone', async () => {
    const t = await replaced();
    t.write('late\n');
    await t.session.close();
    const notices = await noticesOf(t);
    expect(notices).toMatchObject([{ session: 'ann', path: 'a.txt', root: t.root }]);
    expect(readFileSync(keptAt(notices[0]), 'utf8')).toBe('one\nlate\n');
    const later = await t.open({ session: 'later' });
    await ok(later.read('a.txt'));
    await ok(later.undo({ change: t.change }));
    expect(t.text('a.txt')).toBe('one\n');
  });

  it('is in the journal within about a second, while the session goes on', async () => {
    const t = await replaced();
    t.write('late\n');
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    onTestFinished(() => sessions.close());
    const notices = (): Promise<readonly Entry[]> => sessions.world.store.entries({ kinds: ['notice'] });
    await vi.waitFor(async () => expect(await notices()).toHaveLength(1), 60_000);
    expect(readFileSync(keptAt((await notices())[0]), 'utf8')).toBe('one\nlate\n');
  });

  it.each(['read', 'by proof'] as const)(
    'is detected even if it overwrote the old bytes, which an undo restores (%s)',
    async (how) => {
      const t = await replaced(how);
      t.write('LATE\n', 0);
      await t.session.close();
      const notices = await noticesOf(t);
      expect(readFileSync(keptAt(notices[0]), 'utf8')).toBe('LATE\n');
      const later = await t.open({ session: 'later' });
      await ok(later.read('a.txt'));
      await ok(later.undo({ change: t.change }));
      expect(t.text('a.txt')).toBe('one\n');
    },
  );

  it('is detected if our state is on another file system', async () => {
    const t = await replaced('read', scratch(IN_MEMORY).home);
    t.write('late\n');
    await t.session.close();
    const notices = await noticesOf(t);
    expect(readFileSync(keptAt(notices[0]), 'utf8')).toBe('one\nlate\n');
  });

  it('is detected even if the same bytes were replaced again since, in this and another file', async () => {
    const t = await replaced();
    await ok(t.session.undo({}));
    await t.put('b.txt', 'one\n');
    for (const name of ['a.txt', 'b.txt']) {
      await ok(t.session.read(name));
      await ok(t.session.write(name, 'three\n'));
    }
    t.write('late\n');
    await t.session.close();
    const [notice, ...more] = await noticesOf(t);
    expect(more).toEqual([]);
    expect(readFileSync(keptAt(notice), 'utf8')).toBe('one\nlate\n');
    expect(notice?.text).toMatch(
      /replaced b\.txt open .* Or it wrote to the replaced a\.txt, which had the same bytes\./,
    );
  });

  it('is reported once, and later writes are added to the kept copy', async () => {
    const t = await replaced();
    t.write('late\n');
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    onTestFinished(() => sessions.close());
    expect(await noteLateWrites(sessions.world, {})).toMatchObject([{ path: 'a.txt' }]);
    t.write('later\n');
    expect(await noteLateWrites(sessions.world, {})).toEqual([]);
    expect(
      readFileSync(keptAt((await sessions.world.store.entries({ kinds: ['notice'] }))[0]), 'utf8'),
    ).toContain('later\n');
  });

  it('is reported again if the journal could not be written', async () => {
    const t = await replaced();
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    onTestFinished(() => sessions.close());
    const { store } = sessions.world;
    await t.session.close();
    t.write('late\n');
    vi.spyOn(store, 'record').mockRejectedValueOnce(new Fault('STORE_FAILED', 'the disk is full'));
    await expect(noteLateWrites(sessions.world, {})).rejects.toThrow('the disk is full');
    expect(await noteLateWrites(sessions.world, {})).toMatchObject([{ path: 'a.txt' }]);
    expect(await noteLateWrites(sessions.world, {})).toEqual([]);
    const notices = await store.entries({ kinds: ['notice'] });
    expect(notices.map((notice) => readFileSync(keptAt(notice), 'utf8'))).toEqual(['one\nlate\n']);
  });

  it('is not reported if it did not write', async () => {
    const t = await replaced();
    for (const text of ['three\n', 'four\n']) await ok(t.session.write('a.txt', text));
    await t.session.close();
    expect(await noticesOf(t)).toEqual([]);
  });

  it('can still write for a day; then a clean-up removes the replaced file, but not the late write', async () => {
    const t = await replaced();
    await ok(t.session.write('a.txt', 'three\n'));
    t.write('late\n');
    await t.session.close();
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    onTestFinished(() => sessions.close());
    const shelf = (): readonly string[] => readdirSync(join(t.home, 'retained'));
    const clean = (days: number): Promise<unknown> =>
      cleanUp(sessions, { dryRun: false, nowMs: Date.now() + days * DAY_MS, retentionMs: 30 * DAY_MS });
    await clean(0.9);
    expect(shelf()).toHaveLength(2);
    await clean(1.1);
    expect(shelf()).toMatchObject([expect.stringMatching(/^told-/)]);
    await clean(31);
    expect(shelf()).toEqual([]);
  });

  it('leaves nothing of a purged file on the shelf', async () => {
    const t = await replaced();
    t.write('late\n');
    await t.session.close();
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    onTestFinished(() => sessions.close());
    await purge(sessions, { cwd: t.root, paths: ['a.txt'], dryRun: false });
    expect(readdirSync(join(t.home, 'retained'))).toEqual([]);
  });
});
