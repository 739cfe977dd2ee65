import { describe, expect, it } from 'vitest';
import { changed, entry } from '../../test/support/entries.ts';
import type { ChangeEntry, EntryOf } from '../model/entry.ts';
import { FalseAlarms, falseAlarm } from './judged-refusals.ts';

describe('a refusal', () => {
  const seen = { fingerprint: { sha256: 'old', size: 1 }, lines: 'whole', atMs: 0 };
  const refusal = (fields: Partial<EntryOf<'refusal'>>): EntryOf<'refusal'> =>
    entry('refusal', { path: 'a.ts', ...fields });

  it.each([
    ['the bytes were the same', { code: 'STALE', sha256: 'old', seen }, undefined, 'unchanged-bytes'],
    ['the bytes were others', { code: 'STALE', sha256: 'new', seen }, undefined, undefined],
    ['the refusal was not about bytes', { code: 'NO_MATCH', sha256: 'old', seen }, undefined, undefined],
    [
      'the same content was written after a read',
      { code: 'NOT_READ', sha256: 'now', content: 'mine' },
      changed('a.ts', ['now', 'mine'], { seq: 2 }),
      'same-content',
    ],
    [
      'the call passed in observe mode and wrote the content itself',
      { code: 'NOT_READ', sha256: 'now', content: 'mine', observed: true },
      changed('a.ts', ['now', 'mine'], { seq: 2 }),
      undefined,
    ],
    [
      'other content was written',
      { code: 'NOT_READ', sha256: 'now', content: 'mine' },
      changed('a.ts', ['now', 'other'], { seq: 2 }),
      undefined,
    ],
    [
      'the file changed in between',
      { code: 'STALE', sha256: 'now', content: 'mine' },
      changed('a.ts', ['later', 'mine'], { seq: 2 }),
      undefined,
    ],
  ] satisfies [string, Partial<EntryOf<'refusal'>>, ChangeEntry | undefined, string | undefined][])(
    'is classified as a false alarm or not: %s',
    (_what, fields, next, alarm) => {
      expect(falseAlarm(refusal(fields), next)).toBe(alarm);
    },
  );

  it('is found among later entries if it was a false alarm', () => {
    const alarms = new FalseAlarms();
    const entries = [
      refusal({ seq: 1, code: 'NOT_READ', sha256: 'now', content: 'mine' }),
      changed('a.ts', ['now', 'mine'], { seq: 2 }),
      refusal({ seq: 3, code: 'STALE', sha256: 'old', seen }),
      refusal({ seq: 4, code: 'STALE', sha256: 'x', seen }),
    ];
    expect(
      entries
        .toReversed()
        .filter((each) => alarms.add(each))
        .map(({ seq }) => seq),
    ).toEqual([3, 1]);
  });
});
