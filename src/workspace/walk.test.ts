import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { IN_MEMORY, makeTree, scratch } from '../../test/support/tree.ts';
import { GUARANTEES } from './pinned.ts';
import { Workspace } from './workspace.ts';

function opened(
  roots: readonly string[],
  options: NonNullable<Parameters<typeof Workspace.open>[1]> = {},
): Workspace {
  const workspace = Workspace.open(roots, options);
  onTestFinished(() => workspace.close());
  return workspace;
}

/**
 * `expected` is `inside x` if the path leads to the existing path x in the root, and `absent x` if
 * x could be created there. Otherwise it is a refusal code, with the errno if there is one.
 */
type Row = readonly [tree: string, path: string, expected: string];

const ROWS: readonly Row[] = [
  ['f', 'f', 'inside f'],
  ['d/', 'd', 'inside d'],
  ['d/f', 'd/../d/./f', 'inside d/f'],
  ['f', '.', 'inside '],
  ['f', 'g', 'absent g'],
  ['d/', 'd/e/f', 'absent d/e/f'],
  ['f; l => f', 'l', 'inside f'],
  ['d/f; l => d', 'l/f', 'inside d/f'],
  ['d/f; l => d/', 'l/f', 'inside d/f'],
  ['d/f; l => ./d/./f', 'l', 'inside d/f'],
  ['f; d/l => ../f', 'd/l', 'inside f'],
  ['f; a/b/l => ../../f', 'a/b/l', 'inside f'],
  ['f; l => m; m => n; n => f', 'l', 'inside f'],
  ['d/e/f; l => d/e; m => l/..', 'm/e/f', 'inside d/e/f'],
  // `..` leaves the folder that the link points to, not the folder that contains the link.
  ['d/e/; d/f; l => d/e; m => l/../f', 'm', 'inside d/f'],
  ['d/; l => d/..', 'l', 'inside '],
  ['l => .', 'l', 'inside '],
  ['d/l => .', 'd/l/l/l', 'inside d'],
  ['f; l => ROOT/f', 'l', 'inside f'],
  ['d/f; l => ROOT/d', 'l/f', 'inside d/f'],
  ['l => ROOT', 'l', 'inside '],
  ['l => ROOT/', 'l/x', 'absent x'],
  // A dangling link is judged by its target.
  ['l => new', 'l', 'absent new'],
  ['d/; l => d/new', 'l', 'absent d/new'],
  ['l => ROOT/new', 'l', 'absent new'],
  ['l => new/deep', 'l', 'absent new/deep'],
  ['l => missing/../f; f', 'l', 'NOT_FOUND ENOENT'],
  ['l => f/../g; f; g', 'l', 'NOT_A_FILE ENOTDIR'],
  ['f', 'f/g', 'NOT_A_FILE ENOTDIR'],
  ['f; l => f', 'l/g', 'NOT_A_FILE ENOTDIR'],
  ['l => l', 'l', 'OUTSIDE_WORKSPACE ELOOP'],
  ['l => m; m => l', 'l/x', 'OUTSIDE_WORKSPACE ELOOP'],
  ['l => ..', 'l', 'OUTSIDE_WORKSPACE'],
  ['l => ../outside/f', 'l', 'OUTSIDE_WORKSPACE'],
  ['d/l => ../../outside', 'd/l/f', 'OUTSIDE_WORKSPACE'],
  ['l => OUTSIDE/f', 'l', 'OUTSIDE_WORKSPACE'],
  ['l => OUTSIDE', 'l/f', 'OUTSIDE_WORKSPACE'],
  ['l => OUTSIDE/new', 'l', 'OUTSIDE_WORKSPACE'],
  ['l => m; m => OUTSIDE', 'l/f', 'OUTSIDE_WORKSPACE'],
  // A link may leave the root and return only through the root's own parent folders. Through other
  // folders, the answer would reveal whether they exist.
  ['f; l => ../root/f', 'l', 'inside f'],
  ['f; d/l => ../../root/f', 'd/l', 'inside f'],
  ['f; l => ROOT/../root/f', 'l', 'inside f'],
  ['f; l => ../root/../root/./f', 'l', 'inside f'],
  ['f; l => ../root-evil/../root/f', 'l', 'OUTSIDE_WORKSPACE'],
  ['f; l => ../outside/../root/f', 'l', 'OUTSIDE_WORKSPACE'],
  ['f; l => ../../../../../../../../../../etc/passwd', 'l', 'OUTSIDE_WORKSPACE'],
  ['f; l => ROOT-evil/f', 'l', 'OUTSIDE_WORKSPACE'],
  ['f; l => ROOT/../outside/f', 'l', 'OUTSIDE_WORKSPACE'],
  ['l => /', 'l', 'OUTSIDE_WORKSPACE'],
  ['l => /proc/self/root', 'l/etc/passwd', 'OUTSIDE_WORKSPACE'],
  ['l => /proc/self/cwd', 'l', 'OUTSIDE_WORKSPACE'],
];

describe.each(GUARANTEES)('by %s', (use) => {
  it.each(ROWS)('in [%s], %j is %s', (tree, path, expected) => {
    const places = scratch(IN_MEMORY);
    makeTree(places, ['OUTSIDE/f', ...tree.split('; ')]);
    const workspace = opened([places.root], { use });
    const outcome = workspace.resolve(path);
    const said = outcome.ok
      ? `${outcome.exists ? 'inside' : 'absent'} ${outcome.path.relative}`
      : [outcome.refusal.code, outcome.refusal.detail?.errno].filter((part) => part).join(' ');
    expect(said).toBe(expected);
  });
});

describe('a link as the last part', () => {
  it('is the entry itself if only links in parents are followed', () => {
    const places = scratch();
    makeTree(places, ['d/', 'e => d', 'd/out => OUTSIDE/f', 'd/loop => loop']);
    const workspace = opened([places.root]);
    for (const path of ['e/out', 'e/loop']) {
      const outcome = workspace.locate(path, 'delete', 'parents');
      if (!outcome.ok || !outcome.located.exists) throw new Error('not found');
      expect(outcome.located.stats.isSymbolicLink()).toBe(true);
      expect(outcome.located.place.path.relative).toBe(path.replace('e', 'd'));
      outcome.located.place.dir.close();
    }
  });
});

describe('a link whose target is not valid text', () => {
  it('is not confused with the name that its decoded bytes would give', () => {
    const places = scratch();
    makeTree(places, ['bad\ufffd', 'good => bad\ufffd']);
    symlinkSync(Buffer.from('bad\xff', 'latin1'), join(places.root, 'bad-link'));
    const workspace = opened([places.root]);
    expect(workspace.resolve('good')).toMatchObject({ ok: true, path: { relative: 'bad\ufffd' } });
    expect(workspace.resolve('bad-link')).toMatchObject({
      ok: false,
      refusal: { code: 'UNVERIFIABLE', detail: { errno: 'EILSEQ' } },
    });
  });
});

describe('as many links as the kernel follows', () => {
  it.each([
    [40, true],
    [41, false],
  ])('%i in a row: %s', (count, ok) => {
    const places = scratch();
    makeTree(places, ['l0']);
    for (let link = 1; link <= count; link += 1) symlinkSync(`l${link - 1}`, join(places.root, `l${link}`));
    expect(opened([places.root]).resolve(`l${count}`).ok).toBe(ok);
  });
});

describe('several roots', () => {
  it('are reached by links from each other', () => {
    const places = scratch();
    makeTree(places, ['one/l => ROOT/two/f', 'one/r => ../two/f', 'one/x => ../three/f', 'two/f', 'three/f']);
    const workspace = opened([join(places.root, 'one'), join(places.root, 'two')]);
    for (const link of ['l', 'r']) {
      expect(workspace.resolve(link)).toMatchObject({
        ok: true,
        path: { absolute: join(places.root, 'two/f'), root: join(places.root, 'two'), relative: 'f' },
      });
    }
    expect(workspace.resolve('x')).toMatchObject({ ok: false, refusal: { code: 'OUTSIDE_WORKSPACE' } });
  });

  it('are reached by relative paths that climb out of the first', () => {
    const places = scratch();
    makeTree(places, ['one/', 'two/f', 'three/f']);
    const [one, two] = [join(places.root, 'one'), join(places.root, 'two')];
    const workspace = opened([one, two]);
    for (const path of ['../two/f', 'a/../../two/./f'])
      expect(workspace.resolve(path)).toMatchObject({
        ok: true,
        path: { absolute: join(two, 'f'), root: two },
      });
    for (const path of ['../three/f', '..', '../..', '../two/../three/f'])
      expect(workspace.resolve(path)).toMatchObject({ ok: false, refusal: { code: 'OUTSIDE_WORKSPACE' } });
  });

  it('that are nested count as one: a link may climb from the inner into the outer root', () => {
    const places = scratch();
    makeTree(places, ['in/l => ../f', 'in/out => ../../outside/f', 'f', 'OUTSIDE/f']);
    const workspace = opened([join(places.root, 'in'), places.root]);
    expect(workspace.resolve('l')).toMatchObject({ ok: true, path: { absolute: join(places.root, 'f') } });
    expect(workspace.resolve('out')).toMatchObject({ ok: false, refusal: { code: 'OUTSIDE_WORKSPACE' } });
  });
});
