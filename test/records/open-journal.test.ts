import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type JournalOptions, openJournal } from '../../src/records/open-journal.ts';
import { desk, ok } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('openJournal', () => {
  it('returns entries, sightings and images of sessions', async () => {
    const t = await desk({ session: 'agent' });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    const { change } = await ok(t.session.write('a.txt', 'two\n'));
    const journal = await openJournal({ home: t.home });
    expect(await all(journal.entries({ kinds: ['change'] }))).toMatchObject([{ change, session: 'agent' }]);
    expect((await all(journal.entries({ limit: 2 }))).map(({ kind }) => kind)).toEqual(['change', 'read']);
    const [seen] = await all(journal.sightings({ session: 'agent' }));
    expect(seen).toMatchObject({ session: 'agent', fingerprint: { sha256: sha256('two\n') } });
    expect(await all(journal.sightings({ key: '/nowhere' }))).toEqual([]);
    expect(await journal.image(sha256('one\n'))).toEqual(new Uint8Array(Buffer.from('one\n')));
    expect(await journal.image(sha256('never'))).toBeUndefined();
    expect(await journal.image('../../etc/passwd')).toBeUndefined();
    expect(await journal.verify()).toMatchObject({ ok: true });
    await journal.close();
  });

  it('returns the kept bytes even if another program wrote into the replaced file since', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    const fd = openSync(join(t.root, 'a.txt'), 'r+');
    onTestFinished(() => closeSync(fd));
    await ok(t.session.read('a.txt'));
    await ok(t.session.write('a.txt', 'two\n'));
    writeSync(fd, 'late\n', 0);
    const journal = await openJournal({ home: t.home });
    expect(Buffer.from((await journal.image(sha256('one\n'))) ?? []).toString()).toBe('one\n');
    await journal.close();
  });

  it('rejects a filter with an unknown name or value', async () => {
    const journal = await openJournal({ home: scratch().home });
    const entries = (filter: object) => all(journal.entries(filter));
    expect(await entries({ session: undefined, limit: Infinity })).toEqual([]);
    expect(() => journal.entries({ sesion: 'a' } as object)).toThrow('did you mean "session"?');
    expect(() => journal.entries({ kinds: ['changes'] } as object)).toThrow('kinds');
    expect(() => journal.sightings({ path: 'a' } as object)).toThrow('known are session, key');
    await journal.close();
  });

  it('creates no files', async () => {
    const home = join(scratch().root, 'no-state');
    const journal = await openJournal({ home });
    expect(await all(journal.entries())).toEqual([]);
    expect(await all(journal.sightings())).toEqual([]);
    expect(await journal.verify()).toMatchObject({ ok: true, entries: 0 });
    await journal.close();
    expect(existsSync(home)).toBe(false);
  });

  it('rejects a store that it cannot share', async () => {
    await expect(openJournal({ store: 'memory:' })).rejects.toMatchObject({ code: 'MISUSE' });
    await expect(openJournal({ store: 'what:' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

it.each([{ home: 5 }, { store: 5 }, { hom: '/x' }, null])('the options %j are a fault', async (options) => {
  // The cast below lets the test pass wrong values, as an untyped caller may.
  const misuse = expect.objectContaining({ code: 'MISUSE' });
  await expect(openJournal(options as JournalOptions)).rejects.toEqual(misuse);
});
