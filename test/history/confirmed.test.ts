import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../src/disk/read.ts';
import { deriveSightings } from '../../src/history/derive.ts';
import { joinSightings } from '../../src/history/verify.ts';
import { formatRanges } from '../../src/report/amounts.ts';
import { lineCount } from '../../src/text/lines.ts';
import type { ScribeKind } from './scribe.ts';
import { SCRIBES } from './scribes/all.ts';
import { FILE_LINES, ROOT, type Step, textOf } from './step.ts';

const WHOLE = textOf('a.ts', [1, FILE_LINES]);

const VIEWS: readonly (readonly [string, Step[]])[] = [
  [
    'a read',
    [
      { do: 'call', id: '1', tool: 'read', path: 'a.ts' },
      { do: 'result', id: '1' },
    ],
  ],
  [
    'pages',
    [
      { do: 'call', id: '1', tool: 'read', path: 'a.ts', lines: [1, 2] },
      { do: 'result', id: '1' },
      { do: 'call', id: '2', tool: 'read', path: 'a.ts', lines: [3, 9] },
      { do: 'result', id: '2' },
    ],
  ],
  [
    'a command',
    [
      { do: 'call', id: '1', tool: 'shell', command: 'cat a.ts' },
      { do: 'result', id: '1', shows: { path: 'a.ts', lines: [1, FILE_LINES] } },
    ],
  ],
  [
    'the end of a file',
    [
      { do: 'call', id: '1', tool: 'shell', command: 'tail -n 2 a.ts' },
      { do: 'result', id: '1', shows: { path: 'a.ts', lines: [4, FILE_LINES] } },
    ],
  ],
  [
    'a write',
    [
      { do: 'call', id: '1', tool: 'write', path: '/repo/a.ts', content: WHOLE },
      { do: 'result', id: '1' },
    ],
  ],
];

/**
 * The line ranges that a conversation has shown and that are still the same in the file's present
 * content, or `nothing`. Undefined if the host has no record for one of the steps.
 */
function confirmedBy(kind: ScribeKind, steps: readonly Step[], content: string): string | undefined {
  const scribe = kind.open();
  const records = steps.map((step) => scribe.write(step));
  if (records.includes(undefined)) return undefined;
  const lines = records.flatMap((written) => (written ?? []).map((record) => `${JSON.stringify(record)}\n`));
  const { sightings } = deriveSightings(lines.join(''), { format: kind.format, cwd: ROOT });
  const bytes = Buffer.from(content);
  const disk = { fingerprint: fingerprintOf(bytes), totalLines: lineCount(content), bytes };
  const joined = joinSightings(sightings, disk);
  if (joined === undefined || joined.flags.unverified) return 'nothing';
  return joined.coverage.kind === 'lines' ? formatRanges(joined.coverage.ranges) : joined.coverage.kind;
}

describe.each(SCRIBES)('$name', (kind) => {
  it.each(VIEWS)('%s is confirmed by a file with the same lines and by no other', (what, steps) => {
    const confirmed = (content: string): string | undefined => confirmedBy(kind, steps, content);
    if (confirmed(WHOLE) === undefined) return;
    const all = what === 'the end of a file' ? '4-5' : 'whole';
    expect(confirmed(WHOLE)).toBe(all);
    // Transcripts do not show line endings, so a file with CRLF line endings counts as the same.
    expect(confirmed(WHOLE.replaceAll('\n', '\r\n'))).toBe(all);
    expect(confirmed(WHOLE.replace('a.ts 1', 'a.ts x'))).toBe(
      { pages: '3-5', 'the end of a file': '4-5' }[what] ?? 'nothing',
    );
    expect(confirmed(WHOLE.replace('a.ts 5', 'a.ts x'))).toBe({ pages: '1-2' }[what] ?? 'nothing');
    expect(confirmed('')).toBe('nothing');
  });
});
