import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keepPolicyOutOfReach } from '../../src/session/out-of-reach.ts';
import { openSession } from '../../src/session/sessions.ts';
import { ok } from '../support/desk.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const INVALID = expect.objectContaining({ code: 'CONFIG_INVALID' });

describe('a state folder', () => {
  it.each<[string, (places: Scratch) => string]>([
    [
      'reached through a link inside a root',
      ({ root, home }) => {
        symlinkSync(home, join(root, 'link'));
        return join(root, 'link');
      },
    ],
    [
      'that is a link into a root',
      ({ root, outside }) => {
        mkdirSync(join(root, 'state'), { mode: 0o700 });
        symlinkSync(join(root, 'state'), join(outside, 'link'));
        return join(outside, 'link');
      },
    ],
    ['that contains a root', ({ base }) => base],
  ])('%s is refused', async (_what, homeOf) => {
    const places = scratch();
    await expect(openSession({ roots: [places.root], home: homeOf(places) })).rejects.toEqual(INVALID);
  });

  it('inside a root is neither listed nor entered; folders protected by a glob are not entered', async () => {
    const { root } = scratch();
    const home = join(root, 'deep/state');
    for (const folder of [home, join(root, 'deep/vault')])
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(root, 'deep/vault/name.txt'), '');
    const session = await openSession({ roots: [root], home, policy: { protected: ['**/vault'] } });
    const { entries } = await ok(session.list('.', { depth: 9 }));
    expect(entries.map(({ path }) => path)).toEqual(['deep', 'deep/vault']);
    await session.close();
  });
});

describe('a policy file', () => {
  it.each<[string, (places: Scratch) => string]>([
    [
      'that is a link into a root',
      ({ root, outside }) => {
        writeFileSync(join(root, 'p.json'), '{}');
        symlinkSync(join(root, 'p.json'), join(outside, 'p.json'));
        return join(outside, 'p.json');
      },
    ],
    [
      'with a second hard link',
      ({ root, outside }) => {
        writeFileSync(join(root, 'p.json'), '{}');
        linkSync(join(root, 'p.json'), join(outside, 'p.json'));
        return join(outside, 'p.json');
      },
    ],
    [
      'inside a root',
      ({ root }) => {
        writeFileSync(join(root, 'p.json'), '{}');
        return join(root, 'p.json');
      },
    ],
  ])('%s is refused', (_what, fileOf) => {
    const places = scratch();
    const file = fileOf(places);
    expect(() =>
      keepPolicyOutOfReach({ workspace: { roots: [places.root] }, home: places.home }, file),
    ).toThrow(INVALID);
  });

  it('beside the state that is a link into a root is refused at the start', async () => {
    const { root, home } = scratch();
    writeFileSync(join(root, 'p.json'), '{}');
    symlinkSync(join(root, 'p.json'), join(home, 'lookfirst.json'));
    await expect(openSession({ roots: [root], home })).rejects.toEqual(INVALID);
  });

  it('outside every root, or a missing one, is accepted', () => {
    const { root, home, outside } = scratch();
    writeFileSync(join(outside, 'p.json'), '{}');
    const workspace = { roots: [root] };
    keepPolicyOutOfReach({ workspace, home }, join(outside, 'p.json'));
    keepPolicyOutOfReach({ workspace, home }, join(home, 'lookfirst.json'));
  });
});
