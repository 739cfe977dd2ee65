import { execFileSync } from 'node:child_process';
import { symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { IS_LONG } from '../support/rounds.ts';
import { makeTree, type Scratch, scratch, treeOf } from '../support/tree.ts';

let places: Scratch;

const git = (...args: readonly string[]): unknown =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: places.root });

function commit(): void {
  git('add', '-A');
  git('commit', '-qm', 'one');
}

/** The files and links of the workspace. Leaves out empty folders, which an undo leaves behind. */
function tree(): string[] {
  return treeOf(places.root).filter((line) => !line.startsWith('.git/') && !line.endsWith('/'));
}

const undo = (...args: readonly string[]) => lookfirst(places, ['undo', ...args]);

beforeEach(() => {
  places = scratch();
  git('init', '-q');
  makeTree(places, ['d/e: one', 'd/sub/f: two', 'o/e: other', 'OUTSIDE/e: outside']);
});

/** Who knows the files before the command: no program, git, or the session. */
const KNOWN = ['untracked', 'tracked', 'seen'] as const;

const REPLACEMENTS = [
  ['a file', 'rm -rf d; echo x > d'],
  ['a link to another folder', 'rm -rf d; ln -s o d'],
  ['a link to a folder outside', 'rm -rf d; ln -s ../outside d'],
  ['a link to nothing', 'rm -rf d; ln -s nowhere d'],
  ['a link to the folder, which it moves', 'mv d d2; ln -s d2 d'],
  ['a link inside another folder', 'rm -rf d/sub; ln -s ../o d/sub'],
] as const;

/** All combinations in a long run. In a short one, each replacement with one of KNOWN. */
const CASES = REPLACEMENTS.flatMap(([how, command], at) =>
  KNOWN.filter((_, index) => IS_LONG || index === at % KNOWN.length).map(
    (known) => [known, how, command] as const,
  ),
);

async function agentKnowing(known: (typeof KNOWN)[number]): Promise<Hooked> {
  const agent = new Hooked(places);
  if (known === 'tracked') commit();
  if (known !== 'seen') return agent;
  await agent.read('d/e', 'one');
  await agent.read('d/sub/f', 'two');
  return agent;
}

it.each(CASES)(
  'a folder with %s files that a command without a layer replaces by %s can be undone and redone',
  async (known, _how, command) => {
    const agent = await agentKnowing(known);
    const before = tree();
    await agent.insist(`if true; then ${command}; fi`);
    const after = tree();
    expect(after).not.toEqual(before);
    const undone = await undo();
    expect(undone).toMatchObject({ code: 0 });
    expect(tree()).toEqual(before);
    const [, change = ''] = /lookfirst undo (\w+) reverts this undo/.exec(undone.stdout) ?? [];
    expect(await undo(change)).toMatchObject({ code: 0 });
    expect(tree()).toEqual(after);
    expect(treeOf(places.outside)).toEqual(['e: outside']);
  },
);

it('a folder that a command replaces by a link that git ignores can be restored', async () => {
  commit();
  makeTree(places, ['.gitignore: /d']);
  const before = tree();
  await new Hooked(places).shell('if true; then rm -rf d; ln -s o d; fi');
  expect(await undo()).toMatchObject({ code: 0 });
  expect(tree()).toEqual(before);
});

it('an undo changes nothing if the link now leads to another folder', async () => {
  commit();
  await new Hooked(places).shell('if true; then rm -rf d; ln -s o d; fi');
  unlinkSync(join(places.root, 'd'));
  symlinkSync('.', join(places.root, 'd'));
  const before = tree();
  expect(await undo()).toMatchObject({ code: 2, stderr: expect.stringContaining('[STALE]') });
  expect(tree()).toEqual(before);
});

it('an undo of one file below a replaced folder changes nothing', async () => {
  commit();
  await new Hooked(places).shell('if true; then rm -rf d; ln -s o d; fi');
  const before = tree();
  expect(await undo('--path', 'd/e')).toMatchObject({ code: 2 });
  expect(tree()).toEqual(before);
});
