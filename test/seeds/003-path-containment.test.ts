import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSession } from '../../src/session/sessions.ts';
import { strongestGuarantee } from '../../src/workspace/pinned.ts';
import { desk, ok, refusal } from '../support/desk.ts';
import { attackPath } from '../support/swap-attack.ts';
import { SWAP_OPERATIONS } from '../support/swap-operations.ts';
import { scratch } from '../support/tree.ts';
import { allowed, type Door, openScene, refused, type SceneOptions, through } from './doors.ts';

/**
 * Requirements document 003 describes how an existing system (called system A) checks every path
 * in one place. The numbers in titles are rows of the audit of these requirements.
 */
describe('003 Path containment', () => {
  const A: SceneOptions = { preset: 'sandbox', dialect: 'sandbox' };

  it.each([
    ['relative', 'some/folder', /must be an absolute path/],
    ['missing', '/no/such/folder', /does not exist/],
    ['a file', '', /is not a folder/],
  ])('3.1 New(root): a root that is %s is refused with a message of its own', async (_what, given, words) => {
    const places = scratch();
    writeFileSync(join(places.root, 'file'), 'x');
    const roots = [given === '' ? join(places.root, 'file') : given];
    await expect(openSession({ roots, home: places.home })).rejects.toThrow(words);
  });

  it('3.2 Root(): the canonical root', async () => {
    const places = scratch();
    symlinkSync(places.root, join(places.base, 'link'));
    const session = await openSession({ roots: [join(places.base, 'link')], home: places.home });
    expect(session.roots).toEqual([places.root]);
    await session.close();
  });

  it('3.3 Resolve(p): the canonical path, even of a file that does not exist yet', async () => {
    const t = await desk({ preset: 'sandbox' });
    await t.put('real.txt', 'x');
    mkdirSync(join(t.root, 'folder'));
    symlinkSync('folder', join(t.root, 'linked'));
    symlinkSync('real.txt', join(t.root, 'link.txt'));
    symlinkSync(t.outside, join(t.root, 'out'));
    const absolute = async (path: string): Promise<unknown> => (await ok(t.session.resolve(path))).absolute;
    expect(await absolute('link.txt')).toBe(join(t.root, 'real.txt'));
    expect(await absolute('new/nested/file.txt')).toBe(join(t.root, 'new/nested/file.txt'));
    expect(await absolute('linked/new/file.txt')).toBe(join(t.root, 'folder/new/file.txt'));
    expect(await ok(t.session.resolve('new.txt'))).toMatchObject({ exists: false });
    await refusal(t.session.resolve('out/new.txt'), 'OUTSIDE_WORKSPACE');
  });

  through('3.4 Resolve(p): relative paths are joined, cleaned, and their links resolved', A, async (t) => {
    t.put('d/real.txt', 'one\n');
    symlinkSync('d', join(t.root, 'link'));
    await allowed(t.read('d/../link/./real.txt'));
    await allowed(t.write('d/real.txt', 'two\n'));
    await allowed(t.write('..foo', 'a legal name'));
    expect(t.text('..foo')).toBe('a legal name');
  });

  // The program behind hooks reads files by itself, with its own permissions.
  const ASKED: readonly Door[] = ['library', 'server', 'proxy'];
  through('3.5 The table of inputs: what leads outside is rejected', { ...A, doors: ASKED }, async (t) => {
    writeFileSync(join(t.outside, 'secret.txt'), 'secret');
    symlinkSync(join(t.outside, 'secret.txt'), join(t.root, 'link-to-outside'));
    symlinkSync(t.outside, join(t.root, 'folder-outside'));
    const paths = [
      '../outside/secret.txt',
      '../../etc/passwd',
      'link-to-outside',
      'folder-outside/secret.txt',
    ];
    for (const path of paths) {
      const read = await refused(t.read(path), 'OUTSIDE_WORKSPACE');
      expect(read).not.toContain('secret\n');
      await refused(t.write(path, 'x'), 'OUTSIDE_WORKSPACE');
    }
    await refused(t.write('folder-outside/new.txt', 'x'), 'OUTSIDE_WORKSPACE');
  });

  it('3.5 The table of inputs: an absolute path outside is rejected', async () => {
    const t = await openScene('server', A);
    await refused(t.read('/etc/passwd'), 'OUTSIDE_WORKSPACE');
    await refused(t.write('/etc/lookfirst-test', 'x'), 'OUTSIDE_WORKSPACE');
  });

  // Requirements document 003 accepts this race: an attacker swaps a folder for a link between the
  // check of a path and its use. The guarantee `walk`, which Linux offers, prevents it.
  it.skipIf(strongestGuarantee() !== 'walk')(
    '3.6 The accepted race: a swapped link is not followed',
    async () => {
      const read = SWAP_OPERATIONS.find(({ name }) => name === 'read') ?? expect.fail('no read');
      const ours = await attackPath({ operation: read, variant: 'folder', code: 'ours', tries: 200 });
      expect(ours).toMatchObject({ escaped: 0 });
      const naive = await attackPath({ operation: read, variant: 'folder', code: 'naive', tries: 100 });
      expect(naive.escaped).toBeGreaterThan(0);
    },
  );

  it('3.7 ReadTracker: MarkRead and HasBeenRead, by canonical paths', async () => {
    const t = await desk({ preset: 'sandbox' });
    await t.put('real.txt', 'one\n');
    symlinkSync('real.txt', join(t.root, 'link.txt'));
    expect(await t.session.hasBeenRead('real.txt')).toBe(false);
    await ok(t.session.markRead('link.txt'));
    expect(await t.session.hasBeenRead('real.txt')).toBe(true);
    await ok(t.session.write('real.txt', 'two\n'));
  });

  through('3.8 Not covered: what a policy protects is refused all the same', A, async (t) => {
    t.put('.git/config', '[core]\n');
    await refused(t.write('.git/hooks/pre-commit', 'x'), 'PROTECTED');
  });

  through(
    '3.9 Not covered: secrets are scrubbed from the bytes on the way out',
    { ...A, doors: ['library', 'server', 'proxy'] },
    async (t) => {
      const token = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
      t.put('.env', `TOKEN=${token}\n`);
      t.put('notes.txt', `the token is ${token}\n`);
      for (const path of ['.env', 'notes.txt']) expect(await allowed(t.read(path))).not.toContain(token);
      expect(await allowed(t.search('TOKEN|token'))).not.toContain(token);
    },
  );
});
