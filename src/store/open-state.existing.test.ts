import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { openExistingStore, openStore } from './open-state.ts';

describe('openExistingStore', () => {
  it('takes a database that is not there for an empty one, and does not make it', async () => {
    const file = join(scratch().home, 'state', 'lookfirst.db');
    const store = await openExistingStore(`sqlite:${file}`);
    expect(await store.entries({})).toEqual([]);
    await store.close();
    expect(existsSync(file)).toBe(false);
  });

  it('opens one that is there', async () => {
    const url = `sqlite:${join(scratch().home, 'lookfirst.db')}`;
    const first = await openStore(url);
    await first.record({ entries: [{ kind: 'session', atMs: 1, session: 's', root: '/r', text: 'opened' }] });
    await first.close();
    const store = await openExistingStore(url);
    expect(await store.entries({})).toHaveLength(1);
    await store.close();
  });

  it('does not take a place that cannot be looked at, or no place at all, for an empty one', async () => {
    const file = join(scratch().home, 'file');
    writeFileSync(file, '');
    await expect(openExistingStore(`sqlite:${file}/lookfirst.db`)).rejects.toMatchObject({
      code: 'STORE_FAILED',
    });
    await expect(openExistingStore('sqlite:lookfirst.db')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('does not wait for a pipe in its place', async () => {
    const pipe = join(scratch().home, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await expect(openExistingStore(`sqlite:${pipe}`)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });

  it('does not take a damaged database for an empty one', async () => {
    const file = join(scratch().home, 'lookfirst.db');
    writeFileSync(file, 'not a database, and long enough to be looked at'.repeat(100));
    await expect(openExistingStore(`sqlite:${file}`)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });
});
