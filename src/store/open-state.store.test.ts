import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { openStore } from './open-state.ts';

describe('openStore', () => {
  it.each(['memory:', 'sqlite:HOME/state.db', 'sqlite://HOME/state.db'])('opens %s', async (url) => {
    const { home } = scratch();
    const store = await openStore(url.replace('HOME', home));
    expect(store.url).toBe(url === 'memory:' ? url : `sqlite:${home}/state.db`);
    expect(existsSync(join(home, 'state.db'))).toBe(url !== 'memory:');
    await store.close();
  });

  it.each([
    '',
    'memory',
    'memory:x',
    'sqlite:',
    'sqlite:relative.db',
    'sqlite::memory:',
    'sqlite://host/state.db',
    'postgres://localhost/db',
    '/just/a/path',
  ])('refuses %j and lists the valid forms', async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(openStore(url)).rejects.toThrow(/memory:.*sqlite:/);
  });
});
