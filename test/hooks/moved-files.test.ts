import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { everySecond } from '../support/rounds.ts';
import { makeTree, type Scratch, scratch, treeOf } from '../support/tree.ts';

let places: Scratch;

const git = (...args: readonly string[]): unknown =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: places.root });

/** The files and links of the workspace, without empty folders. */
function tree(): string[] {
  return treeOf(places.root).filter((line) => !line.startsWith('.git/') && !line.endsWith('/'));
}

const undo = (...args: readonly string[]) => lookfirst(places, ['undo', ...args]);

beforeEach(() => {
  places = scratch();
  git('init', '-q');
  makeTree(places, ['.gitignore: .env\nbuild/\n*.ln\n', '.env: key', 'a.txt: one', 'build/out: built']);
  git('add', '-A');
  git('commit', '-qm', 'one');
});

describe('a file that git ignores and a command without a layer moves', () => {
  it.each(
    everySecond([
      ['mv .env .env.bak'],
      ['mv -n .env .env.bak'],
      ['if true; then mv .env .env.bak; fi'],
      ['mv .env .env.bak && echo more >> .env.bak'],
      ['mkdir kept && mv .env kept/'],
      ['mv .env .env.bak && rm .env.bak'],
      ['mv .env .env.bak && touch b.txt'],
    ]),
  )('is restored when the command is undone: %s', async (command) => {
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

/** Waits until the files are older than a new file can seem to be, because of the clock's ticks. */
const clockTicks = (): Promise<void> => setTimeout(30);

describe('files that a command without a layer moves from a path that is not recorded', () => {
  /** Runs a command in a script, so that the command line does not show what it moves. */
  async function script(text: string): Promise<string> {
    await clockTicks();
    writeFileSync(join(places.outside, 'script'), text);
    return (await new Hooked(places).shell(`sh ${join(places.outside, 'script')}`)).context ?? '';
  }

  it.each(
    everySecond([
      ['a build output', 'mv build/out out.bak', 'out.bak: built'],
      ['a folder of build output', 'mv build kept', 'kept/out: built'],
      ['a file in a new folder', 'mkdir kept; mv build/out kept/e', 'kept/e: built'],
      ['a file from outside', 'mv ../outside/x x', 'x: outside'],
      ['a link', 'mv build/l l', 'l => a.txt'],
      ['a file that is then extended', 'mv build/out e; echo more >> e', 'e: builtmore\n'],
      ['a file with the content of another', 'mv build/same same', 'same: one'],
    ]),
  )('stay when the command is undone, which the answer says: %s', async (_, text, moved) => {
    makeTree(places, ['OUTSIDE/x: outside', 'build/l => a.txt', 'build/same: one']);
    const [name = ''] = moved.split(/: | =>/);
    expect(await script(`${text}; echo two > b.txt`)).toContain(
      `undoing the command leaves them where they are: ${name}.`,
    );
    expect(tree()).toContain(moved);
    const [entry] = objects(await lookfirst(places, ['log', '--kind', 'change', '--json']));
    expect(entry).toMatchObject({ effects: [{ relative: 'b.txt' }], uncovered: expect.any(String) });
    expect(await undo()).toMatchObject({ code: 0 });
    expect(tree()).toContain(moved);
    expect(tree()).not.toContain('b.txt: two\n');
  });

  it('do not include ignored files, which are kept', async () => {
    const before = tree();
    expect(await script('mv .env .env.bak; echo two > b.txt')).toBe('');
    expect(await undo()).toMatchObject({ code: 0 });
    expect(tree()).toEqual(before);
  });

  it('do not include those whose old path is recorded', async () => {
    makeTree(places, ['loose: loose']);
    const before = tree();
    expect(await script('mv a.txt b.txt; ln loose hard; mv loose l; cp -p .env new')).toBe('');
    expect(await undo()).toMatchObject({ code: 0 });
    expect(tree()).toEqual(before);
  });

  it('stay in a moved folder from which other files are restored', async () => {
    makeTree(places, ['d/e: tracked', 'd/build/x: built']);
    git('add', 'd');
    await clockTicks();
    await new Hooked(places).shell('mv d d2');
    expect(await undo()).toMatchObject({ code: 0 });
    expect(tree()).toEqual(expect.arrayContaining(['d/e: tracked', 'd2/build/x: built']));
    expect(tree()).not.toContain('d2/e: tracked');
  });
});

describe('a folder that git ignores and a command without a layer moves', () => {
  it.each(
    everySecond([
      ['mv build kept'],
      ['mkdir kept && mv build kept/'],
      ['mv build kept && echo two > b.txt'],
      ['mkdir kept && mv build kept && touch kept/new'],
    ]),
  )('moves back when the command is undone, and again when that is undone: %s', async (command) => {
    makeTree(places, ['build/sub/deep: deep', 'build/empty/']);
    await clockTicks();
    const before = treeOf(join(places.root, 'build'));
    expect(await new Hooked(places).shell(command)).not.toHaveProperty('context');
    const after = tree();
    const undone = await undo();
    expect(undone).toMatchObject({ code: 0 });
    expect(treeOf(join(places.root, 'build'))).toEqual(before);
    expect(tree().filter((line) => /^(?:kept|b\.txt)/.test(line))).toEqual([]);
    const [, change = ''] = /lookfirst undo (\w+) reverts this undo/.exec(undone.stdout) ?? [];
    expect(await undo(change)).toMatchObject({ code: 0 });
    expect(tree()).toEqual(after);
  });

  it.each([
    ['the command adds a file', 'mv build kept && touch kept/new'],
    ['it is not certain that the command moves it', 'if true; then mv build kept; fi; touch new'],
  ])('stays if %s', async (_, command) => {
    await clockTicks();
    const { context } = await new Hooked(places).shell(command);
    expect(context).toContain('leaves them where they are: kept/out.');
    expect(await undo()).toMatchObject({ code: 0 });
    expect(tree().filter((line) => /new/.test(line))).toEqual([]);
    expect(tree()).toContain('kept/out: built');
  });

  it('moves back with files that were added later', async () => {
    await clockTicks();
    await new Hooked(places).shell('mv build kept');
    makeTree(places, ['kept/later: later']);
    expect(await undo()).toMatchObject({ code: 0 });
    expect(tree()).toEqual(expect.arrayContaining(['build/out: built', 'build/later: later']));
  });
});
