import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { openExistingStore, openStore } from './open-state.ts';

describe('openExistingStore', () => {
  it('treats a missing database as empty, and does not create it', async () => {
    const file = join(scratch().home, 'state', 'lookfirst.db');
    const store = await openExistingStore(`sqlite:${file}`);
    expect(await store.entries({})).toEqual([]);
    await store.close();
    expect(existsSync(file)).toBe(false);
  });

  it('opens an existing database', async () => {
    const url = `sqlite:${join(scratch().home, 'lookfirst.db')}`;
    const first = await openStore(url);
    await first.record({ entries: [{ kind: 'session', atMs: 1, session: 's', root: '/r', text: 'opened' }] });
    await first.close();
    const store = await openExistingStore(url);
    expect(await store.entries({})).toHaveLength(1);
    await store.close();
  });

  it('does not treat an unreadable path, or an invalid URL, as an empty database', async () => {
    const file = join(scratch().home, 'file');
    writeFileSync(file, '');
    await expect(openExistingStore(`sqlite:${file}/lookfirst.db`)).rejects.toMatchObject({
      code: 'STORE_FAILED',
    });
    await expect(openExistingStore('sqlite:lookfirst.db')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('does not block on a pipe at the path', async () => {
    const pipe = join(scratch().home, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await expect(openExistingStore(`sqlite:${pipe}`)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });

  it('does not treat a damaged database as empty', async () => {
    const file = join(scratch().home, 'lookfirst.db');
    writeFileSync(file, 'not a database, and long enough to be looked at'.repeat(100));
    await expect(openExistingStore(`sqlite:${file}`)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });
});
