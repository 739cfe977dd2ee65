import { describe, expect, it } from 'vitest';
import { deriveSightings } from '../../src/history/derive.ts';
import { CASES, type Case } from './cases.ts';
import type { ScribeKind } from './scribe.ts';
import { SCRIBES } from './scribes/all.ts';
import { seenLines } from './seen-lines.ts';
import { ROOT } from './step.ts';

/** The records of a case, or undefined if the host has no record for one of its steps. */
function recordsOf({ open }: ScribeKind, { steps }: Case): readonly object[] | undefined {
  const scribe = open();
  const records: object[] = [];
  for (const step of steps) {
    const written = scribe.write(step);
    if (written === undefined) return undefined;
    records.push(...written);
  }
  return records;
}

describe.each(SCRIBES)('$name', (kind) => {
  const told = CASES.flatMap((one) => {
    const records = recordsOf(kind, one);
    return records === undefined ? [] : [{ ...one, records }];
  });

  it.each(told)('$rule', ({ records, seen }) => {
    const { sightings } = deriveSightings(records, { format: kind.format, cwd: ROOT });
    expect(seenLines(sightings)).toEqual([...seen].sort());
  });

  it('gives the same result from bytes as from records', () => {
    for (const { rule, records, seen } of told) {
      const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
      const { sightings } = deriveSightings(text, { format: kind.format, cwd: ROOT });
      expect(seenLines(sightings), rule).toEqual([...seen].sort());
    }
  });

  it('is recognised by its records', () => {
    for (const { rule, records } of told)
      expect(deriveSightings(records, { cwd: ROOT }).format, rule).toBe(kind.format);
  });
});

describe('cases that a host cannot record', () => {
  it.each(SCRIBES)('$name', (kind) => {
    const silent = CASES.filter((one) => recordsOf(kind, one) === undefined).map((one) => one.rule);
    expect(silent).toMatchSnapshot();
  });
});
