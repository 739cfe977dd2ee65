// Commands on a layer in the folders of coding agents and editors.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const here = await sandboxHere();

let places: Scratch;

function put(name: string, content: string): void {
  const file = join(places.root, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

function text(name: string): string {
  return readFileSync(join(places.root, name), 'utf8');
}

function git(...args: readonly string[]): string {
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
  return execFileSync('git', ['-C', places.root, ...identity, ...args], { encoding: 'utf8' });
}

function run(command: string): Promise<{ code: number; stdout: string; stderr: string }> {
  return lookfirst(places, ['run', '--', 'sh', '-c', command]);
}

beforeEach(() => {
  places = scratch();
  git('init', '-q', '-b', 'main');
  put('a.txt', 'one\n');
  git('add', '-A');
  git('commit', '-qm', 'first');
});

describe.skipIf(here === undefined)("Claude Code's worktrees", () => {
  it('can be made, written to, committed in and removed', async () => {
    const tree = '.claude/worktrees/feature';
    expect(await run(`git worktree add -q ${tree} -b feature`)).toMatchObject({ code: 0 });
    expect(await run(`echo two > ${tree}/a.txt; mkdir ${tree}/src; echo n > ${tree}/src/n.ts`)).toMatchObject(
      {
        code: 0,
      },
    );
    expect([text(`${tree}/a.txt`), text(`${tree}/src/n.ts`)]).toEqual(['two\n', 'n\n']);
    const commit = `cd ${tree} && git add -A && git -c user.name=a -c user.email=a@b commit -qm second`;
    expect(await run(commit)).toMatchObject({ code: 0 });
    expect(git('log', '--format=%s', 'feature')).toBe('second\nfirst\n');
    expect(await run(`git worktree remove --force ${tree}`)).toMatchObject({ code: 0 });
    expect(existsSync(join(places.root, tree))).toBe(false);
  });
});
