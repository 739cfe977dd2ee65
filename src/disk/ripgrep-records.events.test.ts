import { describe, expect, it } from 'vitest';
import { maskText } from '../text/secrets.ts';
import { excerpt, readEvent } from './ripgrep-records.ts';

describe('an excerpt', () => {
  it.each([
    ['a short line', 'needle\n', 0, 'needle'],
    ['a Windows line', 'needle\r\n', 0, 'needle'],
    ['a last line', 'needle', 0, 'needle'],
    ['500 characters', 'ü'.repeat(500), 0, 'ü'.repeat(500)],
    ['a match at the start', `needle${'x'.repeat(900)}`, 0, `needle${'x'.repeat(494)}…`],
    ['a match at the end', `${'x'.repeat(900)}needle`, 900, `…${'x'.repeat(494)}needle`],
    [
      'a match in the middle',
      `${'x'.repeat(5000)}needle${'y'.repeat(5000)}`,
      5000,
      `…${'x'.repeat(150)}needle${'y'.repeat(344)}…`,
    ],
  ])('of %s', (_what, line, around, shown) => {
    expect(excerpt(Buffer.from(line), around)).toBe(shown);
  });

  it('is cut around the match after the line is masked', () => {
    const token = `ghp_${'a1'.repeat(18)}`;
    const line = Buffer.from(`${token} ${'x'.repeat(800)}needle ${token}${' y'.repeat(300)}`);
    const shown = excerpt(line, line.indexOf('needle'), (text) => maskText(text, { secretFile: false }));
    expect(shown).toBe(`…${'x'.repeat(150)}needle [masked]${' y'.repeat(167)} …`);
  });

  it('never splits a character, for any start and end', () => {
    for (let lead = 590; lead < 610; lead += 1) {
      const line = Buffer.from(`${'x'.repeat(lead % 7)}${'😀'.repeat(lead)}needle${'é😀'.repeat(lead)}`);
      const shown = excerpt(line, line.indexOf('needle'));
      expect(shown).toMatch(/^…(😀)+needle(é😀)+é?…$/u);
      expect(shown.length).toBeLessThanOrEqual(503);
    }
  });
});

describe('an event', () => {
  it('with bytes that are not UTF-8 is shown with replacement characters', () => {
    const record = JSON.stringify({
      type: 'match',
      data: {
        path: { text: 'a' },
        lines: { bytes: Buffer.from([0x61, 0xff, 0x62, 0x0a]).toString('base64') },
        line_number: 7,
        absolute_offset: 100,
        submatches: [{ start: 0 }],
      },
    });
    expect(readEvent(record)).toEqual({
      kind: 'line',
      file: 'a',
      line: 7,
      text: 'a\uFFFDb',
      context: false,
      end: 104,
    });
  });

  it('of an unused type is undefined', () => {
    expect(readEvent('{"type":"begin","data":{"path":{"text":"a"}}}')).toBeUndefined();
    expect(readEvent('{"type":"summary","data":{}}')).toBeUndefined();
  });
});
