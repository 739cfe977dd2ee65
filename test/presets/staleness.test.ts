import { hash } from 'node:crypto';
import { rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Intent } from '../../src/model/intent.ts';
import { explain } from '../../src/report/explain.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

const sha256 = (text: string): string => hash('sha256', text, 'hex');

/**
 * The preset copies an existing system. That system warns about changed files, requires no read,
 * and replaces typographic quotes in code.
 */
describe('preset staleness', () => {
  const open = (): Promise<Desk> => desk({ preset: 'staleness' });

  it('D2: a file never read is not stale', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    expect((await ok(t.session.write('a.txt', 'two\n'))).notices).toEqual([]);
    await ok(t.session.undo({}));
    expect(t.text('a.txt'), 'the journal has it all the same').toBe('one\n');
  });

  it('D2: a file with a new time and the same bytes is not stale', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    utimesSync(join(t.root, 'a.txt'), new Date(), new Date(Date.now() + 60_000));
    expect((await ok(t.session.write('a.txt', 'two\n'))).notices).toEqual([]);
  });

  it('D2, D3: the first stale write is held back with a correct warning; the same write repeated proceeds', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'by hand\n');
    const held = await refusal(t.session.write('a.txt', 'two\n'), 'STALE');
    expect(t.text('a.txt')).toBe('by hand\n');
    const text = explain(held, { wording: 'staleness', nowMs: 0 });
    expect(text).toContain('WARNING: File "a.txt" has been modified externally since you last read it.');
    expect(text).toMatch(/re-read/i);
    expect(text).toMatch(/external changes will be lost/i);
    expect(text).toMatch(/repeat the same call/i);
    expect(text).toContain('+by hand');
    expect(text).toMatch(/size: 4 → 8/);
    expect(text).toMatch(/sha256: [0-9a-f]{12} → [0-9a-f]{12}/);
    expect(text).toMatch(/mtime: \d{4}-\d\d-\d\dT/);
    expect(held.detail).toMatchObject({
      seen: { sha256: sha256('one\n'), size: 4, mtimeMs: expect.any(Number) },
      now: { sha256: sha256('by hand\n'), size: 8, mtimeMs: expect.any(Number) },
    });
    const { notices } = await ok(t.session.write('a.txt', 'two\n'));
    expect(notices.map(({ kind }) => kind)).toEqual(['stale-warning']);
    expect(t.text('a.txt')).toBe('two\n');
    await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe('by hand\n');
  });

  it('D3: other content, or a write after another outside change, is held back again; a `vet` does not count as a first try', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'by hand\n');
    const intent = { kind: 'write', path: 'a.txt', content: 'two\n' } as const;
    await refusal(t.session.vet(intent), 'STALE');
    await refusal(t.session.perform(intent), 'STALE');
    await refusal(t.session.write('a.txt', 'three\n'), 'STALE');
    await refusal(t.session.write('a.txt', 'two\n'), 'STALE');
    await t.put('a.txt', 'by hand again\n');
    await refusal(t.session.write('a.txt', 'two\n'), 'STALE');
    await ok(t.session.vet(intent));
    await ok(t.session.write('a.txt', 'two\n'));
  });

  it('D3: a new read licenses the write as well', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'by hand\n');
    await refusal(t.session.write('a.txt', 'two\n'), 'STALE');
    await ok(t.session.read('a.txt'));
    expect((await ok(t.session.write('a.txt', 'two\n'))).notices).toEqual([]);
  });

  it.each<[string, Intent]>([
    ['edits', { kind: 'edit', path: 'a.txt', edits: [{ oldString: 'hand', newString: 'me' }] }],
    ['deletions', { kind: 'delete', path: 'a.txt' }],
    ['insertions', { kind: 'insert', path: 'a.txt', afterLine: 1, content: 'x' }],
    ['moves onto the file', { kind: 'move', source: 'b.txt', destination: 'a.txt' }],
    ['batches', { kind: 'apply', changes: [{ kind: 'write', path: 'a.txt', content: 'x' }] }],
  ])('D3: %s: the first try is held back, the repeated one proceeds', async (_what, intent) => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await t.put('b.txt', 'b\n');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'by hand\n');
    await refusal(t.session.perform(intent), 'STALE');
    expect(t.text('a.txt')).toBe('by hand\n');
    await ok(t.session.perform(intent));
    await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe('by hand\n');
  });

  it('D3: an announced change of another program: the first try is held back, the repeated one proceeds', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    for (const intent of [
      { kind: 'write', path: 'a.txt', content: 'x' },
      { kind: 'touch', path: 'a.txt' },
    ] as const) {
      await ok(t.session.read('a.txt'));
      await t.put('a.txt', `by hand, before ${intent.kind}\n`);
      await refusal(t.session.announce([intent]), 'STALE');
      const { change, notices } = await ok(t.session.announce([intent]));
      expect(notices.map(({ kind }) => kind)).toEqual(['stale-warning']);
      await ok(t.session.settle(change, 'failed'));
    }
  });

  it('D2: a deleted file is stale for changes that need the file', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    rmSync(join(t.root, 'a.txt'));
    await refusal(t.session.edit('a.txt', [{ oldString: 'one', newString: 'x' }]), 'DELETED');
    const { notices } = await ok(t.session.write('a.txt', 'again\n'));
    expect(notices.map((each) => each.kind)).toContain('stale-warning');
  });

  it('D5, D6: every typographic quote of the table is replaced in code files, none in prose', async () => {
    const t = await open();
    await ok(t.session.write('a.go', '\u201ca\u201d \u2018b\u2019 \u00abc\u00bb'));
    expect(t.text('a.go')).toBe('"a" \'b\' <<c>>');
    await ok(t.session.write('.env', 'A=\u201cb\u201d'));
    expect(t.text('.env')).toBe('A="b"');
    await ok(t.session.write('a.md', '\u201ca\u201d'));
    expect(t.text('a.md')).toBe('\u201ca\u201d');
  });
});
