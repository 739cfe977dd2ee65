import { describe, expect, it } from 'vitest';
import { PRESET_NAMES, type PresetName } from '../../src/model/policy.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import { type Desk, desk, ok } from '../support/desk.ts';

/** What each looser setting of the default does under each preset, through the library. */
const ROWS: readonly [string, (t: Desk) => Promise<Outcome<unknown>>, readonly PresetName[]][] = [
  ['append to an unread file', (t) => t.session.append('unread', 'x'), ['default', 'staleness']],
  [
    'write over an unread empty file',
    (t) => t.session.write('empty', 'x'),
    ['default', 'strict', 'staleness'],
  ],
  [
    'edit with another indentation',
    async (t) => {
      await ok(t.session.read('code'));
      return t.session.edit('code', [{ oldString: 'a {\n  b\n}', newString: 'a {\n  c\n}' }]);
    },
    ['default', 'strict'],
  ],
];

describe.each(ROWS)('%s', (_what, call, allowed) => {
  it.each(PRESET_NAMES)('%s', async (preset) => {
    const t = await desk({ preset });
    await t.put('unread', 'one\n');
    await t.put('empty', '');
    await t.put('code', 'x\n    a {\n      b\n    }\n');
    expect((await call(t)).ok).toBe(allowed.includes(preset));
  });
});

describe('a whole write over CRLF', () => {
  it.each(PRESET_NAMES)('%s', async (preset) => {
    const t = await desk({ preset });
    await t.put('a', 'one\r\n');
    await ok(t.session.read('a'));
    await ok(t.session.write('a', 'two\n'));
    expect(t.text('a')).toBe(preset === 'default' || preset === 'strict' ? 'two\r\n' : 'two\n');
  });
});

it('after STALE, file-time asks for a new read, which is enough', async () => {
  const t = await desk({ preset: 'file-time' });
  await t.put('a', 'one\n');
  await ok(t.session.read('a'));
  await t.put('a', 'other\n');
  expect((await t.session.write('a', 'mine\n')).ok).toBe(false);
  expect((await t.session.write('a', 'mine too\n')).ok).toBe(false);
  await ok(t.session.read('a'));
  await ok(t.session.write('a', 'mine too\n'));
});
