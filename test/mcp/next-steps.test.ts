import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../src/dialect/tool.ts';
import { loadDialect } from '../../src/mcp/serve.ts';
import type { Policy } from '../../src/model/policy.ts';
import type { JsonRecord } from '../../src/model/record.ts';
import { type Action, type NextStep, REFUSAL_CODES, type Refusal } from '../../src/model/verdict.ts';
import { explain } from '../../src/report/explain.ts';
import { callsIn, NAMES, type Opened, open, whyNotCallable } from './dialect-calls.ts';

interface Case {
  readonly code: string;
  readonly policy?: Partial<Policy>;
  /** Causes the refusal. */
  readonly refuse: (opened: Opened) => Promise<{ text: string; code: string | undefined }>;
  /** Repeats the change after the suggested step was done. */
  readonly again?: (opened: Opened) => Promise<{ code: string | undefined }>;
}

const overwrite = ({ call, say }: Opened) => call(say.write('a.txt', 'new\n'));

const CASES: Readonly<Record<string, Case>> = {
  'a blind overwrite': { code: 'NOT_READ', refuse: overwrite, again: overwrite },
  'a blind edit': {
    code: 'NOT_READ',
    refuse: ({ call, say }) => call(say.edit('a.txt', 'two', 'TWO')),
    again: ({ call, say }) => call(say.edit('a.txt', 'two', 'TWO')),
  },
  'an overwrite after a partial read': {
    code: 'PARTIALLY_READ',
    refuse: async (opened) => {
      await opened.call(opened.say.readFirstLine('a.txt'));
      return overwrite(opened);
    },
    again: overwrite,
  },
  'a stale overwrite': {
    code: 'STALE',
    refuse: async (opened) => {
      await opened.call(opened.say.read('a.txt'));
      opened.put('a.txt', 'theirs\n');
      return overwrite(opened);
    },
    again: async (opened) => {
      await opened.call(opened.say.read('a.txt'));
      return overwrite(opened);
    },
  },
  'an edit of changed text': {
    code: 'STALE',
    refuse: async (opened) => {
      await opened.call(opened.say.read('a.txt'));
      opened.put('a.txt', 'one\nTWO\nthree\n');
      return opened.call(opened.say.edit('a.txt', 'two', '2'));
    },
    again: ({ call, say }) => call(say.edit('a.txt', 'TWO', '2')),
  },
  'an overwrite after an expired read': {
    code: 'READ_EXPIRED',
    policy: { ttlMs: 1000 },
    refuse: async (opened) => {
      await opened.call(opened.say.read('a.txt'));
      opened.later(5000);
      return overwrite(opened);
    },
    again: overwrite,
  },
  'an edit of a deleted file': {
    code: 'DELETED',
    refuse: async (opened) => {
      await opened.call(opened.say.read('a.txt'));
      rmSync(join(opened.root, 'a.txt'));
      return opened.call(opened.say.edit('a.txt', 'two', '2'));
    },
    again: overwrite,
  },
  'an edit of missing text': {
    code: 'NO_MATCH',
    refuse: async ({ call, say }) => {
      await call(say.read('a.txt'));
      return call(say.edit('a.txt', 'four', '4'));
    },
    again: ({ call, say }) => call(say.edit('a.txt', 'three', '3')),
  },
  'an edit of text that occurs twice': {
    code: 'AMBIGUOUS_MATCH',
    refuse: async ({ call, say, put }) => {
      put('a.txt', 'x\nsame\ny\nsame\n');
      await call(say.read('a.txt'));
      return call(say.edit('a.txt', 'same', 'other'));
    },
    again: ({ call, say }) => call(say.edit('a.txt', 'x\nsame', 'x\nother')),
  },
  'an edit without old text': {
    code: 'INVALID_ARGUMENT',
    refuse: async ({ call, say }) => {
      await call(say.read('a.txt'));
      return call(say.edit('a.txt', '', 'x'));
    },
  },
  'an edit of a missing file': {
    code: 'NOT_FOUND',
    refuse: ({ call, say }) => call(say.edit('missing.txt', 'a', 'b')),
  },
  'a read of a missing file': { code: 'NOT_FOUND', refuse: ({ call, say }) => call(say.read('missing.txt')) },
  'a read of a folder': {
    code: 'NOT_A_FILE',
    refuse: ({ call, say, root }) => {
      mkdirSync(join(root, 'd'));
      return call(say.read('d'));
    },
  },
  'a write to a folder': {
    code: 'NOT_A_FILE',
    refuse: ({ call, say, root }) => {
      mkdirSync(join(root, 'd'));
      return call(say.write('d', 'x'));
    },
  },
  'a read outside': { code: 'OUTSIDE_WORKSPACE', refuse: ({ call, say }) => call(say.read('../x')) },
  'a protected file': {
    code: 'PROTECTED',
    policy: { protected: ['a.txt'] },
    refuse: ({ call, say }) => call(say.read('a.txt')),
  },
  'a file that may not be written': {
    code: 'READ_ONLY',
    refuse: async (opened) => {
      chmodSync(join(opened.root, 'a.txt'), 0o444);
      await opened.call(opened.say.read('a.txt'));
      return overwrite(opened);
    },
  },
  'a placeholder for the rest of the file': {
    code: 'PLACEHOLDER_CONTENT',
    refuse: async ({ call, say }) => {
      await call(say.read('a.txt'));
      return call(say.write('a.txt', 'one\n// ... rest of the file unchanged ...\n'));
    },
    again: ({ call, say }) => call(say.edit('a.txt', 'two', '2')),
  },
  'an edit of a binary file': {
    code: 'NOT_TEXT',
    refuse: async ({ call, say, put }) => {
      put('a.txt', Buffer.from([0, 1, 2, 255]));
      await call(say.read('a.txt'));
      return call(say.edit('a.txt', 'a', 'b'));
    },
  },
  'an argument of the wrong type': {
    code: 'INVALID_ARGUMENT',
    refuse: ({ call, say }) => {
      const [tool, args] = say.read('a.txt');
      return call([tool, Object.fromEntries(Object.keys(args).map((name) => [name, 1]))]);
    },
  },
};

/** Names of tools and arguments that exist in other dialects, but not in the dialect `name`. */
async function hostWords(name: DialectName): Promise<Set<string>> {
  const wordsOf = async (which: DialectName): Promise<string[]> =>
    (await loadDialect(which)).tools.flatMap((tool) => [
      tool.name,
      ...(JSON.stringify(tool.inputSchema.properties).match(/"(\w+)":\{/g) ?? []).map((key) =>
        key.slice(1, -3),
      ),
    ]);
  const own = new Set(await wordsOf(name));
  const all = (await Promise.all(NAMES.map(wordsOf))).flat();
  // Leave out ordinary words, which any text may contain.
  return new Set(all.filter((word) => /_|[a-z][A-Z]/.test(word) && !own.has(word)));
}

describe.each(NAMES)('in %s', (name) => {
  // The dialect `text-editor` can view a folder, so it does not refuse to read one.
  const cases = Object.entries(CASES).filter(
    ([what]) => name !== 'text-editor' || what !== 'a read of a folder',
  );
  it.each(cases)('%s is refused with a next step that works', async (_what, given) => {
    const opened = await open(name, given.policy);
    opened.put('a.txt', 'one\ntwo\nthree\n');
    const { text, code } = await given.refuse(opened);
    expect(code).toBe(given.code);
    const host = await hostWords(name);
    expect((text.match(/\w+/g) ?? []).filter((word) => host.has(word))).toEqual([]);
    for (const next of callsIn(text)) {
      expect(whyNotCallable(opened.dialect, next), text).toBeUndefined();
      const done = await opened.call(next);
      expect(done.code, `${text}\n\n${done.text}`).toBeUndefined();
    }
    const again = await given.again?.(opened);
    expect(again?.code).toBeUndefined();
  });

  it('every possible refusal names only calls that this dialect accepts', async () => {
    const dialect = await loadDialect(name);
    const host = await hostWords(name);
    const wrong: string[] = [];
    for (const refusal of everyRefusal()) {
      const text = explain(refusal, { nowMs: 1_000_000, tools: dialect.names, wording: 'default' });
      for (const next of callsIn(text)) {
        const why = whyNotCallable(dialect, next);
        if (why !== undefined) wrong.push(`${why}: ${text}`);
      }
      const strange = (text.match(/\w+/g) ?? []).filter((word) => host.has(word));
      if (strange.length > 0) wrong.push(`${strange}: ${text}`);
    }
    expect(wrong).toEqual([]);
  });
});

const STEPS: readonly NextStep[] = [
  ...(['read', 'read_range', 'read_again', 'list', 'other_path', 'other_tool'] as const),
  ...(['add_context', 'use_edit', 'fix_argument', 'retry_later', 'ask_human', 'repeat', 'none'] as const),
];
const ACTIONS: readonly Action[] = [
  ...(['read', 'list', 'search', 'status', 'create', 'overwrite', 'edit'] as const),
  ...(['insert', 'delete', 'move', 'mkdir', 'undo', 'run'] as const),
];
const DETAILS: readonly JsonRecord[] = [
  {},
  { missing: [{ from: 3, to: 7 }], totalLines: 9, seenAtMs: 1000 },
  { revision: 'r1', diff: '-a\n+b', seenAtMs: 1000 },
  { cause: 'repeated', revision: 'r1' },
  { reason: 'compacted', seenAtMs: 1000, repeated: 3 },
  { kind: 'directory', reason: 'the folder is not empty' },
];

function* everyRefusal() {
  for (const code of REFUSAL_CODES)
    for (const action of ACTIONS)
      for (const next of STEPS)
        for (const detail of DETAILS) yield { code, action, path: 'd/a.txt', next, detail } as Refusal;
}

it.each([...NAMES, 'apply-patch'] as const)(
  '%s: sentences name only arguments that its tools take',
  async (name) => {
    const { tools, names } = await loadDialect(name);
    const takes = (tool: string, argument: string | undefined) =>
      argument === undefined ||
      tools.some(
        (each) =>
          each.name === (names.command?.tool ?? tool) &&
          JSON.stringify(each.inputSchema).includes(`"${argument}"`),
      );
    expect(takes(names.write, names.arguments.revision)).toBe(true);
    expect(takes(names.edit, names.arguments.replaceAll)).toBe(true);
  },
);

it.each(['lookfirst', 'lace', 'text-editor'] as const)(
  '%s: a read in a missing folder suggests to list the nearest folder that exists',
  async (name) => {
    const { root, call, say } = await open(name);
    mkdirSync(join(root, 'src'));
    const { text } = await call(say.read('src/no/such/file.txt'));
    const [step] = callsIn(text);
    if (step === undefined) throw new Error(`no call in ${text}`);
    expect(step[1]).toMatchObject({ path: 'src' });
    expect((await call(step)).code).toBeUndefined();
  },
);

it('filesystem: a write or move into a missing folder suggests to create the folder first', async () => {
  const { call, say } = await open('filesystem');
  const write = () => call(say.write('d/e/new.txt', 'x'));
  const { text, code } = await write();
  expect(code).toBe('NOT_FOUND');
  expect(callsIn(text)).toEqual([['create_directory', { path: 'd/e' }]]);
  for (const next of callsIn(text)) await call(next);
  expect((await write()).code).toBeUndefined();
  const { text: moved } = await call(['move_file', { source: 'd/e/new.txt', destination: 'f/new.txt' }]);
  expect(callsIn(moved)).toEqual([['create_directory', { path: 'f' }]]);
  const { text: gone } = await call(['move_file', { source: 'gone.txt', destination: 'f/new.txt' }]);
  expect(gone).not.toContain('create_directory');
});

it('a refused write leaves the file unchanged', async () => {
  const { call, put, root, say } = await open('lookfirst');
  put('a.txt', 'one\n');
  await call(say.write('a.txt', 'x'));
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\n');
});
