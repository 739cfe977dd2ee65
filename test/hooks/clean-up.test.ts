import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { imagesOfPending } from '../../src/journal/gc.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { scratch } from '../support/tree.ts';

it('a clean-up while a shell command is announced leaves the bytes that the command may destroy', async () => {
  const { root, home } = scratch();
  const bytes = Buffer.from('not committed\n');
  const fingerprint = { sha256: hash('sha256', bytes), size: bytes.length };
  writeFileSync(join(root, 'a.txt'), bytes);
  const sessions = await Sessions.open({ roots: [root], home });
  onTestFinished(() => sessions.close());
  const session = await sessions.session('agent');
  const { store, images } = sessions.world;
  // Store these bytes in advance, as the hook before an earlier command would. No recorded change
  // needs them, so a clean-up may remove them.
  await images.keepBytes(bytes, fingerprint);
  const record = store.record.bind(store);
  store.record = async (writes) => {
    if (writes.announce !== undefined)
      await images.remove([fingerprint.sha256], async () => imagesOfPending(await store.pending()));
    return record(writes);
  };
  await session.announceCommand('rm a.txt', { writes: ['a.txt'] });
  expect(await images.has(fingerprint.sha256)).toBe(true);
});
