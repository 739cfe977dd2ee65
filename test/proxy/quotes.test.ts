import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { official, scratch } from './harness.ts';

describe('typographic quotes in text for the upstream server', () => {
  it.each([
    ['all', 'q.go', 'x := \u201ca\u201d \u00abb\u00bb\n', 'x := "a" <<b>>\n'],
    ['all', 'q.md', '\u201ca\u201d\n', '\u201ca\u201d\n'],
    ['code', 'q.go', 'x := \u201ca\u201d // \u201cb\u201d\n', 'x := "a" // \u201cb\u201d\n'],
    ['off', 'q.go', 'x := \u201ca\u201d\n', 'x := \u201ca\u201d\n'],
  ] as const)(
    'are replaced with straight ones as the policy says: %s in %s',
    async (quotes, name, content, written) => {
      const root = scratch();
      const path = join(root, name);
      const { client, gate } = await official(root, { quotes }, { policy: { quotes } });
      const answer = await client.call('write_file', { path, content });
      expect(answer.ok).toBe(true);
      expect(readFileSync(path, 'utf8')).toBe(written);
      expect(answer.text.includes('with straight ones')).toBe(content !== written);
      // The session has seen the text on disk, with straight quotes, so it may overwrite the file
      // without a read.
      expect((await client.call('write_file', { path, content: 'again\n' })).ok).toBe(true);
      expect(await gate.pending()).toBe(0);
    },
  );

  it('are replaced in the new text of an edit under the rule of document D, and kept in the old text', async () => {
    const root = scratch();
    const path = join(root, 'q.go');
    writeFileSync(path, 'x := \u201ca\u201d\n');
    const { client } = await official(root, { quotes: 'all' }, { policy: { quotes: 'all' } });
    await client.call('read_text_file', { path });
    const edits = [{ oldText: '\u201ca\u201d', newText: '\u201cb\u201d' }];
    const answer = await client.call('edit_file', { path, edits });
    expect(answer.text).toContain('2 typographic quotes');
    expect(readFileSync(path, 'utf8')).toBe('x := "b"\n');
  });
});
