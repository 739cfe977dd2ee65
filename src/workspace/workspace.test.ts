import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { asNobody } from '../../test/support/nobody.ts';
import { makeTree, scratch } from '../../test/support/tree.ts';
import type { Fault } from '../model/fault.ts';
import { strongestGuarantee } from './pinned.ts';
import { Workspace } from './workspace.ts';

function opened(
  roots: readonly string[],
  options: NonNullable<Parameters<typeof Workspace.open>[1]> = {},
): Workspace {
  const workspace = Workspace.open(roots, options);
  onTestFinished(() => workspace.close());
  return workspace;
}

function faultOf(work: () => unknown): Partial<Fault> {
  try {
    work();
  } catch (error) {
    return error as Fault;
  }
  return {};
}

describe('open', () => {
  it('adds no root for a read-only folder inside a root, even if that is /', () => {
    const { root } = scratch();
    const folder = join(root, 'd');
    mkdirSync(folder);
    for (const around of [root, '/'])
      expect(opened([around], { readOnlyRoots: [folder] }).roots).toEqual([around]);
    expect(opened([folder], { readOnlyRoots: [root] }).roots).toEqual([folder, root]);
  });

  it.each<[string, (root: string) => string[]]>([
    ['empty', () => []],
    ['relative', () => ['src']],
    ['relative', () => ['./src']],
    ['relative', () => ['']],
    ['missing', (root) => [join(root, 'nowhere')]],
    ['missing', (root) => [join(root, 'dangling')]],
    ['not-a-directory', (root) => [join(root, 'f')]],
    ['unreadable', (root) => [join(root, 'loop')]],
    ['unreadable', (root) => [join(root, 'f/x')]],
    // The missing root is refused even after a valid root.
    ['missing', (root) => [root, join(root, 'nowhere')]],
  ])('refuses with the reason %s', (reason, roots) => {
    const places = scratch();
    makeTree(places, ['f', 'dangling => nowhere', 'loop => loop']);
    const fault = faultOf(() => Workspace.open(roots(places.root)));
    expect(fault).toMatchObject({ name: 'Fault', code: 'CONFIG_INVALID', reason });
  });

  it('accepts a root by its real and by its linked path, and with trailing slashes', () => {
    const places = scratch();
    makeTree(places, ['f']);
    const spelling = join(places.base, 'spelling');
    symlinkSync(places.root, spelling);
    const workspace = opened([`${spelling}//`]);
    expect(workspace.roots).toEqual([places.root]);
    for (const path of ['f', join(places.root, 'f'), join(spelling, 'f'), `${spelling}/./x/../f`]) {
      expect(workspace.resolve(path)).toMatchObject({
        ok: true,
        exists: true,
        path: { absolute: join(places.root, 'f'), relative: 'f', given: path },
      });
    }
    expect(workspace.resolve(`${spelling}-evil/f`)).toMatchObject({ ok: false });
  });

  it.skipIf(strongestGuarantee() !== 'walk')(
    'pins the root: it stays the same folder under another name',
    () => {
      const places = scratch();
      makeTree(places, ['f', 'OUTSIDE/only-outside']);
      const workspace = opened([places.root]);
      renameSync(places.root, join(places.base, 'moved'));
      symlinkSync(places.outside, places.root);
      expect(workspace.resolve('f')).toMatchObject({ ok: true, exists: true });
      expect(workspace.resolve('only-outside')).toMatchObject({ ok: true, exists: false });
    },
  );

  it('works on the whole file system', () => {
    const { root } = scratch();
    expect(opened(['/']).resolve(root)).toMatchObject({
      ok: true,
      path: { absolute: root, relative: root.slice(1) },
    });
  });
});

describe('resolve', () => {
  it('prefers the innermost of nested roots and gives the same key for any spelling', () => {
    const places = scratch();
    makeTree(places, ['in/f']);
    const workspace = opened([places.root, join(places.root, 'in')]);
    const outer = workspace.resolve('in/f');
    const inner = workspace.resolve(join(places.root, 'in/f'));
    expect(outer).toMatchObject({ path: { relative: 'in/f', key: join(places.root, 'in/f') } });
    expect(inner).toMatchObject({ path: { relative: 'f', key: join(places.root, 'in/f') } });
  });

  it('finds absolute paths in any root and relative ones in the first', () => {
    const places = scratch();
    makeTree(places, ['f', 'OUTSIDE/g']);
    const workspace = opened([places.root, places.outside]);
    expect(workspace.resolve(join(places.outside, 'g'))).toMatchObject({ ok: true, exists: true });
    expect(workspace.resolve('g')).toMatchObject({ ok: true, exists: false });
  });

  it.each(['..foo', '%2e%2e', '~', '$HOME', '-', '*', 'a b', 'ü', '\u202e', 'a\nb', 'file:'])(
    'treats %j as a plain name',
    (name) => {
      const places = scratch();
      writeFileSync(join(places.root, name), '');
      expect(opened([places.root]).resolve(name)).toMatchObject({
        ok: true,
        exists: true,
        path: { relative: name },
      });
    },
  );

  it.each<[string, unknown, string]>([
    ['nothing', '', ''],
    ['a NUL', 'f\0.txt', 'f\\0.txt'],
    ['undefined', undefined, 'undefined'],
    ['a number', 3, '3'],
    ['bytes', Buffer.from('f'), '[object]'],
    ['an object without a string', Object.create(null), '[object]'],
  ])('rejects %s before any system call', (_what, input, path) => {
    const outcome = opened([scratch().root]).resolve(input as string);
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { code: 'INVALID_ARGUMENT', path, next: 'fix_argument' },
    });
  });

  it.each<[string, string, string]>([
    ['EACCES', 'locked/f', 'UNVERIFIABLE'],
    ['EACCES', 'link-to-locked/f', 'UNVERIFIABLE'],
    ['ELOOP', 'loop', 'OUTSIDE_WORKSPACE'],
    ['ENOTDIR', 'file/x', 'NOT_A_FILE'],
    ['ENAMETOOLONG', 'n'.repeat(256), 'INVALID_ARGUMENT'],
    ['ENAMETOOLONG', `dir/${'n'.repeat(300)}/x`, 'INVALID_ARGUMENT'],
    ['ENOENT', 'through-nowhere', 'NOT_FOUND'],
  ])('answers %s for %j, never that it is missing: %s', (errno, path, code) => {
    const places = scratch();
    makeTree(places, [
      'file',
      'dir/',
      'locked/f',
      'link-to-locked => locked',
      'loop => loop',
      'through-nowhere => nowhere/../file',
    ]);
    const workspace = opened([places.root]);
    chmodSync(join(places.root, 'locked'), 0);
    onTestFinished(() => chmodSync(join(places.root, 'locked'), 0o700));
    const resolve = () => workspace.resolve(path);
    const outcome = errno === 'EACCES' ? asNobody(resolve) : resolve();
    expect(outcome).toMatchObject({ ok: false, refusal: { code, path, detail: { errno } } });
  });

  it('gives the same answer for every outside path, whether it exists or not', () => {
    const places = scratch();
    makeTree(places, [
      'link => OUTSIDE/x',
      'folder => OUTSIDE',
      'relative => ../outside/x',
      'deep => OUTSIDE/x/y',
    ]);
    const workspace = opened([places.root]);
    const outside = join(places.outside, 'x');
    const paths = [outside, '../outside/x', 'link', 'folder/x', 'relative', 'deep', `${outside}/y`];
    const ask = (): string[] => paths.map((path) => JSON.stringify(workspace.locate(path, 'read')));
    const answers = [ask()];
    writeFileSync(outside, 'there');
    answers.push(ask());
    rmSync(outside);
    mkdirSync(outside);
    answers.push(ask());
    chmodSync(outside, 0);
    answers.push(ask());
    rmSync(outside, { recursive: true });
    symlinkSync(places.root, outside);
    answers.push(ask());
    expect(new Set(answers.map((answer) => answer.join('\n'))).size).toBe(1);
    for (const answer of answers[0] ?? []) expect(answer).toContain('"OUTSIDE_WORKSPACE"');
  });
});

describe('protected paths', () => {
  const protect = ['**/.git/**', 'secret/**'];

  it.each(['.git/config', 'sub/.git/config', '.GIT/config', 'link', 'folder/config', 'new/../.git/x'])(
    'are refused: %j',
    (path) => {
      const places = scratch();
      makeTree(places, [
        '.git/config',
        'sub/.git/config',
        '.GIT/config',
        'link => .git/config',
        'folder => .git',
      ]);
      const outcome = opened([places.root], { protect }).resolve(path, 'read');
      expect(outcome).toMatchObject({
        ok: false,
        refusal: { code: 'PROTECTED', action: 'read', next: 'ask_human' },
      });
    },
  );

  it('are refused by any of their names if roots nest', () => {
    const places = scratch();
    makeTree(places, ['secret/f']);
    const workspace = opened([places.root, join(places.root, 'secret')], { protect });
    expect(workspace.resolve('secret/f').ok).toBe(false);
    expect(workspace.resolve(join(places.root, 'secret/f')).ok).toBe(false);
  });

  it('include our own state, even through a link', () => {
    const places = scratch();
    makeTree(places, ['state/store.db', 'link => state/store.db']);
    const workspace = opened([places.root], { protectFolders: [join(places.root, 'state')] });
    for (const path of ['state', 'state/store.db', 'state/new', 'link'])
      expect(workspace.resolve(path).ok).toBe(false);
    expect(workspace.resolve('state-of-mind').ok).toBe(true);
  });
});

describe('child', () => {
  it('gives an entry of a listed folder the same path as resolve', () => {
    const places = scratch();
    makeTree(places, ['d/f']);
    const workspace = opened([places.root]);
    const [root, folder, file] = ['.', 'd', 'd/f'].map((path) => {
      const outcome = workspace.resolve(path);
      if (!outcome.ok) throw new Error(outcome.refusal.code);
      return outcome.path;
    });
    if (root === undefined || folder === undefined) throw new Error('not resolved');
    expect(workspace.child(folder, 'f')).toEqual(file);
    expect(workspace.child(root, 'd')).toEqual(folder);
  });

  it('throws a fault for a path of another workspace', () => {
    const [one, other] = [opened([scratch().root]), opened([scratch().root])];
    const outcome = other.resolve('.');
    if (!outcome.ok) throw new Error(outcome.refusal.code);
    expect(faultOf(() => one.child(outcome.path, 'x'))).toMatchObject({ code: 'MISUSE' });
  });
});

describe.skipIf(process.platform !== 'linux')('close', () => {
  it.skipIf(strongestGuarantee() !== 'walk')(
    'is final: a closed handle is not used again, because its number may belong to another folder',
    () => {
      const places = scratch();
      const workspace = Workspace.open([places.root]);
      const outcome = workspace.locate('x', 'read');
      if (!outcome.ok) throw new Error(outcome.refusal.code);
      workspace.close();
      workspace.close();
      expect(faultOf(() => workspace.locate('x', 'read'))).toMatchObject({ code: 'MISUSE' });
      expect(faultOf(() => outcome.located.place.dir.prefix)).toMatchObject({ code: 'MISUSE' });
    },
  );
});

describe('named', () => {
  it('finds a file of a nested root, whichever root its recorded path starts at', () => {
    const places = scratch();
    makeTree(places, ['sub/d/f', 'd/f']);
    const sub = join(places.root, 'sub');
    const workspace = opened([places.root, sub]);
    const key = join(sub, 'd/f');
    for (const relative of ['sub/d/f', 'd/f'])
      expect(workspace.named(key, relative)).toMatchObject({ key, absolute: key, root: sub });
    expect(workspace.shownAt({ key, relative: 'd/f' })).toBe(key);
    expect(workspace.named(sub, '')).toMatchObject({ absolute: sub, relative: '' });
    expect(workspace.named(join(places.root, 'd/f'), 'd/f')).toMatchObject({ root: places.root });
  });
});
