import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fingerprintOf } from '../../src/disk/read.ts';
import { noteLateWrites, oldLeftovers } from '../../src/gate/late-writes.ts';
import { collectGarbage, planGc } from '../../src/journal/gc.ts';
import type { Entry } from '../../src/model/entry.ts';
import { Fault } from '../../src/model/fault.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { openRevisions } from '../../src/store/revisions.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { IN_MEMORY, scratch } from '../support/tree.ts';

interface Replaced extends Desk {
  readonly change: string;
  /** Writes into the old file, through a handle that was opened before the change. */
  write(text: string, at?: number): void;
}

/**
 * A file that the session has replaced. `read`: the session had read the old bytes. `by proof`: the
 * session passed the revision of the old bytes instead, so the state folder holds only one copy of
 * the old bytes.
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

  it('does not make changes fail if it overwrote the kept bytes that a session has seen', async () => {
    const t = await replaced();
    await ok(t.session.read('a.txt'));
    await t.session.close();
    await t.put('a.txt', 'three\n');
    const { sha256 } = fingerprintOf(Buffer.from('two\n'));
    const image = join(t.home, 'images', sha256.slice(0, 1), sha256);
    chmodSync(image, 0o600);
    writeFileSync(image, 'LATE');
    const back = await t.open();
    for (const change of [
      () => back.write('a.txt', 'four\n'),
      () => back.edit('a.txt', [{ oldString: 'two', newString: 'four' }]),
    ])
      expect((await refusal(change(), 'STALE')).detail?.diff).toBeUndefined();
  });

  it('is detected even if it overwrote the old bytes, which an undo restores if they were shown before', async () => {
    const t = await replaced();
    t.write('LATE\n', 0);
    await t.session.close();
    const notices = await noticesOf(t);
    expect(notices[0]?.text).not.toContain('is lost');
    expect(readFileSync(keptAt(notices[0]), 'utf8')).toBe('LATE\n');
    const later = await t.open({ session: 'later' });
    await ok(later.read('a.txt'));
    await ok(later.undo({ change: t.change }));
    expect(t.text('a.txt')).toBe('one\n');
  });

  it('is detected even if it overwrote the old bytes, and an undo says that they are lost', async () => {
    const t = await replaced('by proof');
    t.write('LATE\n', 0);
    await t.session.close();
    const notices = await noticesOf(t);
    expect(notices[0]?.text).toContain(
      `the only copy of the content before change ${t.change}, so that content is lost`,
    );
    expect(readFileSync(keptAt(notices[0]), 'utf8')).toBe('LATE\n');
    const later = await t.open({ session: 'later' });
    await ok(later.read('a.txt'));
    await refusal(later.undo({ change: t.change }), 'NOT_FOUND');
    expect(t.text('a.txt')).toBe('two\n');
  });

  it('is detected if our state is on another file system', async () => {
    const t = await replaced('read', scratch(IN_MEMORY).home);
    t.write('late\n');
    await t.session.close();
    const notices = await noticesOf(t);
    expect(readFileSync(keptAt(notices[0]), 'utf8')).toBe('one\nlate\n');
    expect(readdirSync(join(t.home, 'retained'))).toEqual([]);
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
    expect(await noteLateWrites(sessions.world, {})).toMatchObject([{ path: 'a.txt', lost: false }]);
    t.write('later\n');
    expect(await noteLateWrites(sessions.world, {})).toEqual([]);
    expect(
      readFileSync(keptAt((await sessions.world.store.entries({ kinds: ['notice'] }))[0]), 'utf8'),
    ).toContain('later\n');
  });

  it.each<[string, (t: Replaced) => void]>([
    ['into the stored file', ({ write }) => write('late\n')],
    [
      'into a file outside the images',
      ({ home }) => {
        mkdirSync(join(home, 'retained'), { recursive: true });
        const name = `x-late-${fingerprintOf(Buffer.from('one\n')).sha256}`;
        writeFileSync(join(home, 'retained', name), 'one\nlate\n');
      },
    ],
  ])('is reported again if the journal could not be written: %s', async (_where, writeLate) => {
    const t = await replaced();
    writeLate(t);
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    onTestFinished(() => sessions.close());
    const { store } = sessions.world;
    vi.spyOn(store, 'record').mockRejectedValueOnce(new Fault('STORE_FAILED', 'the disk is full'));
    await expect(noteLateWrites(sessions.world, {})).rejects.toThrow('the disk is full');
    expect(await noteLateWrites(sessions.world, {})).toMatchObject([{ path: 'a.txt', lost: false }]);
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

  it('has its kept bytes removed when gc removes the change', async () => {
    const t = await replaced();
    t.write('late\n');
    await t.session.close();
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    onTestFinished(() => sessions.close());
    const limits = { retentionMs: 1, quotaBytes: 0, sessionIdleMs: 0 };
    await collectGarbage(sessions.world, await planGc(sessions.world, limits, Date.now() + 3_600_000));
    const left = readdirSync(join(t.home, 'images'), { recursive: true, encoding: 'utf8' });
    expect(left.filter((name) => name.includes('.told-'))).toEqual([]);
  });
});

it('gc keeps a leftover that an unsettled change may need', async () => {
  const t = await replaced();
  const retained = join(t.home, 'retained');
  mkdirSync(retained, { recursive: true });
  for (const text of ['needed\n', 'not needed\n']) writeFileSync(join(retained, text.trim()), text);
  const sessions = await Sessions.open({ roots: [t.root], home: t.home });
  onTestFinished(() => sessions.close());
  const { store } = sessions.world;
  const [entry] = await store.entries({ change: t.change });
  const text = 'needed\n';
  const before = {
    kind: 'file',
    fingerprint: fingerprintOf(Buffer.from(text)),
    mode: 0o644,
    kept: true,
  } as const;
  const effects = (entry?.effects ?? []).map((effect) => ({ ...effect, before }));
  const pending = {
    kind: 'change',
    atMs: 1,
    session: 'x',
    root: '/elsewhere',
    change: 'cx',
    effects,
  } as const;
  await store.record({ announce: { change: 'cx', entry: pending, owner: 'dead' } });
  const old = await oldLeftovers(sessions.world, { olderThanMs: 1, nowMs: Date.now() + 1000 });
  expect(old.map(({ file }) => readFileSync(file, 'utf8'))).toEqual(['not needed\n']);
  await store.record({ settle: ['cx'] });
});
