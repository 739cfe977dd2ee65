import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DIALECT_NAMES, type DialectName } from '../../src/dialect/tool.ts';
import { loadDialect } from '../../src/mcp/serve.ts';
import { PRESET_NAMES } from '../../src/model/policy.ts';
import { explain } from '../../src/report/explain.ts';
import type { ToolNames } from '../../src/report/tool-names.ts';
import { desk, ok } from '../support/desk.ts';
import { ALL_SERVERS } from '../support/server-tables.ts';

/** The names of all tools that Lookfirst offers or that known servers have. */
async function allNames(): Promise<Set<string>> {
  const dialects = await Promise.all(DIALECT_NAMES.map((name) => loadDialect(name)));
  const own = dialects.flatMap(({ tools }) => tools.map(({ name }) => name));
  return new Set([...own, ...ALL_SERVERS.flatMap(({ tools }) => Object.keys(tools))]);
}

/** The tool names in a text. Only names with an underscore count: others may be ordinary words. */
function namedTools(text: string, names: ReadonlySet<string>): string[] {
  const words = new Set(text.match(/\b[A-Za-z]\w*_\w+\b/g) ?? []);
  return [...words].filter((word) => names.has(word));
}

/** Refusals of every common kind, from a real session under the preset. */
async function refusals(preset: (typeof PRESET_NAMES)[number]) {
  const t = await desk({ preset });
  for (const name of ['unread.txt', 'part.txt', 'stale.txt', 'gone.txt'])
    await t.put(name, 'one\ntwo\nthree\n');
  mkdirSync(join(t.root, 'folder'));
  await t.put('folder/inner.txt', 'x\n');
  await ok(t.session.read('part.txt', { limit: 1 }));
  await ok(t.session.read('stale.txt'));
  await t.put('stale.txt', 'theirs\n');
  const edits = [{ oldString: 'nowhere', newString: 'x' }];
  const outcomes = [
    await t.session.write('unread.txt', 'x\n'),
    await t.session.edit('unread.txt', edits),
    await t.session.insert('unread.txt', 'x', { afterLine: 1 }),
    await t.session.write('part.txt', 'x\n'),
    await t.session.edit('part.txt', edits),
    await t.session.write('stale.txt', 'x\n'),
    await t.session.read('missing.txt'),
    await t.session.read('folder'),
    await t.session.delete('folder', { recursive: true }),
    await t.session.write('../outside.txt', 'x'),
    await t.session.undo({ change: 'cffffffffff' }),
  ];
  return outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.refusal]));
}

describe.each(PRESET_NAMES)('refusals under %s name tools that exist', (preset) => {
  it.each(DIALECT_NAMES)('in the dialect %s', async (name: DialectName) => {
    const { tools, names: words } = await loadDialect(name);
    await check(preset, words, new Set(tools.map((tool) => tool.name)));
  });

  it.each(ALL_SERVERS.map((server) => [server.id, server] as const))(
    'behind a proxy in front of %s',
    async (_id, server) => check(preset, server.words, new Set(Object.keys(server.tools))),
  );
});

async function check(
  preset: (typeof PRESET_NAMES)[number],
  tools: ToolNames,
  existing: ReadonlySet<string>,
): Promise<void> {
  const names = await allNames();
  const wrong: string[] = [];
  for (const refusal of await refusals(preset)) {
    const text = explain(refusal, { wording: preset, nowMs: Date.now(), tools });
    for (const tool of namedTools(text, names)) if (!existing.has(tool)) wrong.push(`${tool}: ${text}`);
  }
  expect(wrong).toEqual([]);
}
