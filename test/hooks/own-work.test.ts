import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Hooked } from '../support/hooked.ts';
import { everySecond } from '../support/rounds.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;

const TEXT = 'line one\nline two\n';

beforeEach(() => {
  places = scratch();
  for (const name of ['f', 'g', 'h']) writeFileSync(join(places.root, name), `${name}\n${TEXT}`);
  const git = ['-c', 'user.email=a@b', '-c', 'user.name=n'];
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    [...git, 'commit', '-qm', 'first'],
  ])
    execFileSync('git', args, { cwd: places.root });
  agent = new Hooked(places);
});

/** The command's verdicts, each run after the one before it. */
async function verdicts(commands: readonly string[], by: Hooked = agent): Promise<readonly string[]> {
  const all: string[] = [];
  for (const command of commands) {
    const { verdict, reason } = await by.shell(command);
    all.push(/\[(\w+)\]/.exec(reason ?? '')?.[1] ?? verdict);
  }
  return all;
}

describe('a shell command that replaces a file of which the session changed only a part', () => {
  it.each(
    everySecond([
      ['an append', 'echo more >> f', 'f'],
      ['a change of permissions', 'chmod +x f', 'f'],
      ['a script', `printf ' ' | dd of=f conv=notrunc oflag=append 2> /dev/null`, 'f'],
      ['a move', 'mv f moved', 'moved'],
      ['two moves', 'mv f moved && mv moved again', 'again'],
      ['an exchange of two files', 'for i in 1; do mv f t; mv g f; mv t g; done', 'f'],
      ['an append and its reversal', 'echo more >> f; git checkout -q -- f; touch f; chmod +x f', 'f'],
    ]),
  )('is refused after %s', async (_what, first, path) => {
    expect(await verdicts([first, `true > ${path}`])).toEqual(['pass', 'NOT_READ']);
  });

  it('is refused after another session has changed a file that the session created', async () => {
    await verdicts(['true > new']);
    await verdicts(['cat f >> new'], agent.other('t'));
    expect(await verdicts(['cat g >> new', 'true > new'])).toEqual([
      'pass',
      expect.not.stringMatching('pass'),
    ]);
  });

  it('is refused if the session had seen only a part', async () => {
    await agent.shell('head -n 1 f');
    expect(await verdicts(['seq 3 >> f', 'seq 2 > f'])).toEqual(['pass', 'PARTIALLY_READ']);
  });
});

describe('a shell command that replaces a file of which the session wrote all', () => {
  it.each(
    everySecond([
      ['it created the file', ['seq 3 > new', 'seq 4 > new', 'seq 5 > new']],
      [
        'a script created and rewrote it',
        ['sh -c "$(echo seq 3) > new"', 'seq 9 | dd of=new', 'seq 5 > new'],
      ],
      ['it created and then moved it', ['seq 3 > tmp', 'mv tmp new', 'seq 4 > new']],
      ['it appended to a file that was empty', ['touch new', 'seq 3 >> new', 'seq 4 > new']],
      ['it had seen the whole file before a script rewrote it', ['cat f', 'seq 9 | dd of=f', 'seq 5 > f']],
      [
        'it had seen the whole file before scripts changed it twice',
        ['cat f', 'seq 9 | dd of=f', 'seq 3 | dd of=f', 'seq 5 > f'],
      ],
      [
        'it had seen the whole file before it moved and changed it',
        ['cat f', 'mv f n', 'seq 3 >> n', 'seq 5 > n'],
      ],
    ]),
  )('passes if %s', async (_why, commands) => {
    expect(await verdicts(commands)).toEqual(commands.map(() => 'pass'));
  });
});
