import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileIntent, Intent } from '../../src/model/intent.ts';
import type { RefusalCode } from '../../src/model/verdict.ts';
import { explain } from '../../src/report/explain.ts';
import { desk, ok, refusal } from '../support/desk.ts';

/**
 * Changes that are refused, with the code of the refusal. The session has read `seen` whole, the
 * first two lines of `part`, and nothing of `other`.
 */
const REFUSED: readonly (readonly [string, Intent, RefusalCode])[] = [
  ['a missing anchor', edit('seen', 'nine'), 'NO_MATCH'],
  ['an anchor that occurs twice', edit('seen', 'o'), 'AMBIGUOUS_MATCH'],
  ['an empty anchor', edit('seen', ''), 'INVALID_ARGUMENT'],
  ['an edit of an unseen file', edit('other', 'nine'), 'NOT_READ'],
  [
    'an insert past the end',
    { kind: 'insert', path: 'seen', content: 'x', afterLine: 9 },
    'INVALID_ARGUMENT',
  ],
  [
    'an insert among unseen lines',
    { kind: 'insert', path: 'part', afterLine: 2, content: 'x' },
    'PARTIALLY_READ',
  ],
  [
    'a placeholder for the rest',
    write('seen', 'one\n// ... rest of the file unchanged ...\n'),
    'PLACEHOLDER_CONTENT',
  ],
  ['half of a surrogate pair', write('seen', '\ud800'), 'INVALID_ARGUMENT'],
  ['a missing folder', { kind: 'write', path: 'no/new', content: 'x', makeParents: false }, 'NOT_FOUND'],
  ['a file changed twice', batch(edit('seen', 'one'), write('seen', 'x')), 'INVALID_ARGUMENT'],
  [
    'a file in a folder that is deleted',
    batch({ kind: 'delete', path: 'd' }, write('d/x', 'x')),
    'INVALID_ARGUMENT',
  ],
];

describe('vet', () => {
  it.each(REFUSED)('refuses %s as perform does', async (_what, intent, code) => {
    const t = await desk({ store: 'memory:' });
    await t.put('seen', 'one\ntwo\nthree\n');
    await t.put('part', 'one\ntwo\nthree\n');
    await t.put('other', 'one\n');
    await ok(t.session.read('seen'));
    await ok(t.session.read('part', { limit: 2 }));
    const vetted = await refusal(t.session.vet(intent), code);
    const performed = await refusal(t.session.perform(intent), code);
    expect({ ...vetted.detail, repeated: 0 }).toEqual({ ...performed.detail, repeated: 0 });
  });

  it('refuses content that was refused as stale, as perform does', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await t.put('a', 'two\n');
    await refusal(t.session.write('a', 'mine\n'), 'STALE');
    await refusal(t.session.vet({ kind: 'write', path: 'a', content: 'mine\n' }), 'STALE');
    await ok(t.session.vet({ kind: 'write', path: 'a', content: 'two and mine\n' }));
  });

  it('refuses a folder with a read-only file in it, and names the file', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('d/e/locked', 'one\n');
    chmodSync(join(t.root, 'd/e/locked'), 0o444);
    await ok(t.session.list('d', { depth: 3 }));
    const intent = { kind: 'delete', path: 'd', recursive: true } as const;
    const vetted = await refusal(t.session.vet(intent), 'READ_ONLY');
    expect(explain(vetted, { nowMs: 0 })).toContain(
      'delete d: it contains d/e/locked, which is read-only [READ_ONLY]',
    );
    await refusal(t.session.perform(intent), 'READ_ONLY');
  });

  it('names the failing step of a batch whose steps depend on each other', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('a', 'one\n');
    const swap = batch(move('a', 'c'), move('b', 'a'), move('c', 'b'));
    expect(await refusal(t.session.vet(swap), 'NOT_FOUND')).toMatchObject({
      action: 'move',
      path: 'b',
    });
  });

  it('and a dry run return the notices that perform would return', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('a', 'one\ntwo\nthree\n');
    await ok(t.session.read('a'));
    await t.put('a', 'one\ntwo\nthree, by hand\n');
    const intent = edit('a', 'one');
    const vetted = await ok(t.session.vet(intent));
    const [tried] = (await ok(t.session.apply([intent], { dryRun: true }))).results;
    const [done] = (await ok(t.session.perform(intent))).results;
    expect(vetted.notices).toMatchObject([{ kind: 'changed-elsewhere' }]);
    expect(vetted.notices).toEqual(done?.notices);
    expect(tried?.notices).toEqual(done?.notices);
    expect(tried).toMatchObject({ replaced: 1, sizeBytes: done?.sizeBytes });
  });
});

function edit(path: string, oldString: string): FileIntent {
  return { kind: 'edit', path, edits: [{ oldString, newString: 'X' }] };
}

function move(source: string, destination: string): FileIntent {
  return { kind: 'move', source, destination };
}

function write(path: string, content: string): FileIntent {
  return { kind: 'write', path, content };
}

function batch(...changes: readonly FileIntent[]): Intent {
  return { kind: 'apply', changes };
}
