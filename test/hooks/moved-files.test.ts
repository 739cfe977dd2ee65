import { execFileSync } from 'node:child_process';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { makeTree, type Scratch, scratch, treeOf } from '../support/tree.ts';

let places: Scratch;

const git = (...args: readonly string[]): unknown =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: places.root });

/** The files and links of the workspace, without empty folders. */
function tree(): string[] {
  return treeOf(places.root).filter((line) => !line.startsWith('.git/') && !line.endsWith('/'));
}

const undo = () => lookfirst(places, ['undo']);

beforeEach(() => {
  places = scratch();
  git('init', '-q');
  makeTree(places, ['.gitignore: .env\nbuild/\n*.ln\n', '.env: key', 'a.txt: one', 'build/out: built']);
  git('add', '-A');
  git('commit', '-qm', 'one');
});

describe('a file that git ignores and a command without a layer moves', () => {
  it.each([
    ['mv .env .env.bak'],
    ['mv -n .env .env.bak'],
    ['if true; then mv .env .env.bak; fi'],
    ['mv .env .env.bak && echo more >> .env.bak'],
    ['mkdir kept && mv .env kept/'],
    ['mv .env .env.bak && rm .env.bak'],
    ['mv .env .env.bak && touch b.txt'],
  ])('is restored when the command is undone: %s', async (command) => {
    const before = tree();
    expect(await new Hooked(places).shell(command)).toMatchObject({ verdict: 'pass' });
    expect(tree()).not.toEqual(before);
    expect(await undo()).toMatchObject({ code: 0 });
    expect(tree()).toEqual(before);
  });

  it('is restored if it is a link', async () => {
    makeTree(places, ['l.ln => a.txt']);
    const before = tree();
    await new Hooked(places).shell('mv l.ln l');
    expect(tree()).not.toEqual(before);
    expect(await undo()).toMatchObject({ code: 0 });
    expect(tree()).toEqual(before);
  });
});
