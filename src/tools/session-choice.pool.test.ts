import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { Sessions } from '../session/sessions.ts';
import { released, SessionPool } from './session-choice.ts';

async function openPool(maxOpen?: number): Promise<SessionPool> {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  return new SessionPool(sessions, maxOpen);
}

/** Runs a call in its session. */
async function use<T>(
  pool: SessionPool,
  choice: Parameters<SessionPool['lease']>[0],
  work: (session: GatedSession) => Promise<T>,
): Promise<T> {
  const lease = pool.lease(choice);
  try {
    return await work(await lease.session);
  } finally {
    await released(lease);
  }
}

const id = async (session: { readonly id: string }): Promise<string> => session.id;

describe('SessionPool', () => {
  it('gives the same choice the same session, and different choices different ones', async () => {
    const pool = await openPool();
    const ids = await Promise.all([
      use(pool, { kind: 'named', id: 'a' }, id),
      use(pool, { kind: 'named', id: 'b' }, id),
      use(pool, { kind: 'process' }, id),
      use(pool, { kind: 'transport', hint: 'a' }, id),
      use(pool, { kind: 'transport', hint: 'process' }, id),
    ]);
    expect(ids.slice(0, 2)).toEqual(['a', 'b']);
    expect(new Set(ids).size).toBe(5);
    expect(await use(pool, { kind: 'process' }, id)).toBe(ids[2]);
    expect(await use(pool, { kind: 'transport', hint: 'a' }, id)).toBe(ids[3]);
  });

  it('drops the sightings of an ended transport, but not during a call', async () => {
    const pool = await openPool();
    const choice = { kind: 'transport', hint: 'h' } as const;
    const first = await use(pool, choice, async (session) => {
      await pool.end('h');
      // The session stays usable while its call is running.
      expect(await session.status()).toMatchObject({ ok: true });
      return session;
    });
    await expect(first.status()).rejects.toThrow(/closed/);
    expect(await use(pool, choice, id)).not.toBe(first.id);
    await pool.end('unknown');
  });

  it('closes the named session idle the longest if there are too many, and reopens it', async () => {
    const pool = await openPool(2);
    const first = await use(pool, { kind: 'named', id: 'a' }, async (session) => session);
    await use(pool, { kind: 'named', id: 'b' }, id);
    await use(pool, { kind: 'named', id: 'c' }, id);
    await expect(first.status()).rejects.toThrow(/closed/);
    await use(pool, { kind: 'named', id: 'a' }, async (session) => {
      expect(await session.status()).toMatchObject({ ok: true });
    });
  });

  it('reports a session that cannot be opened to every caller, and retries', async () => {
    const pool = await openPool();
    await expect(use(pool, { kind: 'named', id: '' }, id)).rejects.toThrow(/empty/);
    await expect(use(pool, { kind: 'named', id: '' }, id)).rejects.toThrow(/empty/);
  });
});
