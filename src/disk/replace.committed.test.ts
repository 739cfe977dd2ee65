import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bench, holding } from '../../test/support/disk.ts';
import { FileSystemClock } from './file-system.ts';
import { create, replace } from './replace.ts';

const LARGE = 'x'.repeat(1 << 20);

/** A clock that accepts the stat fields (stamp) of every file as proof of its bytes. */
class LateClock extends FileSystemClock {
  override isRacy(): boolean {
    return false;
  }
}

it.each([
  ['little content', 'new', 'nothing', true],
  ['much content, long enough after it was written', LARGE, 'nothing', false],
  ['much content that someone wrote over at once', LARGE, 'writes', true],
])('the stamp of %s is racy or not', async (_what, text, then, racy) => {
  let name = 'g';
  const disk = bench(['f: old'], {
    trace: (step) => {
      // Write at this step, when the file is already published.
      if (step === 'folder-sync' && then === 'writes')
        writeFileSync(join(disk.root, name), LARGE.replace('x', 'y'));
    },
  });
  const context = { ...disk.context, clock: new LateClock() };
  const bytes = Buffer.from(text);
  const made = await create(context, disk.place('g'), { bytes });
  name = 'f';
  const put = await replace(context, disk.place('f'), { bytes, expected: holding('old') });
  expect([made, put]).toMatchObject([
    { ok: true, racy },
    { ok: true, racy },
  ]);
});
