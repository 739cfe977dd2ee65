import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Hooked } from '../support/hooked.ts';
import { ReplayedClient } from '../support/replayed-client.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;
const path = (name: string): string => join(places.root, name);
const text = (name: string): string => readFileSync(path(name), 'utf8');

beforeEach(() => {
  places = scratch();
  writeFileSync(path('f'), 'one\ntwo\nthree\n');
  const git = ['-c', 'user.email=a@b', '-c', 'user.name=n'];
  for (const args of [
    ['init', '-q'],
    ['config', 'user.email', 'a@b'],
    ['config', 'user.name', 'n'],
    ['add', '-A'],
    [...git, 'commit', '-qm', 'first'],
  ])
    execFileSync('git', args, { cwd: places.root });
  agent = new Hooked(places);
});

const write = (content: string) =>
  agent.change('write', { path: 'f', content }, () => writeFileSync(path('f'), content));

/** A program outside the workspace, so the command line does not show what it writes. */
function program(): string {
  const file = join(places.outside, 'format');
  writeFileSync(file, 'printf "ONE\\nTWO\\nTHREE\\n" > f');
  return `sh ${file}`;
}

describe('a command that changes a file the session has seen', () => {
  it('names the file, and a refused overwrite names the command', async () => {
    await agent.read('f', text('f'));
    const { context } = await agent.shell(program());
    expect(context).toContain('1 file that you had read changed: f.');
    const refused = await write('mine\n');
    expect(refused.reason).toContain('[NOT_READ]');
    expect(refused.reason).toContain(
      `This session had seen it, but its command changed it since: ${program()}`,
    );
  });

  it('does not name a file that the command line itself writes, or that git brought back', async () => {
    await agent.read('f', text('f'));
    for (const command of ['printf "x\\n" > f', 'sed -i s/x/y/ f', 'git checkout -q f'])
      expect(await agent.shell(command)).toEqual({ verdict: 'pass' });
  });
});

describe.each(['claude-code', 'codex', 'gemini', 'opencode'] as const)('through the hooks of %s', (name) => {
  let client: ReplayedClient;
  beforeEach(() => {
    client = new ReplayedClient(places, name);
  });

  it('a seen file that a program changed is named, and a refused overwrite names the command', async () => {
    await client.read('f');
    const { text: told } = await client.shell(program());
    expect(told).toContain('1 file that you had read changed: f.');
    const { denied, text: reason } = await client.write('f', 'mine\n');
    expect({ denied, reason }).toMatchObject({ denied: true });
    expect(reason).not.toContain('has not seen it');
    expect(reason).toContain(`This session had seen it, but its command changed it since: ${program()}`);
  });

  it.each(['git config core.hooksPath hooks', 'git config core.fsmonitor ./run.sh'])(
    '%s is refused',
    async (line) => {
      expect(await client.shell(line)).toMatchObject({
        denied: true,
        text: expect.stringContaining('PROTECTED'),
      });
    },
  );

  it('bytes that git stash pop brings back count as seen', async () => {
    await client.read('f');
    expect(await client.edit('f', 'two\n', 'TWO\n')).toMatchObject({ denied: false });
    for (const line of ['git stash', 'git stash pop'])
      expect(await client.shell(line)).toMatchObject({ denied: false });
    expect(await client.shell('printf mine > f')).toMatchObject({ denied: false });
  });
});

describe('bytes that git brings back', () => {
  it.each([
    ['git stash', ['git stash']],
    ['git stash and its pop', ['git stash', 'git stash pop']],
    ['both in one line', ['git stash && git stash pop']],
  ])('count as seen after %s', async (_what, commands) => {
    await agent.read('f', text('f'));
    await agent.change('edit', { path: 'f', old_string: 'two', new_string: 'TWO' }, () =>
      writeFileSync(path('f'), text('f').replace('two', 'TWO')),
    );
    for (const command of commands) expect(await agent.shell(command)).toMatchObject({ verdict: 'pass' });
    expect(await write('mine\n')).toMatchObject({ verdict: 'pass' });
  });
});
