import { describe, expect, it } from 'vitest';
import { parseBytes } from './commands/gc.ts';
import { parseDuration, parseMoment } from './flags.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');

describe('parseMoment', () => {
  it.each([
    ['30m', NOW - 30 * 60_000],
    ['2h', NOW - 2 * 3_600_000],
    ['3d', NOW - 3 * 86_400_000],
    ['1.5h', NOW - 5_400_000],
    ['1w', NOW - 7 * 86_400_000],
    ['45s', NOW - 45_000],
    ['2026-11-15T10:30:00Z', Date.parse('2026-11-15T10:30:00Z')],
    ['2026-11-15T10:30:00.250+02:00', Date.parse('2026-11-15T08:30:00.250Z')],
    ['2026-11-15 10:30', new Date(2026, 10, 15, 10, 30).getTime()],
    ['2026-11-15', new Date(2026, 10, 15).getTime()],
  ])('reads %s', (text, expected) => {
    expect(parseMoment(text, NOW)).toBe(expected);
  });

  it.each([
    '',
    'yesterday',
    '2',
    'h',
    '-2h',
    '2 hours',
    '2026',
    '2026-13-01',
    '15.11.2026',
    '2026-11-15T25:00',
  ])('rejects "%s"', (text) => {
    expect(parseMoment(text, NOW)).toBeUndefined();
  });
});

describe('parseDuration', () => {
  it('rejects dates', () => {
    expect(parseDuration('30d')).toBe(30 * 86_400_000);
    expect(parseDuration('2026-11-15')).toBeUndefined();
  });

  it('rejects times that cannot be added to a date', () => {
    expect(['99999999d', '1e9w', '200000000s'].map(parseDuration)).toEqual([undefined, undefined, 2e11]);
  });
});

describe('parseBytes', () => {
  it.each([
    ['4096', 4096],
    ['1K', 1024],
    ['1.5 MB', 1.5 * 1024 * 1024],
    ['2GiB', 2 * 1024 ** 3],
    ['1t', 1024 ** 4],
  ])('reads %s', (text, expected) => {
    expect(parseBytes(text)).toBe(expected);
  });

  it.each(['', 'MB', '-1', '1 X', 'a lot'])('rejects "%s"', (text) => {
    expect(parseBytes(text)).toBeUndefined();
  });
});
