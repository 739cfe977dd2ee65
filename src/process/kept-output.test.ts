import { expect, it } from 'vitest';
import { startChild } from '../../test/support/child.ts';
import { scratch } from '../../test/support/tree.ts';
import { KeptOutput } from './kept-output.ts';

it.each(['a', 'é', '€', '😀'])('a long line of %s is cut between characters', (character) => {
  // The letters in `before` shift the characters, so that some cuts fall inside a character.
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

it.skipIf(process.platform !== 'linux')(
  'an output that cannot be stored whole leaves no file behind',
  async () => {
    const { home } = scratch();
    // A limit of the file size has the same effect as a full disk.
    const child = await startChild('long-output', { home }, ['prlimit', '--fsize=200000', '--']);
    const shown = await child.message<{ readonly last: string; readonly files: readonly string[] }>();
    expect(shown).toMatchObject({ bytes: 1_000_000, last: '99', files: [] });
    expect(shown).not.toHaveProperty('kept');
  },
);
