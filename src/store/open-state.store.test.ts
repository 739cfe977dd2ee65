import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { isFleetUrl, openStore } from './open-state.ts';
import { PostgresConnection } from './postgres/connection.ts';

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

  it.each([
    'postgres://me:hidden@host/db',
    'postgres://me:hid@hidden@host/db',
    'postgres://me:hid:hidden@host/db',
    'postgres://me@home:hidden@host/db',
    'postgres://host/db?user=me&password=hidden',
    'postgres://host/db?password=hidden&password=hidden',
    'postgres://host/db?Password=hidden&sslpassword=hidden',
  ])('shows no part of the password of %s', async (url) => {
    expect(isFleetUrl(url)).toBe(true);
    const db = await PostgresConnection.open(url);
    expect(db.url).not.toContain('hid');
    expect(db.url).toContain('host');
    await expect(openStore(url.replace('postgres', 'mysql'))).rejects.not.toThrow(/hid/);
  });

  it('takes the scheme of a fleet store in any case, as in every URL', () => {
    expect(isFleetUrl('POSTGRES://me@host/db')).toBe(true);
  });
});
