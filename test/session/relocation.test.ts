import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileIntent } from '../../src/model/intent.ts';
import { toolset } from '../../src/tools/toolset.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { treeOf } from '../support/tree-of.ts';

const move = (source: string, destination: string): FileIntent => ({ kind: 'move', source, destination });
const edit = (path: string, oldString: string, newString: string, moveTo?: string): FileIntent => ({
  kind: 'edit',
  path,
  edits: [{ oldString, newString }],
  moveTo,
});

async function open(): Promise<Desk> {
  const t = await desk();
  for (const name of ['a', 'b', 'c']) await t.put(`${name}.txt`, `${name}\n`);
  return t;
}

it.each([
  ['d', 'source and destination are the same'],
  ['d/e/in', 'it cannot be moved into itself'],
])('a folder is not moved to %s', async (destination, reason) => {
  const t = await desk();
  await t.put('d/e/f.txt', 'x\n');
  expect(await refusal(t.session.move('d', destination), 'INVALID_ARGUMENT')).toMatchObject({
    path: 'd',
    detail: { reason },
  });
});

describe('an edit that also moves', () => {
  it('does both in one change, and one undo takes both back', async () => {
    const t = await open();
    await ok(t.session.read('a.txt'));
    chmodSync(join(t.root, 'a.txt'), 0o755);
    const before = treeOf(t.root);
    const done = await ok(t.session.apply([edit('a.txt', 'a', 'A', 'new/d.txt')]));
    expect(done.results).toMatchObject([
      { path: 'new/d.txt', changed: true, replaced: 1, revision: expect.stringMatching(/^\w{12}$/) },
    ]);
    expect(t.text('new/d.txt')).toBe('A\n');
    expect(statSync(join(t.root, 'new/d.txt')).mode & 0o777).toBe(0o755);
    expect(existsSync(join(t.root, 'a.txt'))).toBe(false);
    await ok(t.session.edit('new/d.txt', [{ oldString: 'A', newString: 'B' }]));
    await ok(t.session.undo({}));
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual(before);
  });

  it('is judged as an edit of its source and an overwrite of its destination', async () => {
    const t = await open();
    await refusal(t.session.perform(edit('a.txt', 'a', 'A', 'd.txt')), 'NOT_READ');
    await ok(t.session.read('a.txt'));
    await refusal(t.session.perform(edit('a.txt', 'nowhere', 'A', 'd.txt')), 'NO_MATCH');
    await refusal(t.session.perform(edit('a.txt', 'a', 'A', 'b.txt')), 'NOT_READ');
    await refusal(t.session.perform(edit('a.txt', 'a', 'A', 'a.txt')), 'INVALID_ARGUMENT');
    await refusal(t.session.perform(edit('a.txt', 'a', 'A', '../out.txt')), 'OUTSIDE_WORKSPACE');
    await refusal(t.session.vet(edit('a.txt', 'a', 'A', 'b.txt')), 'NOT_READ');
    expect(t.text('a.txt') + t.text('b.txt')).toBe('a\nb\n');
    await ok(t.session.read('b.txt'));
    await ok(t.session.vet(edit('a.txt', 'a', 'A', 'b.txt')));
    await ok(t.session.perform(edit('a.txt', 'a', 'A', 'b.txt')));
    expect(t.text('b.txt')).toBe('A\n');
    await ok(t.session.undo({}));
    expect(t.text('a.txt') + t.text('b.txt')).toBe('a\nb\n');
  });

  it('shows its diff in a dry run and changes nothing', async () => {
    const t = await open();
    await ok(t.session.read('a.txt'));
    const dry = await ok(t.session.apply([edit('a.txt', 'a', 'A', 'd.txt')], { dryRun: true }));
    expect(dry.results).toMatchObject([
      { path: 'd.txt', changed: true, diff: expect.stringContaining('+A') },
    ]);
    expect(existsSync(join(t.root, 'd.txt'))).toBe(false);
  });

  it('can be one entry of apply_changes', async () => {
    const t = await open();
    const { tools } = toolset(t.session);
    const call = (name: string, args: object) => tools.find((tool) => tool.name === name)?.call(args);
    await call('read_file', { path: 'a.txt' });
    const change = { path: 'a.txt', edits: [{ old_string: 'a', new_string: 'A' }], move_to: 'd.txt' };
    const done = await call('apply_changes', { changes: [change] });
    expect(done?.text).toMatch(/replaced 1 occurrence\(s\) in d\.txt, moved from a\.txt/);
    const wrong = await call('apply_changes', {
      changes: [{ path: 'd.txt', content: 'x', move_to: 'e.txt' }],
    });
    expect(wrong).toMatchObject({ outcome: { code: 'INVALID_ARGUMENT' } });
  });
});

describe('moves of one batch', () => {
  it.each<[string, FileIntent[], Record<string, string | undefined>]>([
    ['swap two files', [move('a.txt', 'b.txt'), move('b.txt', 'a.txt')], { a: 'b\n', b: 'a\n' }],
    [
      'rotate three files',
      [move('a.txt', 'b.txt'), move('b.txt', 'c.txt'), move('c.txt', 'a.txt')],
      { a: 'c\n', b: 'a\n', c: 'b\n' },
    ],
    ['make a chain', [move('a.txt', 'b.txt'), move('b.txt', 'd.txt')], { a: undefined, b: 'a\n', d: 'b\n' }],
    [
      'make a chain in the other order',
      [move('b.txt', 'd.txt'), move('a.txt', 'b.txt')],
      { a: undefined, b: 'a\n', d: 'b\n' },
    ],
  ])('%s without a read, and one undo reverts them', async (_what, changes, expected) => {
    const t = await open();
    chmodSync(join(t.root, 'a.txt'), 0o755);
    const before = treeOf(t.root);
    await ok(t.session.vet({ kind: 'apply', changes }));
    const done = await ok(t.session.apply(changes));
    expect(done.results).toHaveLength(changes.length);
    for (const [name, text] of Object.entries(expected))
      expect(existsSync(join(t.root, `${name}.txt`)) ? t.text(`${name}.txt`) : undefined).toBe(text);
    const moved = Object.entries(expected).find(([, text]) => text === 'a\n')?.[0] ?? '';
    expect(statSync(join(t.root, `${moved}.txt`)).mode & 0o777).toBe(0o755);
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual(before);
  });

  it('keep the sightings of the moved files, and no others', async () => {
    const t = await open();
    await ok(t.session.read('a.txt'));
    await ok(t.session.apply([move('a.txt', 'b.txt'), move('b.txt', 'a.txt')]));
    await refusal(t.session.write('a.txt', 'x'), 'STALE');
    await ok(t.session.write('b.txt', 'x\n'));
  });

  it('can edit the moved file', async () => {
    const t = await open();
    await ok(t.session.read('a.txt'));
    await ok(t.session.apply([edit('a.txt', 'a', 'A', 'b.txt'), move('b.txt', 'a.txt')]));
    expect(t.text('a.txt') + t.text('b.txt')).toBe('b\nA\n');
  });

  it('are refused as a whole if one cannot be done', async () => {
    const t = await open();
    mkdirSync(join(t.root, 'd'));
    symlinkSync('a.txt', join(t.root, 'l'));
    const before = treeOf(t.root);
    const swap = (one: string, other: string) => t.session.apply([move(one, other), move(other, one)]);
    await refusal(swap('a.txt', 'd'), 'INVALID_ARGUMENT');
    await refusal(swap('a.txt', 'l'), 'INVALID_ARGUMENT');
    await refusal(swap('a.txt', 'gone.txt'), 'NOT_FOUND');
    await refusal(t.session.apply([move('a.txt', 'c.txt'), move('b.txt', 'c.txt')]), 'INVALID_ARGUMENT');
    await refusal(t.session.apply([move('a.txt', 'b.txt'), edit('b.txt', 'b', 'B')]), 'INVALID_ARGUMENT');
    await refusal(t.session.apply([move('a.txt', 'b.txt'), move('b.txt', 'c.txt')]), 'NOT_READ');
    expect(treeOf(t.root)).toEqual(before);
  });
});
