import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { desk, ok, refusal } from '../support/desk.ts';
import { setLimits } from '../support/limits.ts';

const kinds = ({ notices }: { notices: readonly { kind: string }[] }): string[] =>
  notices.map(({ kind }) => kind);

describe('append', () => {
  it('needs no read, adds a missing final newline first, and says that the file was not seen', async () => {
    const t = await desk();
    await t.put('log.txt', 'one\r\ntwo');
    const done = await ok(t.session.insert('log.txt', 'three'));
    expect(kinds(done)).toEqual(['unseen-append']);
    expect(done).not.toHaveProperty('revision');
    expect(t.text('log.txt')).toBe('one\r\ntwo\r\nthree\r\n');
  });

  it('shows nothing: every other change of the file still needs a read', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await ok(t.session.append('a.txt', 'two'));
    await ok(t.session.append('a.txt', 'three'));
    await refusal(t.session.write('a.txt', 'x'), 'NOT_READ');
    await refusal(t.session.edit('a.txt', [{ oldString: 'two', newString: 'x' }]), 'NOT_READ');
    await refusal(t.session.insert('a.txt', 'x', { afterLine: 1 }), 'NOT_READ');
    await refusal(t.session.delete('a.txt'), 'NOT_READ');
    expect(t.text('a.txt')).toBe('one\ntwo\nthree\n');
  });

  it('creates a missing file and its folders, and the file then counts as seen whole', async () => {
    const t = await desk();
    const done = await ok(t.session.append('new/deep/a.txt', 'one'));
    expect(done).toMatchObject({ created: true, revision: expect.stringMatching(/^[0-9a-f]{12}$/) });
    await ok(t.session.write('new/deep/a.txt', 'two'));
    await ok(t.session.undo({}));
    await ok(t.session.undo({}));
    expect(existsSync(join(t.root, 'new'))).toBe(false);
  });

  it('keeps the sighting of an unchanged file', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    expect(kinds(await ok(t.session.append('a.txt', 'two')))).toEqual([]);
    await ok(t.session.write('a.txt', 'x'));
  });

  it('works on a partly seen file, and does not license changes of the rest', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\ntwo\nthree\n');
    await ok(t.session.read('a.txt', { limit: 1 }));
    await ok(t.session.append('a.txt', 'four'));
    await refusal(t.session.write('a.txt', 'x'), 'PARTIALLY_READ');
  });

  it('works on a file that changed since, which stays stale for an overwrite', async () => {
    setLimits({ maxDiffLines: 0 });
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'other\n');
    await ok(t.session.append('a.txt', 'two'));
    expect(t.text('a.txt')).toBe('other\ntwo\n');
    const outcome = await t.session.write('a.txt', 'x');
    expect(outcome.ok).toBe(false);
  });

  it('works after a compaction, and the file then still needs a read', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.session.compacted();
    await ok(t.session.append('a.txt', 'two'));
    const outcome = await t.session.write('a.txt', 'x');
    expect(outcome.ok).toBe(false);
  });

  it('refuses protected, read-only and binary files like any other change', async () => {
    const t = await desk({ policy: { protected: ['secret/**'] } });
    await t.put('secret/a.txt', 'one\n');
    await t.put('bin', new Uint8Array([0, 1, 2, 0]));
    await refusal(t.session.append('secret/a.txt', 'x'), 'PROTECTED');
    await refusal(t.session.append('bin', 'x'), 'NOT_TEXT');
    await refusal(t.session.append('../out.txt', 'x'), 'OUTSIDE_WORKSPACE');
  });

  it.skipIf(process.getuid?.() === 0)('to an unreadable file is refused as an insert', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    chmodSync(join(t.root, 'a.txt'), 0o200);
    const { action } = await refusal(t.session.append('a.txt', 'two'), 'UNVERIFIABLE');
    expect(action).toBe('insert');
  });

  it('with `expectedRevision`, requires the file to have that revision', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await refusal(t.session.insert('a.txt', 'x', { expectedRevision: '000000000000' }), 'REVISION_MISMATCH');
  });

  it('is gated like an insert if the policy says so', async () => {
    const t = await desk({ policy: { append: 'gated' } });
    await t.put('a.txt', 'one\n');
    await refusal(t.session.append('a.txt', 'two'), 'NOT_READ');
    await refusal(t.session.append('missing.txt', 'two'), 'NOT_FOUND');
  });
});
