import { expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { KeptOutput } from './kept-output.ts';

it.each(['a', 'é', '€', '😀'])('a long line of %s is cut between characters', (character) => {
  // The letter before the characters makes the cuts fall within one.
  for (const before of ['', 'x', 'xx', 'xxx']) {
    const output = new KeptOutput(scratch().base, { id: 'one', session: 's' });
    const bytes = Buffer.from(before + character.repeat(20_000));
    for (let at = 0; at < bytes.byteLength; at += 7_001) output.add(bytes.subarray(at, at + 7_001));
    const { head, tail = '', cutBytes } = output.end();
    if (cutBytes === 0) continue;
    expect(`${head}${tail}`).not.toContain('\ufffd');
    expect(bytes.toString('utf8').startsWith(head)).toBe(true);
    expect(bytes.toString('utf8').endsWith(tail)).toBe(true);
    expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + cutBytes).toBe(bytes.byteLength);
  }
});
