import { describe, expect, it } from 'vitest';
import type { Notice } from '../model/results.ts';
import { describeNotice } from './describe-notice.ts';

const huge = 'y'.repeat(500_000);

describe('describeNotice', () => {
  it.each<[Notice, string]>([
    [
      { kind: 'changed-elsewhere', diff: '-a\n+b', truncated: true, writer: 's2' },
      'The file had been changed elsewhere by session s2 since it was read; this change was made to it as it is now. What else changed:\n-a\n+b\nThis is not all of it; read the file for the rest.',
    ],
    [
      { kind: 'unseen-lines', ranges: [{ from: 8, to: 9 }] },
      'This changed lines 8-9, which had not been read.',
    ],
    [{ kind: 'match-tier', tier: 'exact' }, ''],
    [
      { kind: 'match-tier', tier: 'trailing-space' },
      'The text was found after ignoring spaces at the ends of lines.',
    ],
    [
      { kind: 'settings-changed', path: 'a.json', what: 'x switches hooks off', change: 'c1' },
      'The command changed a.json, which only the user may do: x switches hooks off. Tell the user, or take it back with lookfirst undo c1.',
    ],
    [
      { kind: 'quotes-kept', path: 'a.ts', ranges: [{ from: 2, to: 2 }] },
      'Typographic quotes in code: a.ts, line 2. Replace them with straight ones, unless you meant them.',
    ],
    [{ kind: 'quotes-straightened', count: 1 }, 'Replaced 1 typographic quote in code with straight ones.'],
    [
      { kind: 'hard-links-broken', count: 2 },
      'The file has 2 other names (hard links), which keep the old bytes.',
    ],
    [{ kind: 'mode-bits-dropped', bits: 'setuid' }, 'The file lost its setuid permission.'],
    [{ kind: 'owner-changed' }, 'The file now belongs to the user that runs Lookfirst.'],
    [{ kind: 'xattrs-lost' }, 'The file lost its extended attributes.'],
    [
      { kind: 'stale-warning', text: 'file modified externally' },
      'Note: file modified externally. The change was made anyway; the journal keeps what it replaced, and an undo brings it back.',
    ],
    [
      { kind: 'late-write', path: 'a', retained: 'b' },
      'Another program still had the replaced a open and wrote to it afterwards; what it wrote is kept at b.',
    ],
    [
      { kind: 'changed-seen-files', paths: ['a', 'b'], cut: 3 },
      '5 files that you had read changed: a, b and 3 more.',
    ],
    [
      { kind: 'bypassed', glob: 'gen/**' },
      "The user's rule for gen/** allowed this without a read; the journal records it.",
    ],
    [{ kind: 'not-recorded' }, 'The journal could not be written, so this change cannot be undone.'],
    [
      { kind: 'overtaken', path: 'a', change: 'c1', session: 's2' },
      'While this change was under way, session s2 changed a (change c1): check that its change is still there.',
    ],
    [{ kind: 'recreated' }, 'The file had been deleted since it was read; it was created again.'],
  ])('$kind', (notice, expected) => {
    expect(describeNotice(notice)).toBe(expected);
  });

  it('the preset of seed D names the file', () => {
    const notice: Notice = { kind: 'stale-warning', text: 'file was deleted since last read' };
    expect(describeNotice(notice, { path: 'a.txt', wording: 'staleness' })).toBe(
      'File a.txt: file was deleted since last read. The change was made anyway; the journal keeps what it replaced, and an undo brings it back.',
    );
  });

  it('is bounded', () => {
    const notices: Notice[] = [
      { kind: 'changed-elsewhere', diff: huge, truncated: false },
      { kind: 'changed-seen-files', paths: Array.from({ length: 5000 }, () => huge), cut: 0 },
      { kind: 'stale-warning', text: huge },
      { kind: 'unseen-lines', ranges: Array.from({ length: 5000 }, (_, i) => ({ from: 2 * i, to: 2 * i })) },
    ];
    for (const notice of notices) expect(describeNotice(notice).length).toBeLessThan(25_000);
  });
});
