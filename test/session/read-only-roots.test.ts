import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSession } from '../../src/session/sessions.ts';
import { scratch } from '../support/tree.ts';

const READ_ONLY = { ok: false, refusal: { code: 'READ_ONLY', detail: { cause: 'root' } } };

/** A workspace with a read-only folder inside its root and one beside it. */
async function setUp() {
  const { base, root, home } = scratch();
  const outside = join(base, 'library');
  for (const folder of [join(root, 'vendor/deep'), outside]) mkdirSync(folder, { recursive: true });
  for (const file of ['a.txt', 'vendor/v.txt', 'vendor/deep/d.txt']) writeFileSync(join(root, file), 'one\n');
  writeFileSync(join(outside, 'l.txt'), 'one\n');
  const readOnlyRoots = [join(root, 'vendor'), outside];
  const session = await openSession({ roots: [root], readOnlyRoots, home, store: 'memory:' });
  onTestFinished(() => session.close());
  return { session, root, outside, home };
}

describe('a read-only root', () => {
  it('can be read, listed and searched, even if it is outside the other roots', async () => {
    const { session, outside } = await setUp();
    expect(session.roots).toContain(outside);
    expect(await session.read('vendor/v.txt')).toMatchObject({ ok: true, text: 'one' });
    expect(await session.read(join(outside, 'l.txt'))).toMatchObject({ ok: true });
    expect(await session.list('vendor')).toMatchObject({ ok: true });
    const fresh = { path: 'vendor/v.txt', freshness: 'fresh' };
    expect(await session.status('vendor/v.txt')).toMatchObject({ ok: true, files: [fresh] });
    expect(await session.status()).toMatchObject({
      files: expect.arrayContaining([expect.objectContaining(fresh)]),
    });
  });

  it('refuses changes, and is not moved or deleted with a folder that contains it', async () => {
    const { session, root, outside } = await setUp();
    await session.readMany(['a.txt', 'vendor/v.txt', join(outside, 'l.txt')]);
    await session.list('.', { depth: 5 });
    expect(await session.write('vendor/v.txt', 'x')).toMatchObject(READ_ONLY);
    expect(await session.write(join(outside, 'new.txt'), 'x')).toMatchObject(READ_ONLY);
    const edit = [{ oldString: 'one', newString: 'two' }];
    expect(await session.edit(join(outside, 'l.txt'), edit)).toMatchObject(READ_ONLY);
    expect(await session.insert('vendor/v.txt', 'x')).toMatchObject(READ_ONLY);
    expect(await session.mkdir('vendor/new')).toMatchObject(READ_ONLY);
    expect(await session.delete('vendor/deep/d.txt')).toMatchObject(READ_ONLY);
    expect(await session.move('vendor/v.txt', 'v.txt')).toMatchObject(READ_ONLY);
    expect(await session.move('a.txt', 'vendor/a.txt')).toMatchObject(READ_ONLY);
    expect(await session.delete('vendor', { recursive: true })).toMatchObject(READ_ONLY);
    expect(await session.vet({ kind: 'write', path: 'vendor/v.txt', content: 'x' })).toMatchObject(READ_ONLY);
    expect(readFileSync(join(root, 'vendor/v.txt'), 'utf8')).toBe('one\n');
    expect(await session.write('a.txt', 'two\n')).toMatchObject({ ok: true });
  });

  it('may be /, so that nothing can be changed', async () => {
    const { base, root, home } = scratch();
    const session = await openSession({ roots: [root], readOnlyRoots: ['/'], home, store: 'memory:' });
    onTestFinished(() => session.close());
    for (const path of ['new.txt', join(base, 'new.txt')])
      expect(await session.write(path, 'x')).toMatchObject(READ_ONLY);
  });

  it('prevents deleting or moving a folder that contains it', async () => {
    const { root, home } = scratch();
    mkdirSync(join(root, 'd/inner'), { recursive: true });
    const options = { roots: [root], readOnlyRoots: [join(root, 'd/inner')], home, store: 'memory:' };
    const session = await openSession(options);
    onTestFinished(() => session.close());
    await session.list('.', { depth: 5 });
    expect(await session.delete('d', { recursive: true })).toMatchObject(READ_ONLY);
    expect(await session.move('d', 'e')).toMatchObject(READ_ONLY);
  });

  it('refuses to undo a change that was made there while it was writable', async () => {
    const { root, home } = scratch();
    writeFileSync(join(root, 'a.txt'), 'one\n');
    const store = `sqlite:${join(home, 'lookfirst.db')}`;
    const first = await openSession({ roots: [root], home, store, session: 's' });
    await first.read('a.txt');
    await first.write('a.txt', 'two\n');
    await first.close();
    const session = await openSession({ roots: [root], readOnlyRoots: [root], home, store, session: 's' });
    onTestFinished(() => session.close());
    expect(await session.undo({})).toMatchObject(READ_ONLY);
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('two\n');
  });
});
