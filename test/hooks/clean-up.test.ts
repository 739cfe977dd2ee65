import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { imagesOfPending } from '../../src/journal/gc.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

/** A file whose bytes are stored, as by the hook before an earlier command. No recorded change needs them. */
async function withStoredBytes() {
  const { root, home } = scratch();
  const bytes = Buffer.from('not committed\n');
  const fingerprint = { sha256: hash('sha256', bytes), size: bytes.length };
  writeFileSync(join(root, 'a.txt'), bytes);
  const sessions = await Sessions.open({ roots: [root], home });
  onTestFinished(() => sessions.close());
  const session = await sessions.session('agent');
  const { store, images } = sessions.world;
  await images.keepBytes(bytes, fingerprint);
  return { session, store, images, fingerprint };
}

it('a clean-up while a shell command is announced leaves the bytes that the command may destroy', async () => {
  const { session, store, images, fingerprint } = await withStoredBytes();
  const record = store.record.bind(store);
  store.record = async (writes) => {
    if (writes.announce !== undefined)
      await images.remove([fingerprint.sha256], async () => imagesOfPending(await store.pending()));
    return record(writes);
  };
  await session.announceCommand('rm a.txt', { writes: ['a.txt'] });
  expect(await images.has(fingerprint.sha256)).toBe(true);
});

it.each<[string, (session: GatedSession) => Promise<unknown>]>([
  ['a shell command', (session) => session.announceCommand('rm a.txt', { writes: ['a.txt'] })],
  ['a change', (session) => ok(session.announce([{ kind: 'delete', path: 'a.txt' }]))],
])(
  '%s that is announced after a clean-up has listed the needed bytes keeps its bytes',
  async (_what, announce) => {
    const { session, store, images, fingerprint } = await withStoredBytes();
    await ok(session.read('a.txt'));
    await images.remove([fingerprint.sha256], async () => {
      const needed = imagesOfPending(await store.pending());
      await announce(session);
      return needed;
    });
    expect(await images.has(fingerprint.sha256)).toBe(true);
  },
);
