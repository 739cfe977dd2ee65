import { chmodSync, existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { desk, ok, refusal } from '../support/desk.ts';

describe('delete and move', () => {
  it('of a folder needs a full listing that is still current', async () => {
    const t = await desk();
    await t.put('d/a', '1');
    await refusal(t.session.delete('d', { recursive: true }), 'NOT_READ');
    await ok(t.session.list('d', { depth: 3 }));
    await t.put('d/b', '2');
    await refusal(t.session.delete('d', { recursive: true }), 'STALE');
    await ok(t.session.list('d', { depth: 3 }));
    await ok(t.session.delete('d', { recursive: true }));
    expect(readdirSync(t.root)).toEqual([]);
  });

  it('of a listed folder knows the changes of the session itself, but no others', async () => {
    const t = await desk();
    for (const name of ['a', 'b', 'sub/c']) await t.put(`d/${name}`, name);
    await ok(t.session.list('d', { depth: 3 }));
    await ok(t.session.write('d/new', '1'));
    await ok(t.session.read('d/a'));
    await ok(t.session.delete('d/a'));
    await ok(t.session.move('d/b', 'd/sub/b'));
    expect(await t.session.vet({ kind: 'delete', path: 'd', recursive: true })).toMatchObject({ ok: true });
    const other = await t.open({ session: 'other' });
    await ok(other.write('d/sub/theirs', '2'));
    await refusal(t.session.delete('d', { recursive: true }), 'STALE');
    await ok(other.delete('d/sub/theirs'));
    await t.put('d/a', 'back');
    await refusal(t.session.delete('d', { recursive: true }), 'STALE');
    await ok(t.session.read('d/a'));
    await ok(t.session.delete('d/a'));
    await refusal(t.session.delete('d', { recursive: true }), 'STALE');
    await ok(t.session.list('d', { depth: 3 }));
    await ok(t.session.write('d/last', '3'));
    await ok(t.session.move('d', 'moved'));
    await ok(t.session.undo({}));
    await ok(t.session.delete('d', { recursive: true }));
    expect(readdirSync(t.root)).toEqual([]);
  });

  it('of a folder is refused if it contains a protected path or a root', async () => {
    const t = await desk({ policy: { protected: ['conf/secrets/**', 'open/keys/**', '**/.git'] } });
    for (const name of ['conf/secrets/k', 'conf/keys/k', 'repo/.git/HEAD', 'repo/in/x'])
      await t.put(name, 'x\n');
    const { detail } = await refusal(t.session.move('conf', 'elsewhere'), 'PROTECTED');
    expect(detail?.reason).toBe('it contains conf/secrets, which may not be moved');
    await refusal(t.session.move('repo/in', 'open/keys'), 'PROTECTED');
    const nested = await t.open({ roots: [t.root, join(t.root, 'repo/in')] });
    await ok(nested.list('.', { depth: 9 }));
    for (const path of ['repo', 'repo/in']) await refusal(nested.move(path, 'moved'), 'PROTECTED');
    for (const path of ['repo', 'repo/in'])
      await refusal(nested.delete(path, { recursive: true }), 'PROTECTED');
    await ok(t.session.move('repo', 'moved'));
    expect(readdirSync(t.root).sort()).toEqual(['conf', 'moved']);
  });

  it('acts on a link itself, not on its target', async () => {
    const t = await desk();
    await t.put('real', 'x');
    symlinkSync('real', join(t.root, 'link'));
    await ok(t.session.move('link', 'renamed'));
    await ok(t.session.delete('renamed'));
    expect(readdirSync(t.root)).toEqual(['real']);
  });

  it('onto an existing file is an overwrite', async () => {
    const t = await desk();
    await t.put('a', 'a');
    await t.put('b', 'b');
    await refusal(t.session.move('a', 'b'), 'NOT_READ');
    await ok(t.session.read('b'));
    await ok(t.session.move('a', 'b'));
    expect([existsSync(join(t.root, 'a')), t.text('b')]).toEqual([false, 'a']);
    await ok(t.session.undo({}));
    expect([t.text('a'), t.text('b')]).toEqual(['a', 'b']);
  });

  it('refuses a file without write permission', async () => {
    const t = await desk();
    await t.put('a', 'a');
    chmodSync(join(t.root, 'a'), 0o444);
    await ok(t.session.read('a'));
    await refusal(t.session.write('a', 'x'), 'READ_ONLY');
    await refusal(t.session.delete('a'), 'READ_ONLY');
    await refusal(t.session.move('a', 'b'), 'READ_ONLY');
  });

  it('keeps the sighting of a moved file', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await ok(t.session.move('a', 'b/c'));
    await ok(t.session.write('b/c', 'two\n'));
  });
});

describe('batches', () => {
  it('are all or nothing and name every refused file', async () => {
    const t = await desk();
    await t.put('a', 'a\n');
    await t.put('b', 'b\n');
    const refused = await refusal(
      t.session.apply([
        { kind: 'write', path: 'n/new', content: 'x' },
        { kind: 'write', path: 'a', content: 'A' },
        { kind: 'edit', path: 'b', edits: [{ oldString: 'b', newString: 'B' }] },
      ]),
      'NOT_READ',
    );
    expect(refused.detail?.refusals?.map((each) => each.path)).toEqual(['a', 'b']);
    expect(readdirSync(t.root).sort()).toEqual(['a', 'b']);
  });

  it('refuse a file that is named twice', async () => {
    const t = await desk();
    const twice = [
      { kind: 'write', path: 'a', content: '1' },
      { kind: 'write', path: './a', content: '2' },
    ] as const;
    await refusal(t.session.apply(twice), 'INVALID_ARGUMENT');
  });

  it('refuse a path inside another path that they create as a file', async () => {
    const t = await desk();
    const changes = ['n/m', 'n'].map((path) => ({ kind: 'write', path, content: 'x\n' }) as const);
    for (const order of [changes, changes.toReversed()])
      await refusal(t.session.apply(order), 'INVALID_ARGUMENT');
    expect(readdirSync(t.root)).toEqual([]);
  });

  it('show the diff in a dry run and change nothing', async () => {
    const t = await desk();
    await t.put('a', 'a\n');
    await ok(t.session.read('a'));
    const shown = await ok(t.session.apply([{ kind: 'write', path: 'a', content: 'A\n' }], { dryRun: true }));
    expect(shown.results[0]?.diff).toContain('+A');
    expect(t.text('a')).toBe('a\n');
  });

  it('show the same notices in a dry run', async () => {
    const t = await desk();
    await t.put('a', 'one\ntwo\n');
    await ok(t.session.read('a'));
    const edits = [{ oldString: 'one  \ntwo', newString: 'x' }];
    const shown = await ok(t.session.apply([{ kind: 'edit', path: 'a', edits }], { dryRun: true }));
    expect(shown.results[0]?.notices).toEqual([{ kind: 'match-tier', tier: 'trailing-space' }]);
  });
});

describe('a status', () => {
  it.each([
    ['cut', 'x'.repeat(3000)],
    ['described', Buffer.from([0, 1, 2, 255, 254, 0, 7])],
  ])('gives no revision for a file that was only %s', async (but, content) => {
    const t = await desk();
    await t.put('a', content);
    await ok(t.session.read('a'));
    const [file] = (await ok(t.session.status('a'))).files;
    expect(file).toMatchObject({ freshness: 'fresh', seen: 'some', but });
    expect(file).not.toHaveProperty('revision');
  });
});
