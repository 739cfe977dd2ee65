// Clients cut or store long answers. What they do not show the model must not count as seen.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;

beforeEach(() => {
  places = scratch();
  const put = (name: string, lines: number, width: number) =>
    writeFileSync(join(places.root, name), `${'x'.repeat(width)}\n`.repeat(lines));
  put('wide.txt', 1900, 99);
  put('narrow.txt', 30_000, 1);
  put('small.txt', 20, 10);
});

/** The most characters that the client shows of one answer. */
const LIMITS = [
  ['gemini-cli-mcp-client', 40_000 - 600],
  ['codex-mcp-client', 40_000],
  ['opencode', 50 * 1024],
  ['Visual Studio Code', 8192],
  ['cursor-vscode', 8192],
] as const;

it.each(LIMITS)('%s is given at most %i characters, and told how to go on', async (client, limit) => {
  const served = await Served.here(places, [], client);
  for (const path of ['wide.txt', 'narrow.txt']) {
    const page = await served.call('read_file', { path, limit: 20_000 });
    expect(page.text.length, path).toBeLessThanOrEqual(limit);
    expect(page.outcome).toMatchObject({ ok: true, complete: false });
    const [, last = ''] = /\[read \S+ lines 1-(\d+) of \d+/.exec(page.text) ?? [];
    expect(Number(last)).toBeGreaterThan(50);
    const next = await served.call('read_file', { path, offset: Number(last) + 1 });
    expect(next.text).toContain(`[read ${path} lines ${Number(last) + 1}-`);
  }
  const blind = await served.call('write_file', { path: 'wide.txt', content: 'blind\n' });
  expect(blind.outcome).toMatchObject({ ok: false, code: 'PARTIALLY_READ' });
  await served.call('read_file', { path: 'small.txt' });
  expect(await served.call('write_file', { path: 'small.txt', content: 'seen\n' })).toMatchObject({
    ok: true,
  });
});

it('asks Claude Code to show long answers whole', async () => {
  const served = await Served.here(places, [], 'claude-code');
  const page = await served.call('read_file', { path: 'wide.txt' });
  expect(page.outcome).toMatchObject({ complete: true });
  for (const { _meta } of await served.tools())
    expect((_meta as Record<string, number>)['anthropic/maxResultSizeChars']).toBeGreaterThan(
      page.text.length,
    );
});
