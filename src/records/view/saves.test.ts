import { expect, it, onTestFinished } from 'vitest';
import { desk, ok, refusal } from '../../../test/support/desk.ts';
import { Records } from '../records.ts';
import { Scope } from '../scope.ts';
import { savesOf } from './saves.ts';

const DAY_MS = 86_400_000;
const LINES = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join('');

it('counts what was refused in 30 days, by day, session and file, with the lines that were kept', async () => {
  let nowMs = new Date(2026, 2, 1, 12).getTime();
  const t = await desk({ session: 'old', now: () => nowMs });
  await t.put('a.txt', LINES);
  await refusal(t.session.write('a.txt', 'x\n'), 'NOT_READ');
  nowMs += 31 * DAY_MS;
  const one = await t.open({ session: 'one' });
  for (let tries = 0; tries < 2; tries += 1) await refusal(one.write('a.txt', 'x\n'), 'NOT_READ');
  nowMs += 3 * DAY_MS;
  const two = await t.open({ session: 'two' });
  await ok(two.read('a.txt', { offset: 1, limit: 15 }));
  await refusal(two.write('a.txt', 'x\n'), 'PARTIALLY_READ');
  await t.put('b.txt', LINES);
  await ok(two.read('b.txt'));
  await t.put('b.txt', LINES.replace('line 7', 'seven').replace('line 9', 'nine'));
  await refusal(two.write('b.txt', 'x\n'), 'STALE');
  await refusal(two.read('../outside.txt'), 'OUTSIDE_WORKSPACE');

  const records = await Records.open({ home: t.home, store: `sqlite:${t.home}/lookfirst.db` });
  onTestFinished(() => records.close());
  const saves = await savesOf({ records, scope: new Scope({ cwd: t.root }), secrets: 'mask' }, nowMs);
  expect(saves).toMatchObject({
    refusals: 5,
    overwrites: 4,
    lines: 20 + 5 + 2,
    bySession: [
      { name: 'one', refusals: 2, lines: 20 },
      { name: 'two', refusals: 3, lines: 7 },
    ],
    byFile: [
      { name: 'a.txt', root: t.root, refusals: 3, lines: 25 },
      { name: 'b.txt', root: t.root, refusals: 1, lines: 2 },
    ],
  });
  expect(saves.byDay).toHaveLength(30);
  expect(saves.byDay.filter(([, count]) => count > 0)).toEqual([
    ['2026-04-01', 2],
    ['2026-04-04', 3],
  ]);
  expect(saves.byCode[0]).toEqual(['NOT_READ', 2]);
});
