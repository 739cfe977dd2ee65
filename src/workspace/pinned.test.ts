import { renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeTree, scratch } from '../../test/support/tree.ts';
import { strongestGuarantee } from './pinned.ts';
import { Workspace } from './workspace.ts';

describe.skipIf(strongestGuarantee() !== 'walk')('a folder that was walked to a moment ago', () => {
  it('is walked to again after a link took its place', () => {
    const places = scratch();
    makeTree(places, ['a/b/f: inside']);
    const workspace = Workspace.open([places.root]);
    onTestFinished(() => workspace.close());
    expect(workspace.resolve('a/b/f')).toMatchObject({ ok: true, exists: true });
    renameSync(join(places.root, 'a'), join(places.outside, 'a'));
    symlinkSync(join(places.outside, 'a'), join(places.root, 'a'));
    expect(workspace.resolve('a/b/f')).toMatchObject({ ok: false, refusal: { code: 'OUTSIDE_WORKSPACE' } });
  });
});
