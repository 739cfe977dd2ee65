import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Hooked } from '../support/hooked.ts';
import { shellPrefix } from '../support/layered.ts';
import { ReplayedClient } from '../support/replayed-client.ts';
import { everySecond } from '../support/rounds.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const here = await sandboxHere();

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

  it('is refused like a write of the host if a program rewrote it after the session saw it', async () => {
    writeFileSync(join(places.outside, 'format.sh'), 'seq 9 > f');
    expect(await verdicts(['cat f', `sh ${places.outside}/format.sh`, 'seq 2 > f'])).toEqual([
      'pass',
      'pass',
      'NOT_READ',
    ]);
    const write = { path: 'f', content: 'x\n' };
    expect((await agent.change('write', write, () => undefined)).reason).toContain('[NOT_READ]');
    expect(await verdicts(['rm f'])).toEqual(['pass']);
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

describe('a line that the session typed in a command', () => {
  const LINES = Array.from({ length: 40 }, (_, at) => `line ${at + 1}\n`).join('');
  const unread = expect.stringContaining('which had not been read');

  it.each([
    ['echo "my own line" >> f', 'my own line'],
    ["cat >> f <<'E'\nmy own line\nE", 'my own line'],
    ["sed -i '31c my own line' f", 'my own line'],
    ["sed -i 's/^line 5$/line five/' f", 'line five'],
  ])('counts as read: %s', async (command, line) => {
    writeFileSync(join(places.root, 'f'), LINES);
    await agent.shell('head -n 20 f');
    for (const client of [agent, agent.other('t')]) {
      const input = { path: 'f', edits: [{ oldString: line, newString: 'another' }] };
      if (client === agent) await client.shell(command);
      else await client.shell('head -n 2 f');
      const event = {
        event: 'before',
        action: 'edit',
        input: { ...input, old_string: line, new_string: 'x' },
      };
      const { context = '' } = await client.send({ ...event, call: line });
      expect(context).toEqual(client === agent ? expect.not.stringContaining('not been read') : unread);
    }
  });

  it('does not count if the command only copied it from elsewhere', async () => {
    writeFileSync(join(places.root, 'f'), LINES);
    writeFileSync(join(places.root, 'from'), 'a line that nobody typed\n');
    await agent.shell('head -n 20 f');
    await agent.shell('cat from >> f');
    const input = { path: 'f', old_string: 'a line that nobody typed', new_string: 'x' };
    expect((await agent.send({ event: 'before', action: 'edit', input, call: 'e' })).context).toEqual(unread);
  });

  it.runIf(here !== undefined)('counts as read on a layer too', async () => {
    writeFileSync(join(places.root, 'f'), LINES);
    const client = new ReplayedClient(places, 'claude-code');
    client.shellPrefix = shellPrefix(places);
    await client.read('f', { lines: 20 });
    await client.shell("sed -i '31c my own line' f");
    expect(await client.edit('f', 'my own line', 'x')).toMatchObject({ denied: false, text: '' });
  });
});
